"""Builds the sections for names and kernel parameters; equal entries are stored once."""

from __future__ import annotations

from tigris_pio.format.record import Record


class Strings:
    """The section of names: zero-terminated UTF-8."""

    def __init__(self) -> None:
        self.data = bytearray()
        self._offsets: dict[str, int] = {}

    def add(self, text: str) -> int:
        """Adds `text` if it is new; returns its offset in the section."""
        if text not in self._offsets:
            self._offsets[text] = len(self.data)
            self.data += text.replace("\0", "?").encode() + b"\0"
        return self._offsets[text]


class Params:
    """The section of kernel parameter records."""

    def __init__(self) -> None:
        self.data = bytearray()
        self._offsets: dict[bytes, int] = {}

    def add(self, record: Record) -> tuple[int, int]:
        """Adds `record` if it is new; returns its offset in the section and its size, in bytes."""
        packed = record.pack()
        if packed not in self._offsets:
            self._offsets[packed] = len(self.data)
            self.data += packed
        return self._offsets[packed], len(packed)

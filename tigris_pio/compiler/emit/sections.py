"""Section builders of the plan writer: interned names and parameters."""

from __future__ import annotations

from tigris_pio.format.record import Record


class Strings:
    """Zero-terminated UTF-8 names, each stored once."""

    def __init__(self) -> None:
        self.data = bytearray()
        self._offsets: dict[str, int] = {}

    def add(self, text: str) -> int:
        """The offset of `text` in the section."""
        if text not in self._offsets:
            self._offsets[text] = len(self.data)
            self.data += text.replace("\0", "?").encode() + b"\0"
        return self._offsets[text]


class Params:
    """Kernel parameter records; equal ones are stored once."""

    def __init__(self) -> None:
        self.data = bytearray()
        self._offsets: dict[bytes, int] = {}

    def add(self, record: Record) -> tuple[int, int]:
        """(offset, bytes) of `record` in the section."""
        packed = record.pack()
        if packed not in self._offsets:
            self._offsets[packed] = len(self.data)
            self.data += packed
        return self._offsets[packed], len(packed)

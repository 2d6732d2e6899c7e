"""What goes over a line, as people read it: the firmware's own lines, and the frames among them."""

from __future__ import annotations

import dataclasses
import re

from tigris_pio.hil.frames import Frame, decode

#: Seconds of silence after which a line without an end is shown, and bytes that are no text are given up as a frame.
TEXT_SECONDS, NOISE_SECONDS = 0.2, 1.0
#: Without a zero for so long it is no frame: the longest payload is 65519 bytes.
_NO_FRAME_BYTES = 66000
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
#: Control characters that text may hold: bell, backspace, tab, ends of lines, escape.
_IN_TEXT = frozenset(b"\x07\x08\t\n\r\x1b")
#: Two lines of so many bytes one after the other are found in text, not in a frame's payload.
_SURE_LINE = 8
#: Share of readable bytes above which what is no frame is shown as text.
_MOSTLY = 0.75
_HEX_SHOWN = 24


@dataclasses.dataclass(frozen=True)
class Event:
    """A line of text, a frame, or bytes that are neither: `frame` is None and `noise` not empty."""

    text: str = ""
    frame: Frame | None = None
    noise: bytes = b""


class Decoder:
    """Takes one direction of a line apart, as its bytes arrive.

    Text is shown when its line ends, without waiting for the zero byte at which a frame would be known: a frame
    begins with control characters, for its header holds a zero where the payload is below 256 bytes.
    """

    def __init__(self) -> None:
        self._pending = bytearray()
        self._arrived = 0.0

    def feed(self, data: bytes, now: float) -> list[Event]:
        """What `data`, which arrived at `now`, completes; `now` in seconds of any clock that does not go back."""
        events = []
        *pieces, rest = data.split(b"\0")
        for piece in pieces:
            self._pending += piece
            events += self._give_up()
        self._pending += rest
        self._arrived = now
        end = self._pending.rfind(b"\n") + 1
        if end and _are_lines(bytes(self._pending[:end])):
            events += _lines(bytes(self._pending[:end]))
            del self._pending[:end]
        return events + (self._give_up() if len(self._pending) > _NO_FRAME_BYTES else [])

    def rest(self, now: float) -> list[Event]:
        """What has waited long enough for its end."""
        patience = TEXT_SECONDS if is_text(bytes(self._pending)) else NOISE_SECONDS
        return self._give_up() if now - self._arrived >= patience else []

    def _give_up(self) -> list[Event]:
        """What stands between two zeros, or came to no end."""
        piece = bytes(self._pending)
        self._pending.clear()
        if not piece:
            return []
        frame = decode(piece)
        if frame is not None:
            return [Event(frame=frame)]
        readable = sum(32 <= byte < 127 or byte in _IN_TEXT for byte in piece)
        return _lines(piece) if is_text(piece) or readable >= _MOSTLY * len(piece) else [Event(noise=piece)]


def _are_lines(data: bytes) -> bool:
    """Whether what ends in a newline is text, perhaps behind something that is not (a chip's reset) and no frame."""
    *_, before, last, _ = (b"", b"", *data.split(b"\n"))
    sure = all(len(line) >= _SURE_LINE and is_text(line) for line in (before, last))
    return sure or is_text(data)


def is_text(data: bytes) -> bool:
    """Whether bytes are UTF-8, perhaps cut at the end, without control characters that text has no use for."""
    if any(byte < 32 and byte not in _IN_TEXT for byte in data):
        return False
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return True


def _lines(data: bytes) -> list[Event]:
    """Without the colours that ESP-IDF gives its log: whoever shows the lines has their own."""
    text = _COLOUR.sub("", data.decode(errors="replace")).replace("\r\n", "\n").replace("\r", "\n")
    return [Event(text=line.rstrip()) for line in text.split("\n") if line.strip()]


def describe_noise(noise: bytes) -> str:
    """Bytes that are neither text nor a frame: half a frame, another speed."""
    more = " …" if len(noise) > _HEX_SHOWN else ""
    return f"{len(noise)} bytes that are no frame: {noise[:_HEX_SHOWN].hex(' ')}{more}"

"""Separates the bytes of a line into the firmware's lines of text and the frames among them."""

import dataclasses
import re

from tigris_pio.hil.frames import NO_FRAME_BYTES, Frame, decode

#: Seconds of silence after which an unfinished line of text is shown, and after which other bytes count as noise.
TEXT_SECONDS, NOISE_SECONDS = 0.2, 1.0
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
#: Control characters in text: bell, backspace, tab, ends of lines, escape.
_TEXT_CONTROLS = frozenset(b"\x07\x08\t\n\r\x1b")
#: Two consecutive lines of this many bytes are text: a frame's payload has none.
_SURE_LINE_BYTES = 8
#: Share of readable bytes from which bytes that are no frame are shown as text.
_TEXT_SHARE = 0.75
_HEX_SHOWN = 24


@dataclasses.dataclass(frozen=True)
class Event:
    """A line of text, a frame, or bytes that are neither: then `frame` is None and `noise` is not empty."""

    text: str = ""
    frame: Frame | None = None
    noise: bytes = b""


class Decoder:
    """Separates the bytes of one direction as they arrive.

    Text is shown when its line ends, without waiting for the zero byte that ends a frame. Frames are recognised by the
    control characters at their start: the header holds a zero if the payload is below 256 bytes.
    """

    def __init__(self) -> None:
        self._pending = bytearray()
        self._arrived = 0.0

    def feed(self, data: bytes, now: float) -> list[Event]:
        """Returns the events that `data`, received at time `now`, completes; `now` is of any monotonic clock."""
        events = []
        *pieces, rest = data.split(b"\0")
        for piece in pieces:
            self._pending += piece
            events += self._end_piece()
        self._pending += rest
        self._arrived = now
        end = self._pending.rfind(b"\n") + 1
        if end and _are_lines(bytes(self._pending[:end])):
            events += _lines(bytes(self._pending[:end]))
            del self._pending[:end]
        return events + (self._end_piece() if len(self._pending) > NO_FRAME_BYTES else [])

    def expire(self, now: float) -> list[Event]:
        """Returns the events of bytes that have waited long enough for their end."""
        patience = TEXT_SECONDS if is_text(bytes(self._pending)) else NOISE_SECONDS
        return self._end_piece() if now - self._arrived >= patience else []

    def _end_piece(self) -> list[Event]:
        """Returns the events of the pending bytes, and clears them."""
        piece = bytes(self._pending)
        self._pending.clear()
        if not piece:
            return []
        frame = decode(piece)
        if frame is not None:
            return [Event(frame=frame)]
        readable = sum(32 <= byte < 127 or byte in _TEXT_CONTROLS for byte in piece)
        return _lines(piece) if is_text(piece) or readable >= _TEXT_SHARE * len(piece) else [Event(noise=piece)]


def _are_lines(data: bytes) -> bool:
    """True if bytes up to a newline are text, perhaps after others that are neither text nor a frame (a reset)."""
    *_, before, last, _ = (b"", b"", *data.split(b"\n"))
    sure = all(len(line) >= _SURE_LINE_BYTES and is_text(line) for line in (before, last))
    return sure or is_text(data)


def is_text(data: bytes) -> bool:
    """True if bytes are UTF-8, perhaps cut at the end, without control characters other than text's."""
    if any(byte < 32 and byte not in _TEXT_CONTROLS for byte in data):
        return False
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return True


def _lines(data: bytes) -> list[Event]:
    """Returns the lines without the colours of ESP-IDF's log."""
    text = _COLOUR.sub("", data.decode(errors="replace")).replace("\r\n", "\n").replace("\r", "\n")
    return [Event(text=line.rstrip()) for line in text.split("\n") if line.strip()]


def describe_noise(noise: bytes) -> str:
    """A sentence about bytes that are neither text nor a frame: half a frame, or another speed."""
    more = " …" if len(noise) > _HEX_SHOWN else ""
    return f"{len(noise)} bytes that are no frame: {noise[:_HEX_SHOWN].hex(' ')}{more}"

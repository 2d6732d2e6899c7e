"""Frames: a header, a payload and a CRC-32, COBS-coded between zero bytes.

COBS leaves no zero byte inside a frame. So a receiver that lost its place (boot log, line noise, a cut frame) finds the
next frame at the next zero. Other bytes are kept as noise for error messages.
"""

import dataclasses
import zlib

from cobs import cobs

from tigris_pio.hil.protocol import CHECKSUM_BYTES, FrameHeader

#: Bytes of noise that are kept: the first ones, because a boot log's beginning says most.
NOISE_BYTES = 4096
#: Bytes of the firmware's log that are kept: the last ones, because they say why a run failed.
LOG_BYTES = 65536
#: Bytes without a zero that cannot be a frame: the longest payload is 65519 bytes.
NO_FRAME_BYTES = 66000


@dataclasses.dataclass(frozen=True)
class Frame:
    """One undamaged frame."""

    type: int
    sequence: int  #: modulo SEQUENCES
    connection: int
    payload: bytes = b""


def encode(frame: Frame) -> bytes:
    """The bytes on the wire, delimiters included."""
    sequence_high, sequence = divmod(frame.sequence, 256)
    header = FrameHeader(frame.type, sequence, frame.connection, len(frame.payload), sequence_high)
    body = header.pack() + frame.payload
    coded: bytes = cobs.encode(body + zlib.crc32(body).to_bytes(CHECKSUM_BYTES, "little"))
    return b"\0" + coded + b"\0"


def decode(coded: bytes) -> Frame | None:
    """The frame in the bytes between two delimiters; None if they are damaged or no frame."""
    try:
        plain: bytes = cobs.decode(coded)
    except cobs.DecodeError:
        return None
    body, checksum = plain[:-CHECKSUM_BYTES], plain[-CHECKSUM_BYTES:]
    if len(body) < FrameHeader.size() or zlib.crc32(body) != int.from_bytes(checksum, "little"):
        return None
    header = FrameHeader.unpack(body)
    payload = body[FrameHeader.size() :]
    if header.length != len(payload):
        return None
    return Frame(header.type, header.sequence_high << 8 | header.sequence, header.connection, payload)


class FrameReader:
    """Finds frames in bytes that arrive in any pieces."""

    def __init__(self) -> None:
        self._pending = bytearray()
        self.noise = bytearray()  #: the first bytes that were no frame, at most NOISE_BYTES
        self.noise_bytes = 0  #: number of all such bytes
        self._log = bytearray()  # the last such bytes, at most LOG_BYTES

    def feed(self, data: bytes) -> list[Frame]:
        """Returns the frames that `data` completes."""
        *pieces, rest = data.split(b"\0")
        frames = []
        for piece in pieces:
            self._pending += piece
            frame = decode(bytes(self._pending)) if self._pending else None
            if frame is not None:
                frames.append(frame)
            else:
                self._keep_noise(bytes(self._pending))
            self._pending.clear()
        self._pending += rest
        if len(self._pending) > NO_FRAME_BYTES:
            self._keep_noise(bytes(self._pending))
            self._pending.clear()
        return frames

    def unread(self) -> bytes:
        """The noise, then the bytes since the last delimiter."""
        return bytes(self.noise + self._pending)[:NOISE_BYTES]

    def log(self) -> str:
        """The last 64 KB between frames as text: the firmware's log, damaged frames included."""
        text = bytes(self._log + self._pending).decode("utf-8", errors="replace")
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def _keep_noise(self, piece: bytes) -> None:
        self.noise_bytes += len(piece)
        self._log += piece
        del self._log[:-LOG_BYTES]
        self.noise += piece[: NOISE_BYTES - len(self.noise)]


def describe_noise(data: bytes, limit: int = 400) -> str:
    """Received bytes for an error message: as text if most of them are text, else in hexadecimal."""
    shown = data[:limit]
    printable = sum(32 <= byte < 127 or byte in b"\t\r\n\x1b" for byte in shown)
    if shown and printable >= 0.85 * len(shown):
        lines = shown.decode("ascii", errors="replace").replace("\x1b", "").splitlines()
        text = "\n".join("    | " + line.rstrip() for line in lines if line.strip())
    else:
        rows = [shown[at : at + 16] for at in range(0, min(len(shown), 128), 16)]
        text = "\n".join("    | " + row.hex(" ") for row in rows)
    return text + ("\n    | …" if len(data) > limit else "")

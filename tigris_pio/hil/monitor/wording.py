"""Frames as text for `tigris hil monitor`: the request's name and the fields of its record that are not 0."""

import dataclasses
from collections.abc import Callable
from typing import Any

from tigris_pio.format.record import Record
from tigris_pio.hil import protocol
from tigris_pio.hil.frames import Frame
from tigris_pio.hil.protocol import CANCELLED, RESPONSE_BIT, Answer, Refusal, Request, RowsFrame, TransferFrame
from tigris_pio.text import counted

_REQUESTS: dict[int, type[Record]] = {
    Request.HELLO: protocol.HelloRequest,
    Request.STATUS_TEXT: protocol.Status,
    Request.TRANSFER: protocol.Transfer,
    **dict.fromkeys((Request.WRITE, Request.READ, Request.PROFILE, Request.TRACE, Request.ROWS), protocol.Range),
    **dict.fromkeys((Request.INFO, Request.TENSOR, Request.RUN, Request.CHECKSUM, Request.PLAN_CHECK, Request.FAULT,
                     Request.RESET), protocol.Select),
}
_ANSWERS: dict[int, type[Record]] = {
    Request.HELLO | RESPONSE_BIT: protocol.Hello,
    Request.INFO | RESPONSE_BIT: protocol.Info,
    Request.TENSOR | RESPONSE_BIT: protocol.Tensor,
    Request.RUN | RESPONSE_BIT: protocol.Result,
    Request.TRACE | RESPONSE_BIT: protocol.Trace,
    Request.CHECKSUM | RESPONSE_BIT: protocol.Checksum,
    Request.TRANSFER | RESPONSE_BIT: protocol.Checksum,
    Request.PLAN_CHECK | RESPONSE_BIT: protocol.Checksum,
    Request.FAULT | RESPONSE_BIT: protocol.Fault,
    Request.RESET | RESPONSE_BIT: protocol.Status,
    Answer.BUSY: protocol.Busy,
    Answer.ERROR: protocol.Error,
}
#: Fields that are shown even if they are 0.
_ALWAYS = ("model", "status", "yields")
#: Fields that are never shown.
_NEVER = ("reserved", "nonce", "inputs_crc32", "source_sha256")
#: No index of a stage, an operator or a tensor.
_NONE = 0xFFFFFFFF
#: Bytes of a DATA frame's number, before its data.
_NUMBER_BYTES = 2
#: Most unanswered requests whose signs of life are counted.
_UNANSWERED = 100


@dataclasses.dataclass(frozen=True)
class Message:
    """A frame, or all frames of a transfer, as text. `arrow`: `>` to the board, `<` from it, `-` both."""

    arrow: str
    words: str
    is_failure: bool = False


class FrameLog:
    """Turns frames into messages as they pass.

    Only the first sign of life of a request has a message; the message of its answer has their number. A transfer has
    one message, when it has ended.
    """

    def __init__(self, status_text: Callable[[int], str]) -> None:
        """`status_text`: returns the sentence of a tigris_status."""
        self._status_text = status_text
        self._signs: dict[tuple[int, int], int] = {}  # by connection and sequence
        self._transfer: dict[TransferFrame, int] = {}  # number of frames of the current transfer, by type
        self._transfer_key = (0, 0)
        self._transfer_bytes = 0

    def add(self, frame: Frame) -> list[Message]:
        """Returns the messages that `frame` completes."""
        key = (frame.connection, frame.sequence)
        if frame.type in set(TransferFrame):
            said = self.flush() if key != self._transfer_key else []
            self._count(TransferFrame(frame.type), frame, key)
            return said
        said = self.flush() if key != self._transfer_key or is_from_host(frame) else []
        signs = self._count_signs(frame, key)
        if signs is None:
            return said
        from_host = is_from_host(frame)
        words = f"{name_of(frame)} {describe(frame, self._status_text)}".rstrip()
        words += f" (signs of life: {signs})" if signs else ""
        return [*said, Message(">" if from_host else "<", words, is_failure(frame))]

    def flush(self) -> list[Message]:
        """Returns the message of the current transfer, if any; also to be called when the line is quiet."""
        if not self._transfer:
            return []
        counts = ", ".join(f"{count} {kind.name}" for kind, count in sorted(self._transfer.items()))
        said = [Message("-", f"transfer of {self._transfer_bytes:,} bytes: {counts}")]
        self._transfer, self._transfer_bytes = {}, 0
        return said

    def _count(self, kind: TransferFrame, frame: Frame, key: tuple[int, int]) -> None:
        self._transfer_key = key
        self._transfer[kind] = self._transfer.get(kind, 0) + 1
        if kind is TransferFrame.DATA:
            self._transfer_bytes += max(0, len(frame.payload) - _NUMBER_BYTES)

    def _count_signs(self, frame: Frame, key: tuple[int, int]) -> int | None:
        """Returns None for a repeated sign of life; else how many the frame's request had if it is an answer, or 0."""
        if len(self._signs) > _UNANSWERED:
            self._signs.clear()
        if frame.type == Answer.BUSY:
            self._signs[key] = self._signs.get(key, 0) + 1
            return None if self._signs[key] > 1 else 0
        return 0 if is_from_host(frame) else self._signs.pop(key, 0)


def is_from_host(frame: Frame) -> bool:
    """True for a frame from host to board: requests have types below those of their answers."""
    return frame.type < RESPONSE_BIT


def name_of(frame: Frame) -> str:
    """The name of a request, also for its response; BUSY; ERROR; a number for types of other versions."""
    kinds = {int(kind): kind.name for kind in (*Answer, *TransferFrame, *RowsFrame)}
    requests = {int(kind): kind.name for kind in Request}
    return kinds.get(frame.type) or requests.get(frame.type & ~RESPONSE_BIT) or f"type {frame.type}"


def is_failure(frame: Frame) -> bool:
    """True if the board reports a failure: ERROR, or a status other than 0."""
    if frame.type == Answer.ERROR:
        return True
    record = _record(frame)
    if isinstance(record, protocol.Trace):
        return record.status not in (0, CANCELLED)  # the host requested the stop
    return not is_from_host(frame) and record is not None and getattr(record, "status", 0) != 0


def describe(frame: Frame, status_text: Callable[[int], str]) -> str:
    """A frame's fields that are not 0; its size if this version does not know its type.

    `status_text`: returns the sentence of a tigris_status.
    """
    if frame.type == Request.STATUS_TEXT | RESPONSE_BIT:
        return frame.payload.decode(errors="replace")
    record = _record(frame)
    if frame.type == Request.PROFILE | RESPONSE_BIT:
        return counted(len(frame.payload) // protocol.Profile.size(), "operator")
    if record is None:
        return f"{len(frame.payload)} bytes" if frame.payload else ""
    if isinstance(record, protocol.Error):
        return _refusal(record.refusal)
    words = [_field(name, value, status_text) for name, value in vars(record).items()]
    return ", ".join(word for word in words if word)


def _record(frame: Frame) -> Record | None:
    kind = (_REQUESTS if is_from_host(frame) else _ANSWERS).get(frame.type)
    return kind.unpack(frame.payload) if kind is not None and len(frame.payload) >= kind.size() else None


def _refusal(number: int) -> str:
    names = {int(refusal): refusal.name.lower().replace("_", " ") for refusal in Refusal}
    return f"refused: {names.get(number, f'reason {number}')}"


def _field(name: str, value: Any, status_text: Callable[[int], str]) -> str:
    if isinstance(value, bytes):
        value = value.split(b"\0")[0].decode(errors="replace")
    if isinstance(value, tuple):
        value = sum(word << 32 * at for at, word in enumerate(value)) if name == "elapsed" else 0
    if name in _NEVER or value == _NONE or (not value and name not in _ALWAYS):
        return ""
    if name == "status":
        return f"status {value}: {status_text(value)}" if value else "status 0"
    if name.endswith("crc32"):
        return f"{name.replace('_', ' ')} {value:08x}"
    return f"{name.replace('_', ' ')} {value:,}" if isinstance(value, int) else f"{name.replace('_', ' ')} {value}"

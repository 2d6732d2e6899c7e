"""The host's side of the protocol: one object a board."""

from __future__ import annotations

import dataclasses
import secrets
import time
import zlib
from collections.abc import Callable
from types import TracebackType
from typing import TypeVar

from tigris_pio.format.record import Record
from tigris_pio.format.records import VERSION as FORMAT_VERSION
from tigris_pio.hil import protocol
from tigris_pio.hil.errors import (
    BusyError,
    HungBoardError,
    InputsError,
    NoisyBoardError,
    RefusedError,
    RestartError,
    RunError,
    SilentBoardError,
    VersionError,
)
from tigris_pio.hil.frames import Frame, FrameReader, describe_noise, encode
from tigris_pio.hil.line import Line
from tigris_pio.hil.protocol import Answer, Direction, Refusal, Request

_R = TypeVar("_R", bound=Record)

_REFUSALS: dict[int, str] = {
    Refusal.REQUEST: "it does not know this request; is its firmware older than this program?",
    Refusal.LENGTH: "the request's payload has the wrong length; is its firmware of another version?",
    Refusal.MODEL: "it has no model of this index",
    Refusal.TENSOR: "its model has no input or output of this index",
    Refusal.RANGE: "the bytes asked for lie outside the tensor",
    Refusal.NOT_READY: "its model could not be opened",
    Refusal.NO_OUTPUT: "it has no output: run it first",
    Refusal.SEQUENCE: "it expected another sequence number: does another program talk to it?",
}
#: BUSY messages in a row that may fail to come.
_MISSED_SIGNS = 3


@dataclasses.dataclass(frozen=True)
class Timing:
    """Patience in seconds."""

    connect: float = 10.0  #: until a board that boots has answered
    answer: float = 0.5  #: until a request is sent again; doubles each time
    longest_answer: float = 4.0  #: where the doubling ends
    tries: int = 6  #: times a request is sent
    run: float = 120.0  #: until a request that the board works on must be answered
    silence: float = 5.0  #: between signs of life of a board that works on a request


@dataclasses.dataclass(frozen=True)
class BoardInfo:
    """What a board says of itself."""

    name: str
    protocol: int
    format_version: int
    payload_bytes: int
    model_count: int
    counter_hz: int  #: 0: the counter is no measure of time
    counter_unit: str  #: empty: the board counts nothing
    busy_ms: int  #: between its signs of life during a request; 0: not known


@dataclasses.dataclass(frozen=True)
class ModelInfo:
    """What a board says of one of its models; all bytes."""

    index: int
    name: str
    source_sha256: str
    plan_bytes: int
    plan_crc32: int
    fast_needed: int
    fast_given: int
    slow_needed: int
    slow_given: int
    input_count: int
    output_count: int
    status: int  #: 0 when it can run
    status_text: str


@dataclasses.dataclass(frozen=True)
class FaultInfo:
    """Where a model was refused, or its last run failed; None where nothing is known."""

    status: int
    stage: int | None
    op: int | None
    tensor: int | None
    name: str  #: of the operator, else of the tensor

    def sentence(self) -> str:
        """`stage 3, operator 12 (/block/MatMul)`; empty when nothing is known."""
        places = [(what, index) for what in ("stage", "op", "tensor") if (index := getattr(self, what)) is not None]
        words = [f"{'operator' if what == 'op' else what} {index}" for what, index in places]
        named = "op" if self.op is not None else "tensor"
        return ", ".join(
            f"{text} ({self.name})" if what == named and self.name else text
            for (what, _), text in zip(places, words, strict=True)
        )


@dataclasses.dataclass(frozen=True)
class TensorInfo:
    """An input or output as the board stores it."""

    name: str
    size: int
    dtype: int


@dataclasses.dataclass(frozen=True)
class RunInfo:
    """What one run took; elapsed in the board's counter unit, the rest bytes."""

    elapsed: int
    fast_peak: int
    slow_peak: int
    slow_read: int
    slow_written: int


@dataclasses.dataclass(frozen=True)
class OpCounts:
    """One operator's calls and counts since the profile was cleared."""

    calls: int
    elapsed: int


class Board:
    """A board that serves its models over a serial line.

        with Board("/dev/ttyUSB0") as board:
            model = board.models()[0]
            board.write_input(0, 0, data)
            board.run(0)
            output = board.read_output(0, 0, size)

    Requests that get lost or damaged are repeated; the board does a repeated request only once, and none that comes
    late. One program at a time: BusyError names the other.
    """

    def __init__(self, url: str, baudrate: int = 115200, timing: Timing | None = None) -> None:
        self.url = url
        self._baudrate = baudrate
        self._timing = timing or Timing()
        self._line = Line(url, baudrate)
        self._reader = FrameReader()
        self._session = 0
        self._sequence = secrets.randbelow(protocol.SEQUENCES)
        self._lost = False  # what the board makes of the last request is not known: a new session is needed
        self._signed = 0.0  # when the board last said that it works on the request; 0: it did not
        self._written: dict[tuple[int, int], bytes] = {}  # inputs, by model and index, since its last run
        self._input_bytes: dict[int, list[int]] = {}  # of each model
        self._received = 0
        self.repeats = 0  #: requests that had to be sent again so far
        try:
            self.info = self._connect()
        except BaseException:
            self._line.close()
            raise

    def __enter__(self) -> Board:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the line."""
        self._line.close()

    @property
    def log(self) -> str:
        """What the firmware printed since the line was opened, without the frames; its last 64 KB."""
        return self._reader.log()

    def listen(self) -> None:
        """Takes in what the board has sent unasked, for `log`."""
        while data := self._line.read(0.0):
            self._reader.feed(data)

    # What the board has.

    def models(self) -> list[ModelInfo]:
        """All models of the board, also those that cannot run."""
        return [self.model(index) for index in range(self.info.model_count)]

    def model(self, index: int) -> ModelInfo:
        """One model of the board."""
        answer = self._record(protocol.Info, Request.INFO, protocol.Select(index))
        return ModelInfo(
            index,
            _text(answer.name),
            bytes(answer.source_sha256).hex(),
            answer.plan_bytes,
            answer.plan_crc32,
            answer.fast_needed,
            answer.fast_given,
            answer.slow_needed,
            answer.slow_given,
            answer.input_count,
            answer.output_count,
            answer.status,
            "" if answer.status == 0 else self.status_text(answer.status),
        )

    def tensor(self, model: int, direction: Direction, index: int) -> TensorInfo:
        """One input or output."""
        answer = self._record(protocol.Tensor, Request.TENSOR, protocol.Select(model, direction, index))
        return TensorInfo(_text(answer.name), answer.stored_bytes, answer.dtype)

    def fault(self, model: int) -> FaultInfo:
        """Where the board refused a model, or its last run failed."""
        answer = self._record(protocol.Fault, Request.FAULT, protocol.Select(model))
        stage, op, tensor = (None if at == 0xFFFFFFFF else at for at in (answer.stage, answer.op, answer.tensor))
        return FaultInfo(answer.status, stage, op, tensor, _text(answer.name))

    def status_text(self, status: int) -> str:
        """The board's sentence for a tigris_status."""
        return self._ask(Request.STATUS_TEXT, protocol.Status(status).pack()).decode(errors="replace")

    def check_plan(self, model: int) -> None:
        """Lets the board compute its plan's checksum; RunError when the flash holds something else."""
        answer = self._record(protocol.Checksum, Request.PLAN_CHECK, protocol.Select(model))
        if answer.status:
            text = self.status_text(answer.status)
            raise RunError(f"{self.url}: the plan in the board's flash is damaged: {text} Upload it again.")

    # What it does.

    def write_input(self, model: int, index: int, data: bytes) -> None:
        """Fills an input; all inputs must be written before each run."""
        self._written.pop((model, index), None)
        most = self.info.payload_bytes - protocol.Range.size()
        for first in range(0, len(data), most):
            part = data[first : first + most]
            self._ask(Request.WRITE, protocol.Range(model, 0, index, first, len(part)).pack() + part)
        self._written[model, index] = bytes(data)

    def run(self, model: int, clear_profile: bool = False, on_busy: Callable[[int], None] | None = None) -> RunInfo:
        """One inference; `on_busy(yields)` is called at each sign of life. RunError when it fails or takes too long.

        InputsError when the board computed it from other inputs than were written.
        """
        indices = sorted(index for owner, index in self._written if owner == model)
        sent = [self._written.pop((model, index)) for index in indices]
        flags = protocol.RunFlag.CLEAR_PROFILE if clear_profile else 0
        select = protocol.Select(model, index=int(flags))
        try:
            answer = protocol.Result.unpack(self._ask(Request.RUN, select.pack(), protocol.Result.size(), on_busy))
        except KeyboardInterrupt:
            self._lost = True
            self._line.write(encode(Frame(Request.CANCEL, _next(self._sequence), self._session)))
            raise
        if self._are_all_inputs(model, sent) and zlib.crc32(b"".join(sent)) != answer.inputs_crc32:
            raise InputsError(
                f"{self.url}: the board ran on other inputs than were sent: its result was dropped. "
                "Does something between here and the board change or repeat data?"
            )
        if answer.status:
            text, place = self.status_text(answer.status), self.fault(model).sentence()
            raise RunError(
                f"{self.url}: the run failed on the board with status {answer.status}{place and ' at ' + place}: {text}"
            )
        return RunInfo(_wide(answer.elapsed), answer.fast_peak, answer.slow_peak, answer.slow_read, answer.slow_written)

    def reset(self, model: int) -> None:
        """What lives from run to run begins anew; RunError when the board cannot."""
        answer = self._record(protocol.Status, Request.RESET, protocol.Select(model))
        if answer.status:
            text = self.status_text(answer.status)
            raise RunError(f"{self.url}: the board did not reset the model's states: {text}")

    def read_output(self, model: int, index: int, size: int) -> bytes:
        """The first `size` bytes of an output."""
        data = bytearray()
        while len(data) < size:
            count = min(self.info.payload_bytes, size - len(data))
            data += self._ask(Request.READ, protocol.Range(model, 0, index, len(data), count).pack(), count)
        return bytes(data)

    def output_crc32(self, model: int, index: int) -> int:
        """CRC-32 of an output, computed by the board."""
        select = protocol.Select(model, Direction.OUTPUT, index)
        return self._record(protocol.Checksum, Request.CHECKSUM, select).crc32

    def profile(self, model: int) -> list[OpCounts]:
        """Counts of all operators; empty when the firmware keeps none."""
        counts: list[OpCounts] = []
        while True:
            request = protocol.Range(model, first=len(counts), count=0xFFFF)
            payload = self._ask(Request.PROFILE, request.pack())
            for offset in range(0, len(payload), protocol.Profile.size()):
                entry = protocol.Profile.unpack(payload, offset)
                counts.append(OpCounts(entry.calls, _wide(entry.elapsed)))
            if not payload:
                return counts

    def _are_all_inputs(self, model: int, inputs: list[bytes]) -> bool:
        """Whether these are all that the model has, whole."""
        if inputs and model not in self._input_bytes:
            count = self._record(protocol.Info, Request.INFO, protocol.Select(model)).input_count
            self._input_bytes[model] = [self.tensor(model, Direction.INPUT, index).size for index in range(count)]
        return bool(inputs) and [len(data) for data in inputs] == self._input_bytes[model]

    # How requests travel.

    def _record(self, answer: type[_R], request: Request, payload: Record) -> _R:
        return answer.unpack(self._ask(request, payload.pack(), answer.size()))

    def _ask(
        self,
        request: Request,
        payload: bytes = b"",
        answer_bytes: int | None = None,
        on_busy: Callable[[int], None] | None = None,
    ) -> bytes:
        """Sends a request until it is answered; the response's payload, of `answer_bytes` if given."""
        if self._lost:
            self._connect()
        self._sequence = _next(self._sequence)
        wire = encode(Frame(request, self._sequence, self._session, payload))
        self._signed = 0.0
        end, patience, tries = time.monotonic() + self._timing.run, self._timing.answer, 0
        while self._may_wait(tries, end):
            self._line.write(wire)
            self.repeats += tries > 0
            frame = self._await(request, patience, end, on_busy)
            if frame is not None:
                return self._checked(request, frame, answer_bytes)
            patience, tries = min(2 * patience, self._timing.longest_answer), tries + 1
        self._lost = True
        raise self._no_answer(request, end)

    def _may_wait(self, tries: int, end: float) -> bool:
        """Whether a request that was sent so often without an answer is worth another try."""
        if not self._signed:
            return tries < self._timing.tries
        return time.monotonic() < min(end, self._signed + self._silence())

    def _silence(self) -> float:
        """Seconds without a sign of life after which a board that works on a request is given up."""
        return max(self._timing.silence, _MISSED_SIGNS * self.info.busy_ms / 1000)

    def _await(
        self, request: Request, patience: float, end: float, on_busy: Callable[[int], None] | None
    ) -> Frame | None:
        """The answer to the last request, or None when for `patience` seconds neither it nor a sign of life came."""
        until = min(time.monotonic() + patience, end)
        if self._signed:
            until = min(until, self._signed + self._silence())
        while (now := time.monotonic()) < until:
            data = self._line.read(until - now)
            self._received += len(data)
            for frame in self._reader.feed(data):
                if (frame.session, frame.sequence) != (self._session, self._sequence):
                    continue  # the answer to a repeated request, or another host's
                if frame.type in {request | protocol.RESPONSE_BIT, Answer.ERROR}:
                    return frame
                if frame.type == Answer.BUSY:
                    self._signed = time.monotonic()
                    until = min(self._signed + min(patience, self._silence()), end)
                    if on_busy is not None and len(frame.payload) == protocol.Busy.size():
                        on_busy(protocol.Busy.unpack(frame.payload).yields)
        return None

    def _checked(self, request: Request, frame: Frame, answer_bytes: int | None) -> bytes:
        if frame.type == Answer.ERROR:
            refusal = _refusal(frame)
            if refusal == Refusal.SESSION:
                raise RestartError(
                    f"{self.url}: the board restarted during {request.name}, or another program talks to it."
                    f"{self._noise_text()} If its watchdog bites, yield more often or raise its time limit."
                )
            reason = _REFUSALS.get(refusal, f"for the unknown reason {refusal}")
            raise RefusedError(f"{self.url}: the board refused {request.name}: {reason}")
        if answer_bytes is not None and len(frame.payload) != answer_bytes:
            raise VersionError(
                f"{self.url}: the board answered {request.name} with {len(frame.payload)} bytes instead of "
                f"{answer_bytes}: its firmware is of another version. Build and upload it again."
            )
        return frame.payload

    def _no_answer(self, request: Request, end: float) -> Exception:
        if self._signed and time.monotonic() >= end:
            return RunError(
                f"{self.url}: the board did not finish {request.name} within {self._timing.run:g} s. "
                "Give it more time (--timeout), or look whether it hangs."
            )
        if self._signed:
            return HungBoardError(
                f"{self.url}: the board began {request.name} and then gave no sign of life for {self._silence():g} s."
                f"{self._noise_text()} It hangs, or one operator takes longer than that: give --silence more seconds."
            )
        return SilentBoardError(
            f"{self.url}: {self.info.name or 'the board'} stopped answering: {request.name} was sent "
            f"{self._timing.tries} times.{self._noise_text()} Does its firmware still run?"
        )

    # How a session begins.

    def _connect(self) -> BoardInfo:
        """Says HELLO until the board, perhaps still booting, answers; the session is what both chose together."""
        self._session, self._sequence = secrets.randbelow(0x10000), _next(self._sequence)
        self._lost, self._signed, is_busy = False, 0.0, False
        self._written.clear()
        self._input_bytes.clear()
        payload = protocol.HelloRequest(protocol.VERSION).pack()
        wire = encode(Frame(Request.HELLO, self._sequence, self._session, payload))
        end = time.monotonic() + self._timing.connect
        while (now := time.monotonic()) < end:
            self._line.write(wire)
            again = min(now + self._timing.answer, end)
            frame = self._await(Request.HELLO, again - now, end, None)
            if frame is not None and frame.type != Answer.ERROR:
                return self._greeted(frame.payload)
            if frame is not None:
                is_busy = is_busy or _refusal(frame) == Refusal.BUSY
                time.sleep(max(0.0, again - time.monotonic()))
        raise self._no_greeting(is_busy)

    def _greeted(self, payload: bytes) -> BoardInfo:
        version = int.from_bytes(payload[:2], "little")
        if version != protocol.VERSION or len(payload) != protocol.Hello.size():
            raise VersionError(
                f"{self.url}: the board speaks version {version} of the protocol, this program version "
                f"{protocol.VERSION}. Build and upload the firmware with this version of tigris-pio."
            )
        hello = protocol.Hello.unpack(payload)
        if hello.format_version != FORMAT_VERSION:
            raise VersionError(
                f"{self.url}: the board reads plans of format {hello.format_version}, this program writes "
                f"format {FORMAT_VERSION}. Build and upload the firmware with this version of tigris-pio."
            )
        self._session ^= hello.nonce
        return BoardInfo(
            _text(hello.board),
            hello.protocol,
            hello.format_version,
            hello.payload_bytes,
            hello.model_count,
            hello.counter_hz,
            _text(hello.counter_unit),
            hello.busy_ms,
        )

    def _no_greeting(self, is_busy: bool) -> Exception:
        waited = f"{self._timing.connect:g} s"
        if is_busy:
            return BusyError(
                f"{self.url}: busy: the board runs a model for another program, and did so for {waited}. "
                "Wait for that, stop it, or reset the board."
            )
        if not self._received:
            shared = self.url.startswith(("socket://", "rfc2217://"))
            return SilentBoardError(
                f"{self.url}: the board sent nothing for {waited}. Is it powered and running firmware that calls "
                f"tigris_serve_poll, is this its port, and is {self._baudrate} baud its speed? A reset may help."
                + (" Or does another program talk to it?" if shared else "")
            )
        return NoisyBoardError(
            f"{self.url}: the board sent {self._received} bytes in {waited}, but no answer.{self._noise_text()}\n"
            "If this is readable, other firmware is running or it stopped before serving: read its last lines. "
            f"If not, its speed is not {self._baudrate} baud (--baud)."
        )

    def _noise_text(self) -> str:
        noise = self._reader.unread()
        return f" It sent:\n{describe_noise(noise)}\n" if noise else ""


def _next(sequence: int) -> int:
    return (sequence + 1) % protocol.SEQUENCES


def _refusal(frame: Frame) -> int:
    return protocol.Error.unpack(frame.payload).refusal if len(frame.payload) == protocol.Error.size() else 0


def _text(field: bytes) -> str:
    return field.split(b"\0")[0].decode(errors="replace")


def _wide(words: tuple[int, int]) -> int:
    return words[0] | words[1] << 32

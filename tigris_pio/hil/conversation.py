"""How requests travel: connections, sequence numbers, repetitions, and waiting for a board that works.

`client.Board` builds on `transfers.Transfers`, and that on `Conversation`. `Line` carries the bytes.
"""

import dataclasses
import secrets
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar, cast

from tigris_pio.format.record import Record
from tigris_pio.format.records import VERSION as FORMAT_VERSION
from tigris_pio.hil import protocol
from tigris_pio.hil.errors import (
    BusyError,
    HungBoardError,
    NoisyBoardError,
    RefusedError,
    RestartError,
    RunError,
    SilentBoardError,
    VersionError,
)
from tigris_pio.hil.frames import Frame, FrameReader, describe_noise, encode
from tigris_pio.hil.line import Line
from tigris_pio.hil.protocol import Answer, Refusal, Request, RowsFrame

_R = TypeVar("_R", bound=Record)
_T = TypeVar("_T")

_REFUSALS: dict[int, str] = {
    Refusal.REQUEST: "it does not know this request: its model is plain C, or its firmware is older than this program",
    Refusal.LENGTH: "the request's payload has the wrong length; is its firmware of another version?",
    Refusal.MODEL: "it has no model of this index",
    Refusal.TENSOR: "its model has no input or output of this index",
    Refusal.RANGE: "the requested bytes lie outside the tensor",
    Refusal.NOT_READY: "its model could not be opened",
    Refusal.NO_OUTPUT: "it has no output of a requested run: run the model, and keep the firmware from running it",
    Refusal.NO_CALL: "it has no rows of a kernel call: trace a run first",
    Refusal.SEQUENCE: "it expected another sequence number: does another program use it?",
}
#: Bits of each byte on a line, with start and stop bit.
_BITS = 10
#: BUSY frames in a row that may be missing.
_MISSED_SIGNS = 3


@dataclasses.dataclass(frozen=True)
class Timing:
    """Time limits in seconds."""

    connect: float = 10.0  #: until a booting board must answer
    answer: float = 0.5  #: until a request is sent again; doubles each time
    longest_answer: float = 4.0  #: limit of the doubling
    tries: int = 6  #: number of times that a request is sent
    run: float = 120.0  #: until a request that the board works on must be answered
    silence: float = 5.0  #: between signs of life (BUSY) during a request


@dataclasses.dataclass(frozen=True)
class BoardInfo:
    """A board's description, from its answer to HELLO."""

    name: str
    protocol: int
    format_version: int
    payload_bytes: int
    model_count: int
    counter_hz: int  #: 0: the counter does not measure time
    counter_unit: str  #: empty: the board has no counter
    busy_ms: int  #: milliseconds between its signs of life during a request; 0: not known
    transfer_bytes: int = 240  #: most data bytes of a transfer's frame


class Conversation:
    """One host's connection to a board: each request is sent until it is answered.

    `line` carries the bytes; without it the port at `url` is opened.
    """

    def __init__(
        self, url: str, baudrate: int = 115200, timing: Timing | None = None, line: Line | None = None
    ) -> None:
        self.url = url
        self._baudrate = baudrate
        self._timing = timing or Timing()
        self._line = line or Line(url, baudrate)
        self._reader = FrameReader()
        self._frames: deque[Frame] = deque()  # received, not yet handled
        self._connection = 0
        self._sequence = secrets.randbelow(protocol.SEQUENCES)
        self._must_reconnect = False  # True while the outcome of the last request is not known
        self._last_sign = 0.0  # time of the last sign of life during the request; 0: none yet
        self._received = 0
        self._byte_seconds = float("inf")  # longest time of a byte to the board; inf: not measured yet
        self._rows_in_flight: tuple[protocol.Moved, float] | None = None  # and the time when they must have arrived
        self.streamed_inputs: dict[int, bytes] = {}  #: of the next run, whole, by index
        self.streamed_outputs: dict[int, bytearray] = {}  #: of the last run
        self.repeats = 0  #: number of frames that were sent again
        try:
            self.info = self._connect()
        except BaseException:
            self._line.close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the line."""
        self._line.close()

    @property
    def log(self) -> str:
        """The firmware's text since the line was opened, without the frames; its last 64 KB."""
        return self._reader.log()

    def _forget_board(self) -> None:
        """Called before each HELLO: subclasses drop what they know of the board's state."""

    # How requests travel.

    def run_request(
        self, answer: type[_R], request: Request, payload: Record, on_busy: Callable[[int], None] | None = None
    ) -> _R:
        """Returns the response to a request that takes long; Ctrl-C cancels it on the board."""
        try:
            return answer.unpack(self._ask(request, payload.pack(), answer.size(), on_busy))
        except KeyboardInterrupt:
            self._must_reconnect = True
            self._line.write(encode(Frame(Request.CANCEL, next_sequence(self._sequence), self._connection)))
            raise

    def _record(self, answer: type[_R], request: Request, payload: Record) -> _R:
        return answer.unpack(self._ask(request, payload.pack(), answer.size()))

    def _ask(
        self,
        request: Request,
        payload: bytes = b"",
        answer_bytes: int | None = None,
        on_busy: Callable[[int], None] | None = None,
    ) -> bytes:
        """Sends a request until it is answered; returns the response's payload, of `answer_bytes` if given."""
        if self._must_reconnect:
            self._connect()
        self._sequence, self._must_reconnect, self._rows_in_flight = next_sequence(self._sequence), True, None
        wire = encode(Frame(request, self._sequence, self._connection, payload))
        self._last_sign = 0.0
        start = self._line.now()
        end, patience, tries = start + self._timing.run, self._timing.answer, 0
        expected = len(wire) + (self.info.payload_bytes if answer_bytes is None else answer_bytes)
        while self._is_worth_retrying(tries, end):
            self._line.write(wire)
            self.repeats += tries > 0
            frame = self._await(request, patience + self._seconds_for(expected), end, on_busy)
            if frame is not None:
                self._must_reconnect = False
                self._measure_line(len(wire), len(frame.payload), start)
                return self._check_answer(request, frame, answer_bytes)
            patience, tries = min(2 * patience, self._timing.longest_answer), tries + 1
        raise self._no_answer_error(request, end)

    def _seconds_for(self, count: int) -> float:
        """Seconds that `count` bytes take on the line: at its nominal or its measured speed, whichever is less.

        An emulated UART may be 80 times slower than its nominal speed, a bridge as slow as its radio.
        """
        nominal = _BITS / self._baudrate
        return count * (max(nominal, self._byte_seconds) if self._byte_seconds < float("inf") else nominal)

    def _measure_line(self, sent: int, received: int, start: float) -> None:
        """Updates the measured speed: the board has received `sent` bytes and answered `received` since `start`."""
        taken = self._line.now() - start - received * _BITS / self._baudrate
        self._byte_seconds = min(self._byte_seconds, max(taken, 0.0) / sent)

    def _is_worth_retrying(self, tries: int, end: float) -> bool:
        """True if a request without an answer should be sent again, after `tries` times and until time `end`."""
        if not self._last_sign:
            return tries < self._timing.tries
        return self._line.now() < min(end, self._last_sign + self._silence_seconds())

    def _silence_seconds(self) -> float:
        """Seconds without a sign of life after which a working board counts as hung."""
        return max(self._timing.silence, _MISSED_SIGNS * self.info.busy_ms / 1000)

    def _await(
        self, request: Request, patience: float, end: float, on_busy: Callable[[int], None] | None
    ) -> Frame | None:
        """Returns the answer to the last request; None after `patience` seconds without it or a sign of life."""
        until = min(self._line.now() + patience, end)
        if self._last_sign:
            until = min(until, self._last_sign + self._silence_seconds())
        while (frame := self._next_frame(until)) is not None:
            if frame.type in {request | protocol.RESPONSE_BIT, Answer.ERROR}:
                return frame
            if frame.type in (RowsFrame.WANT, RowsFrame.MADE, Answer.BUSY):
                self._last_sign = self._line.now()
                until = min(self._last_sign + min(patience, self._silence_seconds()), end)
            if frame.type in (RowsFrame.WANT, RowsFrame.MADE):
                self._answer_rows(frame)
            elif frame.type == Answer.BUSY and on_busy is not None and len(frame.payload) == protocol.Busy.size():
                on_busy(protocol.Busy.unpack(frame.payload).yields)
        return None

    def _answer_rows(self, frame: Frame) -> None:
        """Sends the rows of a streamed input that a run needs, or stores those of an output that it has made."""
        if len(frame.payload) < protocol.Moved.size():
            return
        place, data = protocol.Moved.unpack(frame.payload), frame.payload[protocol.Moved.size() :]
        end = place.first + place.bytes
        if frame.type == RowsFrame.MADE and len(data) == place.bytes:
            made = self.streamed_outputs.setdefault(place.index, bytearray())
            made.extend(bytes(max(0, end - len(made))))
            made[place.first : end] = data
            self._send_rows(RowsFrame.TOOK, place.pack())
        source, now = self.streamed_inputs.get(place.index, b""), self._line.now()
        is_in_flight = (
            self._rows_in_flight is not None and self._rows_in_flight[0] == place and now < self._rows_in_flight[1]
        )
        if frame.type == RowsFrame.WANT and end <= len(source) and not is_in_flight:
            self._rows_in_flight = place, now + self._seconds_for(place.bytes)
            self._send_rows(RowsFrame.GIVE, place.pack() + source[place.first : end])

    def _send_rows(self, kind: RowsFrame, payload: bytes) -> None:
        self._line.write(encode(Frame(kind, self._sequence, self._connection, payload)))

    def _next_frame(self, until: float) -> Frame | None:
        """Returns the next frame with the last request's number; None if none arrives until time `until`."""
        while True:
            while self._frames:
                frame = self._frames.popleft()
                if (frame.connection, frame.sequence) == (self._connection, self._sequence):
                    return frame  # other frames answer a repeated request, or another host
            left = until - self._line.now()
            if left <= 0:
                return None
            data = self._line.read(left)
            self._received += len(data)
            self._frames += self._reader.feed(data)

    def _check_answer(self, request: Request, frame: Frame, answer_bytes: int | None) -> bytes:
        if frame.type == Answer.ERROR:
            refusal = _refusal(frame)
            if refusal == Refusal.CONNECTION:
                raise RestartError(
                    f"{self.url}: the board restarted during {request.name}, or another program uses it."
                    f"{self._noise_text()} If its watchdog fires, yield more often or raise its time limit."
                )
            reason = _REFUSALS.get(refusal, f"for the unknown reason {refusal}")
            raise RefusedError(f"{self.url}: the board refused {request.name}: {reason}")
        if answer_bytes is not None and len(frame.payload) != answer_bytes:
            raise VersionError(
                f"{self.url}: the board answered {request.name} with {len(frame.payload)} bytes instead of "
                f"{answer_bytes}: its firmware is of another version. Build and upload it again."
            )
        return frame.payload

    def _no_answer_error(self, request: Request, end: float) -> Exception:
        if self._last_sign and self._line.now() >= end:
            return RunError(
                f"{self.url}: the board did not finish {request.name} within {self._timing.run:g} s. "
                "Give it more time (--timeout), or check whether it hangs."
            )
        if self._last_sign:
            return HungBoardError(
                f"{self.url}: the board began {request.name}, then sent no sign of life for "
                f"{self._silence_seconds():g} s.{self._noise_text()} It hangs, or one operator takes longer: "
                "give --silence more seconds."
            )
        return SilentBoardError(
            f"{self.url}: {self.info.name or 'the board'} stopped answering: {request.name} was sent "
            f"{self._timing.tries} times.{self._noise_text()} Does its firmware still run?"
        )

    # How a connection opens.

    def _connect(self) -> BoardInfo:
        """Sends HELLO until the board, perhaps still booting, answers. Both choose the connection's number together."""
        self._connection, self._sequence = secrets.randbelow(0x10000), next_sequence(self._sequence)
        self._must_reconnect, self._last_sign, is_busy = False, 0.0, False
        self._forget_board()
        payload = protocol.HelloRequest(protocol.VERSION).pack()
        wire = encode(Frame(Request.HELLO, self._sequence, self._connection, payload))
        end = self._line.now() + self._timing.connect
        while (now := self._line.now()) < end:
            self._line.write(wire)
            again = min(now + self._timing.answer, end)
            frame = self._await(Request.HELLO, again - now, end, None)
            if frame is not None and frame.type != Answer.ERROR:
                return self._read_hello(frame.payload)
            if frame is not None:
                is_busy = is_busy or _refusal(frame) == Refusal.BUSY
                self._line.pause(max(0.0, again - self._line.now()))
        raise self._connect_error(is_busy)

    def _read_hello(self, payload: bytes) -> BoardInfo:
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
        self._connection ^= hello.nonce
        return described(BoardInfo, hello, name=text_of(hello.board))

    def _connect_error(self, is_busy: bool) -> Exception:
        waited = f"{self._timing.connect:g} s"
        if is_busy:
            return BusyError(
                f"{self.url}: busy: the board has been running a model for another program for {waited}. "
                "Wait for that program, stop it, or reset the board."
            )
        if not self._received:
            shared = self.url.startswith(("socket://", "rfc2217://"))
            return SilentBoardError(
                f"{self.url}: the board sent nothing for {waited}. Is it powered and running firmware that calls "
                f"tigris_serve_poll, is this its port, and is {self._baudrate} baud its speed? A reset may help."
                + (" Or does another program use it?" if shared else "")
            )
        return NoisyBoardError(
            f"{self.url}: the board sent {self._received} bytes in {waited}, but no answer.{self._noise_text()}\n"
            "If this is readable, other firmware is running, or it stopped before serving: read its last lines. "
            f"If not, its speed is not {self._baudrate} baud (--baud)."
        )

    def _noise_text(self) -> str:
        noise = self._reader.unread()
        return f" It sent:\n{describe_noise(noise)}\n" if noise else ""


def next_sequence(sequence: int) -> int:
    return (sequence + 1) % protocol.SEQUENCES


def _refusal(frame: Frame) -> int:
    return protocol.Error.unpack(frame.payload).refusal if len(frame.payload) == protocol.Error.size() else 0


def text_of(field: bytes) -> str:
    return field.split(b"\0")[0].decode(errors="replace")


def described(kind: type[_T], answer: Record, **own: object) -> _T:
    """Makes a `kind` of `own` and of the fields with the same names in a board's answer, bytes as text."""
    fields = {name: text_of(value) if isinstance(value, bytes) else value for name, value in vars(answer).items()} | own
    return kind(**{field.name: fields[field.name] for field in dataclasses.fields(cast(Any, kind))})

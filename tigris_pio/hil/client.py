"""The host's side of the protocol: `Board` has a method for each request."""

from __future__ import annotations

import contextlib
import dataclasses
import zlib
from collections.abc import Callable, Sequence

from tigris_pio.hil import protocol
from tigris_pio.hil.conversation import BoardInfo, Timing, described, text_of
from tigris_pio.hil.errors import HarnessError, InputsError, RunError
from tigris_pio.hil.line import Line
from tigris_pio.hil.protocol import Direction, Request
from tigris_pio.hil.transfers import Transfers

#: Characters at the end of an older log that are searched in a newer one.
_OVERLAP = 256
__all__ = ["Board", "BoardInfo", "FaultInfo", "MemoryUse", "ModelInfo", "OpCounts", "RunInfo", "TensorInfo", "Timing"]


@dataclasses.dataclass(frozen=True)
class ModelInfo:
    """A board's description of one of its models; sizes in bytes."""

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
    status: int  #: 0 if it can run, else the tigris_status of the failure
    status_text: str


@dataclasses.dataclass(frozen=True)
class FaultInfo:
    """The place where a model was refused or its last run failed; None for an unknown index."""

    status: int
    stage: int | None
    op: int | None
    tensor: int | None
    name: str  #: of the operator, else of the tensor

    def sentence(self) -> str:
        """The place as `stage 3, operator 12 (/block/MatMul)`; empty if it is unknown."""
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
    """The cost of one run; `elapsed` in the board's counter unit, the rest in bytes."""

    elapsed: int
    fast_peak: int
    slow_peak: int
    slow_read: int
    slow_written: int


@dataclasses.dataclass(frozen=True)
class MemoryUse:
    """Bytes of a model's arenas, their peaks over runs, and the traffic of the last run."""

    fast_given: int
    fast_peak: int
    slow_given: int
    slow_peak: int
    slow_read: int
    slow_written: int

    @classmethod
    def of(cls, model: ModelInfo, runs: Sequence[RunInfo]) -> MemoryUse:
        """The use by at least one run."""
        fast, slow = max(run.fast_peak for run in runs), max(run.slow_peak for run in runs)
        return cls(model.fast_given, fast, model.slow_given, slow, runs[-1].slow_read, runs[-1].slow_written)


@dataclasses.dataclass(frozen=True)
class OpCounts:
    """One operator's calls and counts since the profile was cleared."""

    calls: int
    elapsed: int


class Board(Transfers):
    """A board that serves its models over a serial line.

        with Board("/dev/ttyUSB0") as board:
            model = board.models()[0]
            board.write_input(0, 0, data)
            board.run(0)
            output = board.read_output(0, 0, size)

    Lost or damaged requests are repeated. The board executes a repeated request once, and never a late one. Only one
    program can use a board: BusyError names the other.
    """

    def __init__(
        self, url: str, baudrate: int = 115200, timing: Timing | None = None, line: Line | None = None
    ) -> None:
        self._written: dict[tuple[int, int], bytes] = {}  # inputs, by model and index, since its last run
        self._input_bytes: dict[int, list[int]] = {}  # of each model
        super().__init__(url, baudrate, timing, line)

    def __enter__(self) -> Board:
        return self

    def _forget_board(self) -> None:
        self._written.clear()
        self._input_bytes.clear()

    def listen(self) -> None:
        """Reads what the board has sent without a request; it is added to `log`."""
        while data := self._line.read(0.0):
            self._reader.feed(data)

    def printed_since(self, before: str) -> str:
        """The text that the board has printed since its `log` was `before`."""
        with contextlib.suppress(HarnessError):  # a broken line has no more text
            self.listen()
        return new_text(before, self.log)

    # Models.

    def models(self) -> list[ModelInfo]:
        """All models of the board, including those that cannot run."""
        return [self.model(index) for index in range(self.info.model_count)]

    def model(self, index: int) -> ModelInfo:
        """One model of the board."""
        answer = self._record(protocol.Info, Request.INFO, protocol.Select(index))
        text = self.status_text(answer.status) if answer.status else ""
        source = bytes(answer.source_sha256).hex()
        return described(ModelInfo, answer, index=index, source_sha256=source, status_text=text)

    def tensor(self, model: int, direction: Direction, index: int) -> TensorInfo:
        """One input or output."""
        answer = self._record(protocol.Tensor, Request.TENSOR, protocol.Select(model, direction, index))
        return TensorInfo(text_of(answer.name), answer.stored_bytes, answer.dtype)

    def fault(self, model: int) -> FaultInfo:
        """The place where the board refused a model, or where its last run failed."""
        answer = self._record(protocol.Fault, Request.FAULT, protocol.Select(model))
        stage, op, tensor = (None if at == 0xFFFFFFFF else at for at in (answer.stage, answer.op, answer.tensor))
        return FaultInfo(answer.status, stage, op, tensor, text_of(answer.name))

    def status_text(self, status: int) -> str:
        """The board's sentence for a tigris_status."""
        return self._ask(Request.STATUS_TEXT, protocol.Status(status).pack()).decode(errors="replace")

    def check_plan(self, model: int) -> None:
        """Lets the board compute its plan's checksum; RunError if the plan in flash is damaged."""
        answer = self._record(protocol.Checksum, Request.PLAN_CHECK, protocol.Select(model))
        if answer.status:
            text = self.status_text(answer.status)
            raise RunError(f"{self.url}: the plan in the board's flash is damaged: {text} Upload it again.")

    # Runs.

    def write_input(self, model: int, index: int, data: bytes) -> None:
        """Writes an input. All inputs must be written before each run, because a run may overwrite them."""
        self._written.pop((model, index), None)
        self._send_input(model, index, data)
        self._written[model, index] = bytes(data)

    def run(self, model: int, clear_profile: bool = False, on_busy: Callable[[int], None] | None = None) -> RunInfo:
        """Runs one inference; calls `on_busy(yields)` at each sign of life.

        RunError if the run fails or takes too long; InputsError if the board ran on other inputs than were written.
        """
        self.streamed_outputs.clear()
        indices = sorted(index for owner, index in self._written if owner == model)
        sent = [self._written.pop((model, index)) for index in indices]
        flags = protocol.RunFlag.CLEAR_PROFILE if clear_profile else 0
        select = protocol.Select(model, index=int(flags))
        answer = self.run_request(protocol.Result, Request.RUN, select, on_busy)
        if self._are_all_inputs(model, sent) and zlib.crc32(b"".join(sent)) != answer.inputs_crc32:
            raise InputsError(
                f"{self.url}: the board ran on other inputs than were sent, so its result was dropped. "
                "Does something between here and the board change or repeat data?"
            )
        if answer.status:
            text, place = self.status_text(answer.status), self.fault(model).sentence()
            raise RunError(
                f"{self.url}: the run failed on the board with status {answer.status}{place and ' at ' + place}: {text}"
            )
        return RunInfo(_wide(answer.elapsed), answer.fast_peak, answer.slow_peak, answer.slow_read, answer.slow_written)

    def reset(self, model: int) -> None:
        """Gives all states of a model their first values; RunError if the board cannot."""
        answer = self._record(protocol.Status, Request.RESET, protocol.Select(model))
        if answer.status:
            text = self.status_text(answer.status)
            raise RunError(f"{self.url}: the board did not reset the model's states: {text}")

    def read_output(self, model: int, index: int, size: int) -> bytes:
        """Reads the first `size` bytes of an output; OutputsError if their checksum is not the board's."""
        if size > self.info.payload_bytes:
            return self._receive_tensor(model, Direction.OUTPUT, index, size)
        return self._ask(Request.READ, protocol.Range(model, 0, index, 0, size).pack(), size)

    def read_rows(self, model: int, index: int, size: int) -> bytes:
        """Reads the first `size` bytes of rows of a traced run's last call: 0 its output, i + 1 its operand i."""
        if size > self.info.payload_bytes:
            return self._receive_tensor(model, Direction.ROWS, index, size)
        return self._ask(Request.ROWS, protocol.Range(model, 0, index, 0, size).pack(), size)

    def output_crc32(self, model: int, index: int) -> int:
        """CRC-32 of an output, computed by the board."""
        select = protocol.Select(model, Direction.OUTPUT, index)
        return self._record(protocol.Checksum, Request.CHECKSUM, select).crc32

    def profile(self, model: int) -> list[OpCounts]:
        """Calls and counts of all operators; empty if the firmware keeps no profile."""
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
        """True if these are all inputs of the model, complete."""
        if inputs and model not in self._input_bytes:
            count = self._record(protocol.Info, Request.INFO, protocol.Select(model)).input_count
            self._input_bytes[model] = [self.tensor(model, Direction.INPUT, index).size for index in range(count)]
        whole = [size for size in self._input_bytes.get(model, []) if size]  # a streamed input has size 0
        return bool(inputs) and [len(data) for data in inputs] == whole


def new_text(before: str, now: str) -> str:
    """The text after `before` in `now`, also if the log has dropped its beginning since."""
    if now.startswith(before):
        return now[len(before) :]
    end = before[-_OVERLAP:]
    at = now.rfind(end)
    return now if at < 0 else now[at + len(end) :]


def _wide(words: tuple[int, int]) -> int:
    return words[0] | words[1] << 32

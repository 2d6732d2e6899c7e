"""Runs a sample on board and host and observes its kernel calls: requests TRACE and ROWS."""

import dataclasses
import zlib
from collections.abc import Mapping, Sequence

import numpy as np

from tigris_pio.hil import protocol
from tigris_pio.hil.client import Board, ModelInfo
from tigris_pio.hil.errors import InputsError, RunError
from tigris_pio.hil.exchange import write_inputs
from tigris_pio.hil.protocol import Request
from tigris_pio.host import Session
from tigris_pio.host.calls import Call
from tigris_pio.host.io import Array, IoDescriptor

#: Most checksums of one answer.
CHECKSUMS = len(protocol.Trace(0, 0, 0, 0, 0, 0, 0, 0, (0,) * 8, (0,) * 11).checksums)

Inputs = Mapping[str, Array]


@dataclasses.dataclass(frozen=True)
class TracePoints:
    """The places of a run's checksums: after `first` kernel calls, then after each `between` more; 0: only one.

    After `count` checksums the run stops; 0: it runs to its end, with as many checksums as an answer holds.
    """

    first: int
    between: int
    count: int


@dataclasses.dataclass(frozen=True)
class TraceResult:
    """The board's answer to TRACE. op, image, first, rows, operands: of the last call, see host.calls.Call."""

    complete: bool  #: the run went on to its end, so its states have advanced
    calls: int
    op: int
    image: int
    first: int
    rows: int
    operands: tuple[int, ...]  #: CRC-32 of each operand's rows
    checksums: Mapping[int, int]  #: by number of calls; includes the last call


class Replay:
    """Runs a sample, or the last of a sequence of samples, on both sides repeatedly.

    `steps`: inputs as stored. To restore a step's states, the board runs the steps before it from a reset; the host
    saves its states.
    """

    def __init__(self, board: Board, model: ModelInfo, session: Session, steps: Sequence[Inputs]) -> None:
        self._board, self._model, self._session = board, model, session
        self.steps = steps
        self._position: int | None = None if session.states else 0  # the step whose states the board holds
        if session.states:
            session.reset()
        self._states = [session.save_state()]
        self._calls: list[tuple[Call, ...]] = []
        self._outputs: list[dict[str, Array]] = []

    # The host.

    def host_calls(self, step: int) -> tuple[Call, ...]:
        """The host's kernel calls of a step."""
        while len(self._calls) <= step:
            self._session.load_state(self._states[-1])
            outputs, calls = self._session.run_raw_calls(self.steps[len(self._calls)])
            self._calls.append(calls)
            self._outputs.append(outputs)
            self._states.append(self._session.save_state())
        return self._calls[step]

    def host_checksum(self, step: int, calls: int) -> int | None:
        """The checksum of the host's first `calls` calls; None if it makes fewer."""
        made = self.host_calls(step)
        return None if calls > len(made) else made[calls - 1].crc32 if calls else 0

    def host_rows(self, step: int, call: int) -> tuple[bytes, ...]:
        """The rows of the host's call `call`, from 1, after it: its output's, then its operands'."""
        self.host_calls(step)
        self._session.load_state(self._states[step])
        rows = self._session.run_raw_call(self.steps[step], call)
        return (rows.output, *rows.operands)

    # The board.

    def run_board(self, step: int, points: TracePoints) -> TraceResult:
        """Runs a step on the board; RunError if it fails, InputsError if the board ran on other inputs."""
        self._advance_to(step)
        self._position = None
        sent = write_inputs(self._board, self._session, self._model, self.steps[step])
        payload = protocol.Range(self._model.index, 0, points.count, points.first, points.between)
        answer = self._board.run_request(protocol.Trace, Request.TRACE, payload)
        if zlib.crc32(sent) != answer.inputs_crc32:
            raise InputsError(f"{self._board.url}: the board ran on other inputs than were sent")
        count = (points.count or CHECKSUMS) if points.between else 1
        taken = [points.first + i * points.between for i in range(count)]
        stopped = bool(points.count) and answer.calls >= taken[-1]
        if answer.status and not (stopped and answer.status == protocol.CANCELLED):
            text = self._board.status_text(answer.status)
            raise RunError(f"{self._board.url}: the run failed on the board with status {answer.status}: {text}")
        self._position = step if answer.status else step + 1
        if not self._session.states:
            self._position = 0
        checksums = {calls: crc for calls, crc in zip(taken, answer.checksums, strict=False) if calls <= answer.calls}
        checksums[answer.calls] = answer.crc32
        last = (answer.op, answer.image, answer.first, answer.rows)
        return TraceResult(answer.status == 0, answer.calls, *last, answer.operands, checksums)

    def board_rows(self, index: int, size: int) -> bytes:
        """Rows of the last call of the board's last run: 0 its output's, i + 1 operand i's."""
        return self._board.read_rows(self._model.index, index, size)

    def outputs_equal(self, step: int) -> bool:
        """True if the outputs of the board's last run are the host's; that run was a complete one of this step."""
        self.host_calls(step)
        arrays = [self._outputs[step][io.name] for io in self._session.outputs]
        host = [zlib.crc32(np.ascontiguousarray(array).tobytes()) for array in arrays]
        return host == [self._output_crc32(index, io) for index, io in enumerate(self._session.outputs)]

    def _output_crc32(self, index: int, io: IoDescriptor) -> int:
        if self._session.is_streamed(io):
            return zlib.crc32(self._board.streamed_outputs.get(index, b""))
        return self._board.output_crc32(self._model.index, index)

    def _advance_to(self, step: int) -> None:
        if not self._session.states or self._position == step:
            return
        if self._position is None or self._position > step:
            self._board.reset(self._model.index)
            self._position = 0
        for before in range(self._position, step):
            self._position = None
            write_inputs(self._board, self._session, self._model, self.steps[before])
            self._board.run(self._model.index)
            self._position = before + 1

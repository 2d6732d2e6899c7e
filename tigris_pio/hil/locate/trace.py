"""Runs on a board that are watched kernel call by kernel call: requests TRACE and ROWS."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Mapping, Sequence

import numpy as np

from tigris_pio.hil import protocol
from tigris_pio.hil.client import Board, ModelInfo
from tigris_pio.hil.errors import InputsError, RunError
from tigris_pio.hil.protocol import Request
from tigris_pio.host import Session
from tigris_pio.host.calls import Call
from tigris_pio.host.io import Array, IoDescriptor

#: Checksums of one answer.
CHECKSUMS = len(protocol.Trace(0, 0, 0, 0, 0, 0, 0, 0, (0,) * 8, (0,) * 11).checksums)

Inputs = Mapping[str, Array]


@dataclasses.dataclass(frozen=True)
class Asked:
    """Where a run takes checksums: after `first` kernel calls and after each `between` more, 0: no more; behind the
    last of `count` it stops. count 0: it goes on to its end, with as many as an answer holds."""

    first: int
    between: int
    count: int


@dataclasses.dataclass(frozen=True)
class Traced:
    """What the board said of a run. op, image, first, rows, operands: of the last call, see host.calls.Call."""

    complete: bool  #: it went on to its end, so states have stepped
    calls: int
    op: int
    image: int
    first: int
    rows: int
    operands: tuple[int, ...]  #: CRC-32 of each
    checksums: Mapping[int, int]  #: by calls made, the last call's included


class Replay:
    """One sample, or a sequence of them up to one, run on both sides as often as wanted.

    `steps`: inputs as stored. Of a model with states the board's are brought to a step by running those before it from
    a reset; the host's are kept.
    """

    def __init__(self, board: Board, model: ModelInfo, session: Session, steps: Sequence[Inputs]) -> None:
        self._board, self._model, self._session = board, model, session
        self.steps = steps
        self._position: int | None = None if session.states else 0  # the step whose states the board has
        if session.states:
            session.reset()
        self._states = [session.save_state()]
        self._calls: list[tuple[Call, ...]] = []
        self._outputs: list[dict[str, Array]] = []

    # The host.

    def host(self, step: int) -> tuple[Call, ...]:
        """The host's calls of a step."""
        while len(self._calls) <= step:
            self._session.load_state(self._states[-1])
            outputs, calls = self._session.run_raw_calls(self.steps[len(self._calls)])
            self._calls.append(calls)
            self._outputs.append(outputs)
            self._states.append(self._session.save_state())
        return self._calls[step]

    def host_checksum(self, step: int, calls: int) -> int | None:
        """That of the host's first `calls` calls; None when it makes fewer."""
        made = self.host(step)
        return None if calls > len(made) else made[calls - 1].crc32 if calls else 0

    def host_rows(self, step: int, call: int) -> tuple[bytes, ...]:
        """What call `call`, from 1, left of its output's rows and of its operands'."""
        self.host(step)
        self._session.load_state(self._states[step])
        rows = self._session.run_raw_call(self.steps[step], call)
        return (rows.output, *rows.operands)

    # The board.

    def board(self, step: int, asked: Asked) -> Traced:
        """A run of a step on the board; RunError when it fails, InputsError when it was of other inputs."""
        self._go_to(step)
        self._position = None
        sent = b"".join(self._write(step))
        payload = protocol.Range(self._model.index, 0, asked.count, asked.first, asked.between)
        answer = self._board.run_request(protocol.Trace, Request.TRACE, payload)
        if zlib.crc32(sent) != answer.inputs_crc32:
            raise InputsError(f"{self._board.url}: the board ran on other inputs than were sent")
        count = (asked.count or CHECKSUMS) if asked.between else 1
        taken = [asked.first + i * asked.between for i in range(count)]
        stopped = bool(asked.count) and answer.calls >= taken[-1]
        if answer.status and not (stopped and answer.status == protocol.CANCELLED):
            text = self._board.status_text(answer.status)
            raise RunError(f"{self._board.url}: the run failed on the board with status {answer.status}: {text}")
        self._position = step if answer.status else step + 1
        if not self._session.states:
            self._position = 0
        checksums = {calls: crc for calls, crc in zip(taken, answer.checksums, strict=False) if calls <= answer.calls}
        checksums[answer.calls] = answer.crc32
        last = (answer.op, answer.image, answer.first, answer.rows)
        return Traced(answer.status == 0, answer.calls, *last, answer.operands, checksums)

    def board_rows(self, index: int, size: int) -> bytes:
        """Rows of the last call of the last run: 0 its output's, i + 1 operand i's."""
        return self._board.read_rows(self._model.index, index, size)

    def outputs_equal(self, step: int) -> bool:
        """Whether the outputs of the board's last run, which was of this step and complete, are the host's."""
        self.host(step)
        arrays = [self._outputs[step][io.name] for io in self._session.outputs]
        host = [zlib.crc32(np.ascontiguousarray(array).tobytes()) for array in arrays]
        return host == [self._output_crc32(index, io) for index, io in enumerate(self._session.outputs)]

    def _output_crc32(self, index: int, io: IoDescriptor) -> int:
        if self._session.is_streamed(io):
            return zlib.crc32(self._board.streamed_outputs.get(index, b""))
        return self._board.output_crc32(self._model.index, index)

    def _write(self, step: int) -> list[bytes]:
        inputs = self.steps[step]
        written = []
        for index, io in enumerate(self._session.inputs):
            data = np.ascontiguousarray(inputs[io.name]).tobytes()
            if self._session.is_streamed(io):
                self._board.streamed_inputs[index] = data
            else:
                self._board.write_input(self._model.index, index, data)
                written.append(data)
        return written

    def _go_to(self, step: int) -> None:
        if not self._session.states or self._position == step:
            return
        if self._position is None or self._position > step:
            self._board.reset(self._model.index)
            self._position = 0
        for before in range(self._position, step):
            self._position = None
            self._write(before)
            self._board.run(self._model.index)
            self._position = before + 1

"""Finds the first kernel call of a run whose rows on the board are not the host's.

The plan determines the order of kernel calls, so both sides make the same ones. A run on the board gives a checksum at
up to eleven places; each covers all calls so far. The call lies between the last equal checksum and the first different
one. The next run places its checksums there, so each run narrows the search elevenfold. The last run stops after the
call, and its rows are read in place.
"""

import zlib
from collections.abc import Sequence

from tigris_pio.format.reader import PlanFile
from tigris_pio.hil.client import Board, ModelInfo
from tigris_pio.hil.compare import Mismatch
from tigris_pio.hil.errors import HarnessError
from tigris_pio.hil.locate.first_wrong import KERNEL, MEMORY, ORDER, FirstWrong, PlanNames, compare_rows, describe
from tigris_pio.hil.locate.trace import CHECKSUMS, Inputs, Replay, TracePoints, TraceResult
from tigris_pio.hil.locate.values import ValueSearch
from tigris_pio.host import Session
from tigris_pio.host.calls import Call

#: Runs without the fault after which it counts as not reproducible.
_TRIES = 3
#: Most runs of a search: a fault that moves from run to run would not end it.
_MOST_RUNS = 60


class _NotLocatedError(Exception):
    """The message says why no call can be named."""


def locate(
    board: Board,
    model: ModelInfo,
    file: PlanFile,
    session: Session,
    steps: Sequence[Inputs],
    sample: int,
    mismatch: Mismatch,
    tolerance: float = 0.0,
) -> FirstWrong | str:
    """Finds the first call that differs in a run of the last of `steps`, or returns why none can be named.

    `steps`: inputs as stored of sample `sample`, which gave `mismatch`; for a model with states those of all samples
    since its reset. If float32 rows differ by no more than `tolerance` (see compare), it finds the first that differ by
    more. The states of both sides change.
    """
    search = _Search(Replay(board, model, session, steps), PlanNames(file), sample)
    try:
        found = search.first()
        if tolerance and found.cause == KERNEL and search.is_within(tolerance):
            return _first_beyond_tolerance(search, mismatch, tolerance)
        return found
    except _NotLocatedError as reason:
        return str(reason)
    except HarnessError as error:
        return f"the connection failed: {error}"


class _Search:
    """The search by checksums."""

    def __init__(self, replay: Replay, names: PlanNames, sample: int) -> None:
        self.replay, self.names, self.sample = replay, names, sample
        self.has_moved = False  # a run differed at another place than the one before
        self._runs = 0
        self._last: tuple[int, int, bytes, bytes] | None = None  # step, call and its output's rows on both sides

    def first(self) -> FirstWrong:
        """Finds the call; its rows on the board stay readable."""
        step, low, high = self._differing_step()
        missed = 0
        while missed < _TRIES:
            points = self._next(low, high)
            result = self._run(step, points)
            equal, differing = self._bounds(step, result)
            if differing is None:
                missed += 1
                continue
            if result.complete and result.calls < differing:
                return self._other_order(step, result, differing)
            is_elsewhere = differing <= low or equal >= high
            self.has_moved = self.has_moved or is_elsewhere
            low, high = (equal, differing) if is_elsewhere else (max(low, equal), min(high, differing))
            if differing == equal + 1 and result.calls == differing:
                return self._describe(step, result)
        where = self._name(step, low + 1), self._name(step, high)
        between = f"at {where[0]}" if high == low + 1 else f"between {where[0]} and {where[1]}"
        raise _NotLocatedError(
            f"not reproducible: a run differed {between} (kernel calls {low + 1} to {high}), {_TRIES} more did not"
        )

    def is_within(self, tolerance: float) -> bool:
        """True if the rows of the found call differ by no more than `tolerance`."""
        assert self._last is not None
        step, call, board, host = self._last
        return compare_rows(self.names, self.replay.host_calls(step)[call - 1], None, board, host, tolerance) is None

    def _differing_step(self) -> tuple[int, int, int]:
        """Returns the first step with a difference, the calls known to be equal, and the calls known to differ."""
        last = len(self.replay.steps) - 1
        for step in (*range(last), *(last,) * _TRIES):
            total = len(self.replay.host_calls(step))
            between = max(1, -(-total // CHECKSUMS))
            result = self._run(step, TracePoints(between, between, 0))
            equal, differing = self._bounds(step, result)
            if differing is not None:
                return step, equal, differing
            if step == last and not self.replay.outputs_equal(step):
                raise _NotLocatedError(
                    f"all {total} kernel calls gave the host's bytes, but the outputs read afterwards are not theirs: "
                    "something writes to the model's memory after the run"
                )
        raise _NotLocatedError(
            f"not reproducible: {_TRIES} more runs of sample {self.sample} gave the host's bytes in all kernel calls"
        )

    def _next(self, low: int, high: int) -> TracePoints:
        """Returns the next places of checksums, between equal and differing calls; around the last call left."""
        if high - low == 1:
            return TracePoints(low, 1, 2)
        between = -(-(high - low) // CHECKSUMS)
        return TracePoints(low + between, between, -(-(high - low) // between))

    def _run(self, step: int, points: TracePoints) -> TraceResult:
        self._runs += 1
        if self._runs > _MOST_RUNS:
            raise _NotLocatedError(f"not reproducible: {_MOST_RUNS} runs differed at changing operators")
        return self.replay.run_board(step, points)

    def _bounds(self, step: int, result: TraceResult) -> tuple[int, int | None]:
        """Returns the most calls known to be equal, and the fewest known to differ."""
        equal = 0
        for calls, checksum in sorted(result.checksums.items()):
            if checksum != self.replay.host_checksum(step, calls):
                return equal, calls
            equal = calls
        return equal, None if equal == len(self.replay.host_calls(step)) or not result.complete else equal + 1

    def _describe(self, step: int, result: TraceResult) -> FirstWrong:
        """Describes the call after which the board has stopped."""
        made, call = self.replay.host_calls(step), result.calls
        if call > len(made) or _geometry(result) != _geometry(made[call - 1]):
            return self._other_order(step, result, call)
        expected = made[call - 1]
        host = self.replay.host_rows(step, call)
        changed = [i for i, operand in enumerate(expected.operands) if operand.crc32 != result.operands[i]]
        if changed:
            rows = self._operand_rows(changed[0], result, expected, host)
            found = compare_rows(self.names, expected, changed[0], *rows) if rows else None
        else:
            board = self.replay.board_rows(0, len(host[0]))
            self._last = (step, call, board, host[0])
            found = compare_rows(self.names, expected, None, board, host[0])
        cause, operand = (MEMORY, changed[0]) if changed else (KERNEL, None)
        again = self._is_reproducible(step, result)
        return describe(self.names, made, self._sample(step), call, cause, operand, found, again)

    def _other_order(self, step: int, result: TraceResult, call: int) -> FirstWrong:
        made, again = self.replay.host_calls(step), self._is_reproducible(step, result)
        return describe(self.names, made, self._sample(step), min(call, len(made)), ORDER, None, None, again)

    def _sample(self, step: int) -> int:
        return self.sample - (len(self.replay.steps) - 1 - step)

    def _operand_rows(
        self, operand: int, result: TraceResult, expected: Call, host: tuple[bytes, ...]
    ) -> tuple[bytes, bytes] | None:
        """An operand's rows on board and host before the call; None if the call has overwritten them."""
        mine = host[operand + 1]
        theirs = self.replay.board_rows(operand + 1, len(mine))
        if zlib.crc32(theirs) != result.operands[operand] or zlib.crc32(mine) != expected.operands[operand].crc32:
            return None
        return theirs, mine

    def _is_reproducible(self, step: int, result: TraceResult) -> bool:
        again = self._run(step, TracePoints(result.calls - 1, 1, 2))
        return not self.has_moved and again.checksums.get(result.calls) == result.checksums[result.calls]

    def _name(self, step: int, call: int) -> str:
        op = self.replay.host_calls(step)[min(call, len(self.replay.host_calls(step))) - 1].op
        return f"operator {op} {self.names.name(op)}"


def _geometry(call: Call | TraceResult) -> tuple[int, int, int, int]:
    return call.op, call.image, call.first, call.rows


def _first_beyond_tolerance(search: _Search, mismatch: Mismatch, tolerance: float) -> FirstWrong | str:
    """Finds the first call that differs by more than the tolerance, where earlier ones differ by less."""
    replay, names = search.replay, search.names
    step = len(replay.steps) - 1
    values = ValueSearch(replay, names, step, tolerance)
    made, last = replay.host_calls(step), values.writer_of(mismatch.output, mismatch.first)
    call = None if last is None else values.first(last)
    if call is None:
        return (
            f"not reproducible: in another run of sample {search.sample} the call that writes output {mismatch.output} "
            f"differed by no more than the tolerance {tolerance:g}"
        )
    found, again = values.difference(call), values.is_reproducible(call)
    return describe(names, made, search.sample, call, KERNEL, None, found, again, tolerance)

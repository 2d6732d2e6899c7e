"""Finds the first kernel call of a run whose rows on the board are not the host's.

The order of kernel calls is the plan's, so both sides make the same ones, band for band. A run on the board gives
checksums of all calls up to eleven places; between the last that is the host's and the first that is not lies the call,
and the next run looks there. The last run stops behind the call, and its rows are read where they lie.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from tigris_pio.format.reader import PlanFile
from tigris_pio.hil.client import Board, ModelInfo
from tigris_pio.hil.compare import Mismatch
from tigris_pio.hil.errors import HarnessError
from tigris_pio.hil.locate.first_wrong import KERNEL, MEMORY, ORDER, FirstWrong, PlanWords, departure, describe
from tigris_pio.hil.locate.trace import CHECKSUMS, Asked, Inputs, Replay, Traced
from tigris_pio.hil.locate.values import ValueSearch
from tigris_pio.host import Session
from tigris_pio.host.calls import Call

#: Runs in which a fault may fail to come again before it is given up.
_TRIES = 3
#: Runs of one search, which a fault that wanders would go on for ever.
_MOST_RUNS = 60


class _NotLocatedError(Exception):
    """Why there is no call to name."""


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
    """The first call that departs in a run of the last of `steps`, or why none can be named.

    steps: inputs as stored: of a model with states those from its reset to sample `sample`, which gave `mismatch`; else
    that sample's alone. Where rows of float32 depart by no more than `tolerance` (see compare) the first that depart by
    more are sought. Both sides are left with states of another step.
    """
    search = _Search(Replay(board, model, session, steps), PlanWords(file), sample)
    try:
        found = search.first()
        if tolerance and found.cause == KERNEL and search.is_within(tolerance):
            return _beyond(search, mismatch, tolerance)
        return found
    except _NotLocatedError as reason:
        return str(reason)
    except HarnessError as error:
        return f"the board could not be asked: {error}"


class _Search:
    """The search by checksums."""

    def __init__(self, replay: Replay, words: PlanWords, sample: int) -> None:
        self.replay, self.words, self.sample = replay, words, sample
        self.wandered = False  # a run departed elsewhere than the one before
        self._runs = 0
        self._last: tuple[int, int, bytes, bytes] | None = None  # step, call and its output's rows on both sides

    def first(self) -> FirstWrong:
        """The call; leaves the board's rows of it readable."""
        step, low, high = self._departing_step()
        missed = 0
        while missed < _TRIES:
            asked = self._next(low, high)
            traced = self._run(step, asked)
            equal, departs = self._bounds(step, traced)
            if departs is None:
                missed += 1
                continue
            if traced.complete and traced.calls < departs:
                return self._other_order(step, traced, departs)
            is_elsewhere = departs <= low or equal >= high
            self.wandered = self.wandered or is_elsewhere
            low, high = (equal, departs) if is_elsewhere else (max(low, equal), min(high, departs))
            if departs == equal + 1 and traced.calls == departs:
                return self._describe(step, traced)
        where = self._name(step, low + 1), self._name(step, high)
        between = f"at {where[0]}" if high == low + 1 else f"between {where[0]} and {where[1]}"
        raise _NotLocatedError(
            f"not reproducible: a run departed {between} (kernel calls {low + 1} to {high}), {_TRIES} more did not"
        )

    def is_within(self, tolerance: float) -> bool:
        """Whether the rows of the call that was found depart by no more than this."""
        assert self._last is not None
        step, call, board, host = self._last
        return departure(self.words, self.replay.host(step)[call - 1], None, board, host, tolerance) is None

    def _departing_step(self) -> tuple[int, int, int]:
        """The first step whose calls depart, calls that do not, and calls that do."""
        last = len(self.replay.steps) - 1
        for step in (*range(last), *(last,) * _TRIES):
            total = len(self.replay.host(step))
            between = max(1, -(-total // CHECKSUMS))
            traced = self._run(step, Asked(between, between, 0))
            equal, departs = self._bounds(step, traced)
            if departs is not None:
                return step, equal, departs
            if step == last and not self.replay.outputs_equal(step):
                raise _NotLocatedError(
                    f"all {total} kernel calls gave the host's bytes, but the outputs read afterwards are not theirs: "
                    "something writes to the model's memory after the run"
                )
        raise _NotLocatedError(
            f"not reproducible: {_TRIES} more runs of sample {self.sample} gave the host's bytes in all kernel calls"
        )

    def _next(self, low: int, high: int) -> Asked:
        """Where to look between calls that are equal and calls that are not: at the call itself when only one is left,
        and then before it, too."""
        if high - low == 1:
            return Asked(low, 1, 2)
        between = -(-(high - low) // CHECKSUMS)
        return Asked(low + between, between, -(-(high - low) // between))

    def _run(self, step: int, asked: Asked) -> Traced:
        self._runs += 1
        if self._runs > _MOST_RUNS:
            raise _NotLocatedError(f"not reproducible: {_MOST_RUNS} runs departed at ever other operators")
        return self.replay.board(step, asked)

    def _bounds(self, step: int, traced: Traced) -> tuple[int, int | None]:
        """The most calls known to be equal, and the fewest known to depart."""
        equal = 0
        for calls, checksum in sorted(traced.checksums.items()):
            if checksum != self.replay.host_checksum(step, calls):
                return equal, calls
            equal = calls
        return equal, None if equal == len(self.replay.host(step)) or not traced.complete else equal + 1

    def _describe(self, step: int, traced: Traced) -> FirstWrong:
        """What the call that the board has stopped behind made of what it read."""
        made, call = self.replay.host(step), traced.calls
        if call > len(made) or _geometry(traced) != _geometry(made[call - 1]):
            return self._other_order(step, traced, call)
        expected = made[call - 1]
        host = self.replay.host_rows(step, call)
        changed = [i for i, operand in enumerate(expected.operands) if operand.crc32 != traced.operands[i]]
        if changed:
            rows = self._operand_rows(changed[0], traced, expected, host)
            found = departure(self.words, expected, changed[0], *rows) if rows else None
        else:
            board = self.replay.board_rows(0, len(host[0]))
            self._last = (step, call, board, host[0])
            found = departure(self.words, expected, None, board, host[0])
        cause, operand = (MEMORY, changed[0]) if changed else (KERNEL, None)
        again = self._comes_again(step, traced)
        return describe(self.words, made, self._sample(step), call, cause, operand, found, again)

    def _other_order(self, step: int, traced: Traced, call: int) -> FirstWrong:
        made, again = self.replay.host(step), self._comes_again(step, traced)
        return describe(self.words, made, self._sample(step), min(call, len(made)), ORDER, None, None, again)

    def _sample(self, step: int) -> int:
        return self.sample - (len(self.replay.steps) - 1 - step)

    def _operand_rows(
        self, operand: int, traced: Traced, expected: Call, host: tuple[bytes, ...]
    ) -> tuple[bytes, bytes] | None:
        """An operand's rows on both sides, as the call found them; None when it has written over them."""
        mine = host[operand + 1]
        theirs = self.replay.board_rows(operand + 1, len(mine))
        if zlib.crc32(theirs) != traced.operands[operand] or zlib.crc32(mine) != expected.operands[operand].crc32:
            return None
        return theirs, mine

    def _comes_again(self, step: int, traced: Traced) -> bool:
        again = self._run(step, Asked(traced.calls - 1, 1, 2))
        return not self.wandered and again.checksums.get(traced.calls) == traced.checksums[traced.calls]

    def _name(self, step: int, call: int) -> str:
        op = self.replay.host(step)[min(call, len(self.replay.host(step))) - 1].op
        return f"operator {op} {self.words.name(op)}"


def _geometry(call: Call | Traced) -> tuple[int, int, int, int]:
    return call.op, call.image, call.first, call.rows


def _beyond(search: _Search, mismatch: Mismatch, tolerance: float) -> FirstWrong | str:
    """The first call that departs by more than the tolerance, while earlier ones depart by less."""
    replay, words = search.replay, search.words
    step = len(replay.steps) - 1
    values = ValueSearch(replay, words, step, tolerance)
    made, last = replay.host(step), values.writer_of(mismatch.output, mismatch.first)
    call = None if last is None else values.first(last)
    if call is None:
        return (
            f"not reproducible: in another run of sample {search.sample} the call that writes output {mismatch.output} "
            f"departed by no more than the tolerance {tolerance:g}"
        )
    found, again = values.departure(call), values.comes_again(call)
    return describe(words, made, search.sample, call, KERNEL, None, found, again, tolerance)

"""The search in one order of the operators: from a program and a budget to an execution plan.

Orders, cuts, strategies, heights and homes are judged by one cost. The cheapest cut whose live bytes fit is found
(`cut/temporal.py`) and its offsets are placed. What fits by live bytes may exceed the limit by fragmentation; then the
search is done again with less memory, or less sharing of it, where that happened, and in the end everywhere.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tigris_pio.compiler.ir.plan import Budget, ExecutionPlan
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.plan.aim import Aim, WeightOptions, Windows
from tigris_pio.compiler.plan.attempts import Attempt, Attempts, how
from tigris_pio.compiler.plan.cost import op_costs, plan_cost
from tigris_pio.compiler.plan.cut.pieces import joined
from tigris_pio.compiler.plan.cut.temporal import FEW, Cut, cheapest_cut, may_be_cut
from tigris_pio.compiler.plan.every_cut import cheapest_of_every_cut
from tigris_pio.compiler.plan.finish import finish
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.placement import Arrangement, arrange
from tigris_pio.compiler.plan.refine import refined
from tigris_pio.compiler.plan.refusal import Candidate, refusal
from tigris_pio.compiler.plan.rungs import below
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.compiler.plan.uncollected import uncollected
from tigris_pio.compiler.plan.weight_blocks import add_blocks, split_for_blocks
from tigris_pio.compiler.weights.block import block_bytes
from tigris_pio.errors import BudgetError
from tigris_pio.format.enums import WeightMode
from tigris_pio.format.records import VIEW_STATE_BYTES
from tigris_pio.sizes import round_up

#: Shares of the limit that are aimed for when nothing else helps.
SHARES = (0.96, 0.92, 0.88, 0.84, 0.78, 0.7, 0.6, 0.5)
#: Rooms that are the same sizes whatever the limit, so many from a size to its double, so that a little more memory
#: tries what less did: of cuts whose windows are parked, from and up to these shares of the limit; of stages that
#: exceed it, so many.
STEPS, PARKED_ROOMS, STEPS_DOWN = 16, (0.93, 1.2), 6
#: Programs of more operators are planned with fewer attempts; and of more in one order, with fewer still.
THOROUGH, EXHAUSTIVE = 36, 300
#: So are those whose first cut took more: the search looked for segments so often.
LABOURED = 10_000
#: Of these a plan is good enough that costs so many times what live bytes tell of the cheapest, or of another order.
NEAR = 1.01
#: The same of programs in tiles.
SOON = 1.05
#: Up to so much fast memory what live bytes tell of programs in tiles is far off: it may cost so many times what the
#: plan costs in the end.
TIGHT, AROUND = 2 << 10, 1.25
#: Of any program a plan is poor that costs so many times what live bytes tell of the cheapest: what is tried when there
#: is no plan is tried then too.
POOR = 1.1
#: Long programs must be so many times cheaper in another order, or beside slow memory, for that to be taken.
FARTHER = 1.02


class Effort(enum.Enum):
    """How much is tried for a plan."""

    FULL = enum.auto()
    SEARCH = enum.auto()  #: without looking at every cut of a small program, as was done for more memory
    FIRST = enum.auto()  #: slow memory is known to be wanted, and the first plan beside it that fits is good enough


def plan_program(program: Program, budget: Budget, alignment: int, weights: WeightOptions) -> ExecutionPlan:
    """The best plan found within `budget`; BudgetError, with the smallest that works, when there is none."""
    index = ProgramIndex.of(program)
    plan = find_plan(index, budget, alignment, weights)
    if plan is None:
        raise does_not_fit([index], budget, alignment, weights)
    return plan


@uncollected
def does_not_fit(
    indices: Sequence[ProgramIndex], budget: Budget, alignment: int, weights: WeightOptions
) -> BudgetError:
    """The error that says the smallest budget in which any of the programs works: a network in several orders, or in
    other operators. None of them fits `budget`; their indices share one `Work`."""

    def candidate(index: ProgramIndex) -> Candidate:
        def find(fast: int, slow: int, late: bool = True) -> Arrangement | None:
            return find_arrangement(index, Budget(fast, slow), alignment, weights, hasty=True, late=late)

        def cut(fast: int, slow: int) -> bool:
            aim = Aim.of(Budget(fast, slow), _ample_fast(index), alignment, weights)
            return may_be_cut(index.body, aim)

        return Candidate(find, cut, functools.partial(find, late=False))

    ample, first = max(map(_ample_fast, indices)), indices[0].program
    return BudgetError(
        refusal(first.name, budget, alignment, ample, [*map(candidate, indices)], len(first.ops), indices[0].work)
    )


def worth(program: Program, cost: float) -> float:
    """What another order or other operators must cost less than when a plan of `program` costs so much."""
    steps = len(program.ops)
    return cost if steps <= THOROUGH else cost / (NEAR if steps <= EXHAUSTIVE else FARTHER)


def find_plan(
    index: ProgramIndex,
    budget: Budget,
    alignment: int,
    weights: WeightOptions,
    most: float = math.inf,
    effort: Effort = Effort.FULL,
) -> ExecutionPlan | None:
    """The best plan found within `budget` that costs less than `most`, or None; an index kept from plan to plan saves
    time."""
    least = most - _whole_cost(index)
    if effort is Effort.FIRST:
        found = _that_spills(index, budget, alignment, weights, least)
    else:
        every = effort is Effort.FULL
        found = find_arrangement(index, budget, alignment, weights, least, every=every)
    return None if found is None else finish(index, budget, alignment, weights, found)


@uncollected
def find_arrangement(
    index: ProgramIndex, budget: Budget, alignment: int, weights: WeightOptions, most: float = math.inf,
    hasty: bool = False, every: bool = True, late: bool = True,
) -> Arrangement | None:
    """The cheapest arrangement found within `budget`, with slow memory or without, that costs less than `most` beyond
    running whole; None when none was found. `hasty`: the first that fits is good enough, and where there is slow memory
    it may be used. `every`: every cut of a small program is looked at. `late`: what takes long is tried, too, where
    nothing else was found."""
    aim = dataclasses.replace(Aim.of(budget, _ample_fast(index), alignment, weights), most=most)
    enough = math.inf if hasty else None
    resident = None if hasty and aim.slow else _cheapest(index, dataclasses.replace(aim, slow=0), enough, every, late)
    if not aim.slow or (resident is not None and all(draft.bands == 1 for draft in resident.drafts)):
        best = resident
    else:
        whole = _whole_cost(index)
        least = most if resident is None else worth(index.program, whole + _cost(index, resident)) - whole
        best = _cheapest(index, dataclasses.replace(aim, most=least), enough, every, late) or resident
    return None if best is None else _with_weights(index, best, aim)


def _that_spills(
    index: ProgramIndex, budget: Budget, alignment: int, weights: WeightOptions, most: float
) -> Arrangement | None:
    """The first arrangement found beside slow memory that costs little more than live bytes tell of the cheapest,
    looked at once more; None when that does not cost less than `most`."""
    whole, aim = _whole_cost(index), Aim.of(budget, _ample_fast(index), alignment, weights)
    around = AROUND if aim.limit <= TIGHT else 1.0
    found = _cheapest(index, dataclasses.replace(aim, most=around * (whole + most) - whole), SOON)
    better = None if found is None else refined(index, found, aim)
    return None if better is None or _cost(index, better) >= most else _with_weights(index, better, aim)


def _cheapest(
    index: ProgramIndex, aim: Aim, enough: float | None, every: bool = True, late: bool = True
) -> Arrangement | None:
    """The cheapest arrangement found that costs less than `aim.most`, or the first that does and costs no more than
    `enough` times what live bytes tell of the cheapest. `every` and `late` as of `find_arrangement`.

    Where offsets of a cut exceed the limit, cuts are tried that do with less memory just there or share less of it,
    which cost no less. (What is wrong is made a constraint and the search done again: G. Sharon et al.,
    "Conflict-based search for optimal multi-agent pathfinding", Artificial Intelligence 219, 2015.)
    """
    attempts = _Attempts(index, aim, enough)
    hopeless = False  # what has no cut has none with less memory
    attempts.make(aim)
    for place, chain in enumerate(_chains(index, aim, attempts.small)):
        if (hopeless and not chain.other) or (chain.late and (not late or attempts.done(chain.start))):
            continue
        found = attempts.make(chain.start)
        if place == 0 and found is not None and attempts.fits(found):
            break
        if attempts.near():
            break
        hopeless = hopeless or (place == 0 and found is None)
        attempts.mend(chain.start, found, chain.remedies)
    if attempts.best is None or enough is None:
        attempts.look_closer(every)
    return attempts.best


class _Attempts:
    """What has been tried within `aim`, and the cheapest arrangement found. enough: so many times what live bytes tell
    of the cheapest is good enough; None: the program's size tells."""

    def __init__(self, index: ProgramIndex, aim: Aim, enough: float | None) -> None:
        self.index, self.aim, self.enough = index, aim, enough
        self.best: Arrangement | None = None
        self._windows = aim.windows  # of the best
        self._state = 0  # what the stages of the attempt before took
        self.least: float | None = None  # cost of the cut of the first attempt that had one
        self.small = len(index.ops) <= THOROUGH  #: all attempts are made
        self._made: dict[Aim, Arrangement | None] = {}
        # Room and cost of the last cut with parked windows that was no better, by whether bands have one row.
        self._exceeding: dict[bool, tuple[int, float]] = {}

    def make(self, attempt: Aim) -> Arrangement | None:
        """The arrangement of the attempt's cut, whether it fits or not; None when no cut is cheaper than the best.

        One that was made before is not made again: remedies of several chains often lead to the same."""
        if attempt not in self._made:
            self._made[attempt] = self._make(attempt)
        return self._made[attempt]

    def _make(self, attempt: Aim) -> Arrangement | None:
        most = min(self.aim.most, self._failed(attempt))
        cut = _cut(self.index, dataclasses.replace(attempt, most=most, state=self._state))
        if cut is None or cut.cost >= most:
            self._state = 0  # mostly the next has none either, which is known soonest so
            self._note(how(self.aim, attempt), "no cut")
            return None
        if self.least is None:
            self.least, self.small = cut.cost, self.small and cut.led <= LABOURED
        self._state = cut.state
        found = _arranged(self.index, cut, attempt)
        better = self.fits(found) and _cost(self.index, found) < self.aim.most
        outcome = "best so far" if better else "fits" if self.fits(found) else "exceeds"
        self._note(how(self.aim, attempt), outcome, found)
        if better:
            self._take(found)
            self._windows = attempt.windows
        elif attempt.windows is Windows.PARKED:
            self._exceeding[attempt.lowest] = attempt.room, cut.cost
        return found

    def _failed(self, attempt: Aim) -> float:
        """What a cut must cost less than to be another than that which failed in less room. Not of small programs,
        where estimates that are above the drafts would hide it."""
        room, cost = self._exceeding.get(attempt.lowest, (0, math.inf))
        larger = attempt.windows is Windows.PARKED and attempt.room > room and len(self.index.ops) > FEW
        return cost if larger else math.inf

    def look_closer(self, every: bool) -> None:
        """Looks at the best once more, and, with `every`, at every cut of a small program.

        Where live bytes tell of nothing cheaper than the best, that is the cheapest; beside slow memory they miss
        more."""
        if self.best is not None:
            self._found("looked at once more", refined(self.index, self.best, self.aim))
        if every and self.least is not None and (self.best is None or self.aim.slow or self.aim.most > self.least):
            most = _whole_cost(self.index) + self.aim.most
            self._found("every cut", cheapest_of_every_cut(self.index, self.aim, most))

    def _found(self, said: str, found: Arrangement | None) -> None:
        if found is not None and found is not self.best:
            self._note(said, "best so far", found)
            self._take(found)

    def _take(self, found: Arrangement) -> None:
        self.best, self.aim = found, dataclasses.replace(self.aim, most=_cost(self.index, found))

    def _note(self, said: str, outcome: str, found: Arrangement | None = None) -> None:
        attempt = Attempt(said, self.aim.slow, outcome)
        if found is not None:
            attempt = dataclasses.replace(attempt, stages=len(found.drafts), fast=found.fast_bytes,
                                          slow=found.slow.peak, cost=_cost(self.index, found))  # fmt: skip
        self.index.cache(Attempts).append(attempt)

    def done(self, late: Aim) -> bool:
        """Whether an attempt that is made when nothing else was found needs not be made. A poor plan counts as none.
        And where the best took windows over inputs that were read, or parked ones, the first that fits is not the
        cheapest: rooms for parked windows may be cut in a better way."""
        if self.best is None or self.enough:
            return self.best is not None
        return self._within(POOR) and (late.windows is not Windows.PARKED or self._windows < Windows.STAIRS)

    def near(self) -> bool:
        """Whether the best needs not be bettered: in haste, or of a large program."""
        enough = self.enough or NEAR
        if self.best is None or (self.small and not self.enough):
            return False
        return self._within(enough)

    def _within(self, times: float) -> bool:
        """Whether the best costs no more than so many times what live bytes tell of the cheapest."""
        whole = _whole_cost(self.index)
        return self.least is not None and whole + self.aim.most <= times * (whole + self.least)

    def fits(self, found: Arrangement) -> bool:
        """Whether an arrangement stays within both limits."""
        return found.fast_bytes <= self.aim.limit and found.slow.peak <= self.aim.slow

    def mend(self, attempt: Aim, found: Arrangement | None, remedies: Sequence[Remedy]) -> None:
        """Tries the remedies one after the other, each on the last arrangement that did not fit."""
        if found is None or self.fits(found):
            return
        first = missed = (attempt, found)
        for remedy in remedies:
            attempt = remedy(self.index, self.aim, *missed)
            found = None if self.near() else self.make(attempt)
            if found is not None:
                missed = first if self.fits(found) else (attempt, found)


#: Of an attempt whose arrangement exceeds the limits the one that is made next, from the index, the limits, the attempt
#: and the arrangement.
Remedy = Callable[[ProgramIndex, Aim, Aim, Arrangement], Aim]
#: When an arrangement was found, of what aims for less than the limit only that is tried which aims for at least this
#: share of it.
FAR = 0.85


class _Chain(NamedTuple):
    """An attempt to begin with, and remedies that are tried in turn while its arrangement exceeds the limits."""

    start: Aim
    remedies: Sequence[Remedy] = ()
    late: bool = False  #: only when nothing was found before
    other: bool = False  #: also when the first attempt had no cut: it may have one where that has none


def _chains(index: ProgramIndex, aim: Aim, small: bool) -> Iterator[_Chain]:
    """The less is shared, the nearer what is placed comes to the live bytes. The larger a program is, the fewer
    remedies."""
    apart = dataclasses.replace(aim, windows=Windows.APART)
    alone = dataclasses.replace(apart, overlay=False, apart=frozenset(range(len(index.ops))))
    large = len(index.ops) > EXHAUSTIVE
    all_three = (_with_less, _unshared, _with_less) if small else () if large else (_unshared,)
    yield _Chain(aim, (*all_three, _with_half_less) if small else () if large else (_with_less, _unshared))
    yield _Chain(aim, (_in_less, _in_less, _in_less) if small else ())
    if not large:
        yield _Chain(aim, (_a_step_down,) * (STEPS_DOWN if small else 2))
    yield _Chain(apart, all_three or (_unshared,))
    yield _Chain(dataclasses.replace(apart, frugal=True), all_three, large)
    if small:
        yield _Chain(apart, (_unshared, _with_less, _unshared))
    elif aim.most < math.inf:
        return  # there is a plan
    yield _Chain(alone, (_with_less, _with_less), large)
    for share in SHARES:
        late, room = large or share < FAR, int(aim.limit * share)
        yield _Chain(apart.at(room), (_with_less,) if small else (), late)
        yield _Chain(alone.at(room), (), late)
    yield _Chain(dataclasses.replace(aim, descents=False), (_with_less, _unshared, _with_less), True, True)
    if not aim.slow:
        stairs = dataclasses.replace(aim, windows=Windows.STAIRS)
        yield _Chain(stairs, () if large else (_with_less, _unshared, _with_less), True, True)
        yield _Chain(dataclasses.replace(stairs, lowest=True), (_unshared,), True, True)
        if large or aim.most < math.inf:
            return
        for room in _parked_rooms(aim.limit, 1 if small else 2):
            parked = dataclasses.replace(aim, windows=Windows.PARKED).at(room)
            yield _Chain(parked, (), True, True)
            yield _Chain(dataclasses.replace(parked, lowest=True), (), True, True)


def _parked_rooms(limit: int, stride: int) -> Iterator[int]:
    """Those nearest above the limit first: the more room, the cheaper a cut, and the likelier its offsets exceed it."""
    least, most = (math.ceil(STEPS * math.log2(max(1.0, share * limit))) for share in PARKED_ROOMS)
    steps = sorted(range(least, most, stride), key=lambda step: (2 ** (step / STEPS) < limit, step))
    return (int(2 ** (step / STEPS)) for step in steps)


def _unshared(index: ProgramIndex, aim: Aim, attempt: Aim, found: Arrangement) -> Aim:
    """No outputs that grow over inputs, and none in place of an operand, where `found` exceeded the limit."""
    growing = {step for draft in found.drafts if draft.overlays for step in _steps(draft.segment)}
    shares = growing | {step for step, size in enumerate(index.shared) if size}
    full = {step for step in range(len(index.ops)) if found.taken(step) > aim.limit}
    where = full or {step for segment in _exceeding(aim, found) for step in _steps(segment)}
    return dataclasses.replace(attempt, apart=attempt.apart | (shares & where), less=())


def _with_less(index: ProgramIndex, aim: Aim, attempt: Aim, found: Arrangement) -> Aim:
    """Less memory for the stages where `found` exceeded the limit, so that their bands get lower; or less slow memory,
    where it exceeded that."""
    if found.slow.peak > aim.slow:
        return dataclasses.replace(attempt, slow=attempt.slow - max(aim.alignment, found.slow.peak - aim.slow))
    return _lower(aim, attempt, found, found.fast_bytes - aim.limit)


def _with_half_less(index: ProgramIndex, aim: Aim, attempt: Aim, found: Arrangement) -> Aim:
    """Half as much less: offsets of lower bands may leave smaller gaps."""
    return _lower(aim, attempt, found, max(0, found.fast_bytes - aim.limit) // 2)


def _a_step_down(index: ProgramIndex, aim: Aim, attempt: Aim, found: Arrangement) -> Aim:
    """The next less of sizes that are the same whatever the limit: what a smaller limit led to is tried in a larger
    one."""
    less = []
    for segment in _exceeding(aim, found):
        room = attempt.room_of(segment.first, segment.end)
        lower = next(below(room, STEPS), room)
        less.append((segment.first, segment.end, attempt.room - lower))
    return dataclasses.replace(attempt, less=(*attempt.less, *less))


def _lower(aim: Aim, attempt: Aim, found: Arrangement, missed: int) -> Aim:
    missed = round_up(missed, aim.alignment)
    less = tuple(
        (segment.first, segment.end, attempt.room - attempt.room_of(segment.first, segment.end) + missed)
        for segment in _exceeding(aim, found)
    )
    return dataclasses.replace(attempt, less=(*attempt.less, *less))


def _in_less(index: ProgramIndex, aim: Aim, attempt: Aim, found: Arrangement) -> Aim:
    """Half as much less for all stages: what is cut for a little less may be cut elsewhere, and be placed. Where much
    is missed that is no use."""
    missed = max(1, found.fast_bytes - aim.limit)
    if missed > aim.limit * (1 - FAR):
        return attempt
    return attempt.at(attempt.room - round_up(missed // 2, aim.alignment))


def _exceeding(aim: Aim, found: Arrangement) -> list[Segment]:
    """The segments during which something lies beyond the limit."""
    over = [
        part.life
        for request in found.requests
        for part in request.contents
        if found.state_bytes + found.fast.offsets[part.name] + part.bytes > aim.limit
    ]
    segments = [draft.segment for draft in found.drafts]
    return [s for s in segments if any(life.birth < s.end and s.first <= life.death for life in over)]


def _steps(segment: Segment) -> range:
    return range(segment.first, segment.end)


def _cost(index: ProgramIndex, arrangement: Arrangement) -> float:
    """What the operators but for the COMMITs cost beyond running whole."""
    steps = len(index.body.ops)
    drafts = [draft for draft in arrangement.drafts if draft.segment.end <= steps]
    return plan_cost(index, drafts) - _whole_cost(index)


def _whole_cost(index: ProgramIndex) -> float:
    """What the operators but for the COMMITs cost when each runs whole."""
    return sum(op_costs(index).whole[: len(index.body.ops)])


class _Cuts(dict[Aim, Cut | None]):
    """Of a program, by what they were looked for with, but for the limit, which no cut depends on."""


def _cut(index: ProgramIndex, aim: Aim) -> Cut | None:
    """The cheapest cut. Searches for the smallest budget aim for the same rooms again and again."""
    known, key = index.cache(_Cuts), dataclasses.replace(aim, limit=0)
    if key not in known:
        known[key] = cheapest_cut(index.body, aim)
    return known[key]


def _arranged(index: ProgramIndex, cut: Cut, aim: Aim) -> Arrangement:
    """A cut arranged: operators that run whole in stages as long as they may be, or in shorter ones where that fits the
    limit better or costs less, since their run-time state is smaller."""
    commits = [Segment(step, step + 1, direct=True) for step in range(len(index.body.ops), len(index.ops))]

    def arranged(views: int) -> Arrangement:
        return arrange(
            index, [*joined(index, cut.segments, cut.homes, views), *commits], aim, cut.homes, cut.spared
        )

    best = arranged(len(index.program.tensors))
    banded = any(draft.bands > 1 for draft in best.drafts)
    for state in (aim.limit - best.fast.peak, cut.state):
        if cut.state <= state < best.state_bytes and (banded or best.fast_bytes > aim.limit):
            best = min(arranged(state // VIEW_STATE_BYTES), best,
                       key=lambda one: (max(one.fast_bytes, aim.limit), _cost(index, one)))  # fmt: skip
    return best


def _with_weights(index: ProgramIndex, found: Arrangement, aim: Aim) -> Arrangement:
    """With weight blocks, if asked for. Stages run whole are cut where that lets more blocks in."""
    if aim.weights.mode is WeightMode.IN_PLACE:
        return found
    segments = [draft.segment for draft in found.drafts]
    pieces = split_for_blocks(index, segments, aim.limit - found.state_bytes)
    if pieces != segments:
        finer = arrange(index, pieces, aim, found.homes)
        if finer.fast_bytes <= aim.limit:
            return add_blocks(index, finer, aim)
    return add_blocks(index, found, aim)


def _ample_fast(index: ProgramIndex) -> int:
    """Fast memory that never limits a plan: everything whole, and all weights beside it."""
    return 4 * int(index.live.max(initial=0)) + block_bytes(index.ops) + 64 * len(index.ops) + (1 << 16)

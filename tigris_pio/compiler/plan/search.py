"""The search in one order of the operators: from a program and a budget to an execution plan.

The frontier has the cheapest schedule at every level of memory. Schedules that may fit are arranged in the order of
their cost, until none is left that is cheaper than the best plan.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from tigris_pio.compiler.ir.plan import Budget, ExecutionPlan
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.plan.arrange import Arranger, Height, Kind, Stages, rearranged
from tigris_pio.compiler.plan.attempt import Attempt
from tigris_pio.compiler.plan.cost import op_costs
from tigris_pio.compiler.plan.finish import finish
from tigris_pio.compiler.plan.frontier.frontier import Frontier, Point, find_frontier
from tigris_pio.compiler.plan.frontier.levels import ample, levels
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.placement import Arrangement
from tigris_pio.compiler.plan.refusal import Candidate, refusal
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.compiler.plan.settings import WeightOptions
from tigris_pio.compiler.plan.weight_blocks import add_blocks, split_for_blocks
from tigris_pio.errors import BudgetError
from tigris_pio.format.enums import Home, WeightMode

#: Levels that are looked at, as shares of the limit. Parked windows take up to so much less than live bytes tell.
LOWEST, HIGHEST = 0.5, 1.3
#: Levels from a size to its double where only the lowest is looked for.
COARSE = 16
#: Where nothing is found schedules are looked for whose stages touch at most so many tensors: stages share the
#: run-time state that the largest takes.
FEW_VIEWS = 4
#: Programs of at most so many operators have estimates corrected by drafts, so often; a difference of this share of the
#: cost is as good as none.
CORRECTED, ROUNDS, CLOSE = 60, 6, 2e-4


def find_plan(
    index: ProgramIndex, budget: Budget, alignment: int, weights: WeightOptions, most: float = math.inf,
    tried: list[Attempt] | None = None, spills: bool = False,
) -> ExecutionPlan | None:  # fmt: skip
    """The best plan found within `budget` that costs less than `most`, or None.

    tried: receives each schedule that was placed
    spills: the plan is expected to need slow memory
    """
    found = find_arrangement(index, budget, alignment, weights, most - whole_cost(index), tried, spills=spills)
    return None if found is None else finish(index, budget, alignment, weights, found)


def plan_program(program: Program, budget: Budget, alignment: int, weights: WeightOptions) -> ExecutionPlan:
    """The best plan found within `budget`; BudgetError, with the smallest that works, when there is none."""
    index = ProgramIndex.of(program)
    plan = find_plan(index, budget, alignment, weights)
    if plan is None:
        raise does_not_fit([index], budget, alignment, weights)
    return plan


def does_not_fit(
    indices: Sequence[ProgramIndex], budget: Budget, alignment: int, weights: WeightOptions
) -> BudgetError:
    """The error that says the smallest budget in which any of the programs works: a network in several orders, or in
    other operators. None of them fits `budget`."""

    def candidate(index: ProgramIndex) -> Candidate:
        def find(fast: int, slow: int) -> Arrangement | None:
            return find_arrangement(index, Budget(fast, slow), alignment, weights, hasty=True)

        return Candidate(find, functools.partial(_least, index, alignment))

    most = max(map(ample, indices))
    return BudgetError(refusal(indices[0].program.name, budget, alignment, most, [*map(candidate, indices)]))


def find_arrangement(
    index: ProgramIndex, budget: Budget, alignment: int, weights: WeightOptions, most: float = math.inf,
    tried: list[Attempt] | None = None, hasty: bool = False, spills: bool = False,
) -> Arrangement | None:  # fmt: skip
    """The cheapest arrangement found within `budget`, with slow memory or without, that costs less than `most` beyond
    running whole.

    hasty: the first that fits is returned, and it may use slow memory
    spills: the plan is expected to need slow memory
    """
    limit = ample(index, weights) if budget.fast is None else budget.fast
    stages, whole = index.cache(_Stages).of(index, alignment), whole_cost(index)
    noted = [] if tried is None else tried
    best: Arrangement | None = None
    for slow in (0, budget.slow) if budget.slow and not hasty and not spills else (budget.slow,):
        if best is not None and all(draft.bands == 1 for draft in best.drafts):
            break
        arranger = Arranger(stages, limit, slow, most, whole, noted, hasty)
        frontier = _frontier(index, stages, limit, slow, 0.0 if hasty else most)
        arranger.run(_by_level(frontier) if hasty else _by_cost(frontier))
        seeks = np.isfinite(frontier.curve).any() and (hasty or most == math.inf)
        if arranger.best is None and seeks and not hasty:
            arranger = Arranger(stages, limit, slow, most, whole, noted, splits=True)
            arranger.run(_by_cost(frontier))
        if arranger.best is None and seeks:
            arranger = Arranger(stages, limit, slow, most, whole, noted, hasty=True)
            few = _frontier(index, stages, limit, slow, 0.0, FEW_VIEWS)
            arranger.run(itertools.chain(() if hasty else _by_level(frontier), _by_level(few)))
        best, most = arranger.settled() or best, arranger.cost
    return None if best is None else _with_weights(stages, best, limit, weights)


def _with_weights(stages: Stages, found: Arrangement, limit: int, weights: WeightOptions) -> Arrangement:
    """Adds weight blocks if the options want them. Stages that run whole are cut if more blocks fit then."""
    if weights.mode is WeightMode.IN_PLACE:
        return found
    index, packed = stages.index, weights.mode is WeightMode.LZ4
    segments = [draft.segment for draft in found.drafts]
    pieces = split_for_blocks(index, segments, limit - found.state_bytes)
    if pieces != segments:
        finer = rearranged(stages, found, pieces, limit)
        found = found if finer is None else finer
    return add_blocks(index, found, limit, stages.alignment, packed)


def _least(index: ProgramIndex, alignment: int, slow: int) -> int:
    """The lowest level of memory in which live bytes tell of a schedule."""
    found = find_frontier(index.body, slow, alignment, levels(1, ample(index), steps=COARSE), {})
    return int(found.levels[int(np.argmax(np.isfinite(found.curve)))])


class _Stages(dict[int, Stages]):
    """By alignment."""

    def of(self, index: ProgramIndex, alignment: int) -> Stages:
        if alignment not in self:
            self[alignment] = Stages(index, alignment)
        return self[alignment]


def whole_cost(index: ProgramIndex) -> float:
    """The cost of all operators but COMMITs if each runs whole."""
    return sum(op_costs(index).whole[: len(index.body.ops)])


def _frontier(
    index: ProgramIndex, stages: Stages, limit: int, slow: int, most: float, views: int | None = None
) -> Frontier:
    """The frontier at levels around a limit, with estimates of the cheapest schedule at the limit corrected by drafts,
    of a small program and where that costs less than `most`."""
    top = ample(index)
    low, high = (top, top) if limit >= top else (int(LOWEST * limit), int(HIGHEST * limit))
    grid = levels(low, min(top, high), min(limit, top))
    corrections: dict[tuple[Segment, int], dict[int, float]] = {}
    for _ in range(ROUNDS):
        frontier = find_frontier(index.body, slow, stages.alignment, grid, corrections, views)
        place = int(np.searchsorted(grid, limit, "right")) - 1
        if len(index.ops) > CORRECTED or place < 0 or not frontier.curve[place] < most:
            break
        if not _correct(index, stages, frontier.point(place), corrections):
            break
    return frontier


def _by_cost(frontier: Frontier) -> Iterator[Point]:
    """The points of a frontier by rising cost, each at the lowest of its levels."""
    return _points(frontier, np.argsort(frontier.curve, kind="stable"))


def _by_level(frontier: Frontier) -> Iterator[Point]:
    """The same points by rising memory."""
    return _points(frontier, np.arange(len(frontier.curve)))


def _points(frontier: Frontier, places: np.ndarray) -> Iterator[Point]:
    curve = frontier.curve
    for place in places.tolist():
        if np.isfinite(curve[place]) and (place == 0 or curve[place] != curve[place - 1]):
            yield frontier.point(place)


def _correct(
    index: ProgramIndex, stages: Stages, point: Point, corrections: dict[tuple[Segment, int], dict[int, float]]
) -> bool:
    """Notes how much more drafts cost than estimated. Returns whether the difference matters."""
    whole, wrong = op_costs(index).whole, 0.0
    for one in point.stretches:
        if one.rows is None:
            continue
        homes = {name: point.homes.get(name, Home.FAST) for name in index.lives}
        found = stages.option(one.segment, Height(one.rows, one.grows), homes, Kind.WHOLE)
        assert found is not None
        known = corrections.setdefault((one.segment, one.slow), {})
        more = found.cost - sum(whole[one.segment.first : one.segment.end]) - one.cost
        if abs(more) > CLOSE * sum(whole) and one.rows not in known:
            known[one.rows] = more
            wrong += abs(more)
    return wrong > CLOSE * sum(whole)

"""The search in one order of the operators: from a program and a budget to an execution plan.

The frontier has the cheapest schedule at every level of memory. Schedules that may fit are arranged in the order of
their cost, until none is left that is cheaper than the best plan.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from tigris_pio.compiler.ir.plan import Budget, ExecutionPlan
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.plan.arrange import Arranger, Stages, rearranged
from tigris_pio.compiler.plan.attempt import Attempt
from tigris_pio.compiler.plan.cost import beyond_whole, stage_cost, whole_cost
from tigris_pio.compiler.plan.finish import finish
from tigris_pio.compiler.plan.frontier.levels import ample
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.placement import Arrangement
from tigris_pio.compiler.plan.points import by_cost, by_falling_level, frontier_corrected
from tigris_pio.compiler.plan.refusal import refusal
from tigris_pio.compiler.plan.settings import WeightOptions
from tigris_pio.compiler.plan.smallest import smallest
from tigris_pio.compiler.plan.weight_blocks import add_blocks, split_for_blocks
from tigris_pio.errors import BudgetError
from tigris_pio.format.enums import WeightMode


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

    every = [functools.partial(smallest, Stages.of(index, alignment)) for index in indices]
    return BudgetError(refusal(indices[0].program.name, budget, alignment, every))


def find_arrangement(
    index: ProgramIndex, budget: Budget, alignment: int, weights: WeightOptions, most: float = math.inf,
    tried: list[Attempt] | None = None, spills: bool = False,
) -> Arrangement | None:  # fmt: skip
    """The cheapest arrangement found within `budget`, with slow memory or without, that costs less than `most` beyond
    running whole.

    spills: the plan is expected to need slow memory
    """
    limit = ample(index, weights) if budget.fast is None else budget.fast
    stages, noted = Stages.of(index, alignment), [] if tried is None else tried
    best: Arrangement | None = None
    for slow in (0, budget.slow) if budget.slow and not spills else (budget.slow,):
        if most <= 0 or (best is not None and all(draft.bands == 1 for draft in best.drafts)):
            break
        found = _cheapest(stages, limit, slow, most, noted)
        if found is not None:
            best, most = found, beyond_whole(index, ((draft, stage_cost(index, draft)) for draft in found.drafts))
    return None if best is None else _with_weights(stages, best, limit, weights)


def _cheapest(stages: Stages, limit: int, slow: int, most: float, noted: list[Attempt]) -> Arrangement | None:
    """The same with this slow memory."""
    whole, frontier = whole_cost(stages.index), frontier_corrected(stages, limit, slow, most)
    for hasty in (False, True):
        arranger = Arranger(stages, limit, slow, most, whole, noted, hasty=hasty)
        arranger.run(by_falling_level(frontier, limit) if hasty else by_cost(frontier))
        if arranger.best is not None:
            return arranger.settled()
    if most < math.inf or not np.isfinite(frontier.curve).any():
        return None
    found = smallest(stages, slow, limit)
    return None if found is None or found.fast_bytes > limit else found


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

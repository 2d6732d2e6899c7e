"""Stages 3 to 6 put together: from a program and a budget to an execution plan.

Each attempt cuts the program and arranges it. What fits in theory may miss by fragmentation; then
the next attempt aims lower, until one fits the budget.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from tigris_pio.compiler.ir.plan import Budget, ExecutionPlan
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.plan.aim import Aim, WeightOptions
from tigris_pio.compiler.plan.cost import plan_cost
from tigris_pio.compiler.plan.cut.temporal import cut_resident, cut_spilling
from tigris_pio.compiler.plan.finish import finish
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.placement import Arrangement, arrange
from tigris_pio.compiler.plan.refusal import Find, refusal
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.compiler.plan.weight_blocks import add_blocks, split_for_blocks
from tigris_pio.compiler.weights.block import block_bytes
from tigris_pio.errors import BudgetError
from tigris_pio.format.enums import Home, WeightMode

#: Shares of the budget that successive attempts aim for.
AIMS = (1.0, 0.98, 0.95, 0.92, 0.88, 0.83, 0.77, 0.7, 0.6, 0.5)
#: Operators a stage run whole may have, so that the run-time state stays near 1 KB; and once even that does not fit.
OPS_PER_STAGE, OPS_PER_SMALL_STAGE = 64, 16
#: Larger programs skip aims that leave no room for the run-time state.
EXHAUSTIVE = 300


def plan_program(program: Program, budget: Budget, alignment: int, weights: WeightOptions) -> ExecutionPlan:
    """The best plan found within `budget`; BudgetError, with the smallest that works, when there is none."""
    plan = find_plan(program, budget, alignment, weights)
    if plan is None:
        raise does_not_fit([program], budget, alignment, weights)
    return plan


def does_not_fit(programs: Sequence[Program], budget: Budget, alignment: int, weights: WeightOptions) -> BudgetError:
    """The error that says the smallest budget in which any of `programs` works: a network in several orders, or in
    other operators. None of them fits `budget`."""
    indices = [ProgramIndex.of(program) for program in programs]

    def finder(index: ProgramIndex) -> Find:
        return lambda fast, slow: find_arrangement(index, Budget(fast, slow), alignment, weights)

    ample = max(map(_ample_fast, indices))
    return BudgetError(refusal(programs[0].name, budget, alignment, ample, [finder(index) for index in indices]))


def find_plan(
    program: Program, budget: Budget, alignment: int, weights: WeightOptions, index: ProgramIndex | None = None
) -> ExecutionPlan | None:
    """The best plan found within `budget`, or None. `index`: of `program`, kept from plan to plan it saves time."""
    index = index or ProgramIndex.of(program)
    found = find_arrangement(index, budget, alignment, weights)
    return None if found is None else finish(index, budget, alignment, weights, found)


def find_arrangement(
    index: ProgramIndex, budget: Budget, alignment: int, weights: WeightOptions
) -> Arrangement | None:
    """An arrangement within `budget`, without slow memory if possible; None when none was found.

    Outputs that may grow over inputs allow other cuts, with more or fewer calls: the cheaper one is returned.
    """
    aim = Aim.of(budget, _ample_fast(index), alignment, weights)
    found = _find(index, aim)
    if found is None or any(draft.bands > 1 for draft in found.drafts):
        both = (_find(index, dataclasses.replace(aim, overlay=False)), found)
        kept = [arrangement for arrangement in both if arrangement is not None]
        found = min(kept, key=lambda arrangement: plan_cost(index, arrangement.drafts), default=None)
    if found is None and budget.slow:
        return _find(index, dataclasses.replace(aim, home=Home.SLOW, overlay=False))
    return found


def _find(index: ProgramIndex, aim: Aim) -> Arrangement | None:
    for arrangement, segments, tried in _attempts(index, aim):
        if arrangement.fast_bytes > aim.limit or arrangement.slow.peak > aim.slow:
            continue
        if aim.weights.mode is WeightMode.IN_PLACE:
            return arrangement
        if aim.home is Home.FAST:
            pieces = split_for_blocks(index, segments, aim.limit - arrangement.state_bytes)
            finer = _smallest_state(index, pieces, tried)
            if finer.fast_bytes <= aim.limit:
                return add_blocks(index, finer, aim)
        return add_blocks(index, arrangement, aim)
    return None


def _ample_fast(index: ProgramIndex) -> int:
    """Fast memory that never limits a plan: everything whole, and all weights beside it."""
    return 4 * int(index.live.max(initial=0)) + block_bytes(index.ops) + 64 * len(index.ops) + (1 << 16)


def _attempts(index: ProgramIndex, aim: Aim) -> Iterator[tuple[Arrangement, list[Segment], Aim]]:
    """Arrangements, each with what was cut and the aim it was cut for; kept rows before recomputed ones."""
    tried: set[tuple[Segment, ...]] = set()
    rooms = [int(aim.limit * share) for share in AIMS]
    while rooms:
        room, state = rooms.pop(0), 0
        for recompute in (False, True):
            if aim.home is Home.FAST:
                segments = cut_resident(index.body, room, recompute, aim.overlay)
            else:
                segments = cut_spilling(index.body, room, recompute)
            if segments is None:
                continue
            segments += [Segment(step, step + 1, direct=True) for step in range(len(index.body.ops), len(index.ops))]
            banded = any(segment.banded for segment in segments)
            if banded or tuple(segments) not in tried:
                tried.add(tuple(segments))
                arrangement = _smallest_state(index, segments, aim.at(room))
                state = max(state, arrangement.state_bytes)
                yield arrangement, segments, aim.at(room)
            if not banded:
                break
        known = aim.limit - state  # the run-time state needs room too, which is known only now
        if room > known > 0:
            large = len(index.ops) > EXHAUSTIVE
            rooms = sorted({known, *(r for r in rooms if r < known or not large)}, reverse=True)


def _smallest_state(index: ProgramIndex, segments: list[Segment], aim: Aim) -> Arrangement:
    """`segments` arranged; shorter ones when that is beyond the limit and their run-time state is smaller."""
    longer, shorter = _shorter(segments, OPS_PER_STAGE), _shorter(segments, OPS_PER_SMALL_STAGE)
    arrangement = arrange(index, longer, aim)
    if arrangement.fast_bytes > aim.limit and longer != shorter:
        arrangement = arrange(index, shorter, aim)
    return arrangement


def _shorter(segments: list[Segment], most: int) -> list[Segment]:
    """Segments run whole, in pieces of at most `most` operators."""
    pieces: list[Segment] = []
    for segment in segments:
        if segment.banded or segment.direct:
            pieces.append(segment)
        else:
            starts = range(segment.first, segment.end, most)
            pieces += [Segment(first, min(first + most, segment.end)) for first in starts]
    return pieces

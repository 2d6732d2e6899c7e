"""What a plan costs: the one function by which the search compares candidates, once their heights are known.

A cost is additive over stages. That of a stage is what starting it takes, what its kernel calls take, the work it does
again and the bytes it moves to and from slow memory.
"""

from __future__ import annotations

from collections.abc import Iterable

from tigris_pio.compiler.ir.plan import ExecutionPlan
from tigris_pio.compiler.plan.band.spatial import Draft
from tigris_pio.compiler.plan.index import ProgramIndex

#: In units of one byte moved to or from slow memory: starting a stage, calling a kernel once more, a
#: multiply-accumulate done again, and a byte that a kernel reads or writes in slow memory itself.
STAGE_COST, CALL_COST, MAC_COST, DIRECT_COST = 64.0, 2.0, 0.5, 8.0


def plan_cost(index: ProgramIndex, drafts: Iterable[Draft]) -> float:
    """What a plan of these stages costs."""
    return sum(stage_cost(index, draft) for draft in drafts)


def cost_of(plan: ExecutionPlan) -> float:
    """What a finished plan costs; of stages that work in slow memory only the bytes they move."""
    return sum(
        setup_cost()
        + calls_cost(stage.bands * plan.program.ops[stage.first_op].images, stage.end_op - stage.first_op)
        + MAC_COST * stage.recomputed_macs
        + stage.slow_read
        + stage.slow_written
        for stage in plan.stages
    )


def stage_cost(index: ProgramIndex, draft: Draft) -> float:
    """What one drafted stage costs."""
    ops = draft.segment.end - draft.segment.first
    calls = draft.bands * index.ops[draft.segment.first].images
    moved = draft.slow_read + draft.slow_written
    per_byte = DIRECT_COST if draft.segment.direct else 1.0
    return setup_cost() + calls_cost(calls, ops) + MAC_COST * draft.recomputed_macs + per_byte * moved


def setup_cost() -> float:
    """What starting a stage takes."""
    return STAGE_COST


def calls_cost(bands: int, ops: int) -> float:
    """What the kernel calls of `ops` operators in `bands` bands take."""
    return CALL_COST * bands * ops

"""The cost of a plan: one number, by which the search compares candidates after the heights of their bands are known.

The unit is an instruction, as predicted for the processor that the index names (`compiler/cost`, measured by `python -m
bench.calibrate`). A cost is additive over stages. A stage costs the calls of its kernels and the executor's work around
them, rows made again and rows moved included. Each byte moved to or from slow memory costs more, and so does each line
of code and weights that a band fetches from flash again (`compiler/cost/flash.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from tigris_pio.compiler.cost.flash import FLASHES, needed_bytes
from tigris_pio.compiler.cost.model import DEFAULT
from tigris_pio.compiler.ir.plan import ExecutionPlan
from tigris_pio.compiler.plan.band.calls import stage_calls, works_in_slow_memory
from tigris_pio.compiler.plan.band.spatial import Draft
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.prediction import predict_stage

#: Instructions that a byte moved to or from slow memory counts for, beside those that copy it. Waiting alone takes 6
#: (octal PSRAM at 80 MHz) to 30 (quad at 40 MHz, 240 MHz core) cycles; but an access beyond the chip also takes the
#: energy of some fifty 32-bit multiplications a byte (M. Horowitz, "Computing's energy problem", ISSCC 2014, figure
#: 1.1.9), so a little work is rather done again than a byte moved. And those for a byte that a kernel works on in slow
#: memory itself, where it reads a row as often as its window is tall.
SLOW_BYTE, DIRECT_BYTE = 160.0, 1280.0


#: Rows by which a call's cost is told apart from that of its rows: kernels make up to so many pixels at a time, and
#: what remains takes more each, which is no part of either.
PIXELS = (4, 2)


class OpCosts(NamedTuple):
    """Instructions that each operator takes, for all its images together."""

    call: tuple[float, ...]  #: for one call more of its kernel
    row: tuple[float, ...]  #: for one row more
    whole: tuple[float, ...]  #: to be made whole, image by image


def op_costs(index: ProgramIndex) -> OpCosts:
    """The costs of a program's operators, on the index's processor."""
    return index.once(_op_costs)


def _op_costs(index: ProgramIndex) -> OpCosts:
    found = [_op_cost(index, step) for step in range(len(index.ops))]
    return OpCosts(*(tuple(column) for column in zip(*found, strict=True))) if found else OpCosts((), (), ())


def _op_cost(index: ProgramIndex, step: int) -> tuple[float, float, float]:
    op, height = index.ops[step], index.tensor(index.ops[step].output).height
    walked = {"call": 1, "band operand": len(op.operands)}
    around = index.model.executor(walked)
    few = next((rows for rows in PIXELS if 2 * rows <= height), 1)
    most, whole = height - height % few, call_cost(index, step, height)
    row = (call_cost(index, step, most) - call_cost(index, step, few)) / (most - few) if most > few else whole / height
    once = max(0.0, min(call_cost(index, step, rows) - row * rows for rows in range(1, few + 1))) + around
    return once * op.images, row * op.images, (whole + around) * op.images


def call_cost(index: ProgramIndex, step: int, rows: int) -> float:
    """Instructions of one call of an operator's kernel that makes `rows` rows of one image."""
    return index.once(_call_cost, step, rows)


def _call_cost(index: ProgramIndex, step: int, rows: int) -> float:
    return index.model.call(index.ops[step], index.program.tensors, rows)


def whole_cost(index: ProgramIndex) -> float:
    """The cost of all operators but COMMITs if each runs whole."""
    return index.once(_whole_cost)


def _whole_cost(index: ProgramIndex) -> float:
    return sum(op_costs(index).whole[: len(index.body.ops)])


def beyond_whole(index: ProgramIndex, stages: Iterable[tuple[Draft, float]]) -> float:
    """Instructions beyond running whole, of all operators but COMMITs; `stages`: drafts with their costs."""
    end = len(index.body.ops)
    return sum(cost for draft, cost in stages if draft.segment.end <= end) - whole_cost(index)


def plan_cost(index: ProgramIndex, drafts: Iterable[Draft]) -> float:
    """The cost of a plan of these stages."""
    return sum(stage_cost(index, draft) for draft in drafts)


def stage_cost(index: ProgramIndex, draft: Draft) -> float:
    """The cost of one drafted stage whose weights are read in place."""
    first, end = draft.segment.first, draft.segment.end
    moved = draft.slow_read + draft.slow_written
    ops = index.ops[first:end]
    found = stage_calls(ops, index.program.tensors, draft.views, draft.rows, 0 if draft.segment.direct else moved)
    cost = index.model.executor(found.walked)
    for step, counts in enumerate(found.calls, first):
        cost += index.ops[step].images * sum(count * call_cost(index, step, rows) for rows, count in counts.items())
    if flash := FLASHES.get(index.processor):
        called = [op.images * sum(calls.values()) for op, calls in zip(ops, found.calls, strict=True)]
        cost += flash.price * flash.again(ops, called, draft.bands * ops[0].images)
    return cost + (DIRECT_BYTE if draft.segment.direct else SLOW_BYTE) * moved


def again_costs(index: ProgramIndex, first: int) -> list[float]:
    """For segments from operator `first` on, by their number of operators less one: instructions that fetching lines
    again counts for in each band but the first. Operators of one row are called once."""
    return index.once(_again_costs, first)


def _again_costs(index: ProgramIndex, first: int) -> list[float]:
    flash = FLASHES.get(index.processor)
    if flash is None:
        return [0.0] * (len(index.ops) - first)
    total = index.once(_needed_before)
    needed = total[first + 1 :] - total[first]
    costs: list[float] = (flash.price * flash.share(needed) * needed / flash.line).tolist()
    return costs


def _needed_before(index: ProgramIndex) -> np.ndarray:
    """Bytes of code and weights of the operators before each cut."""
    sizes = [needed_bytes(op) if index.tensor(op.output).height > 1 else 0 for op in index.ops]
    return np.cumsum([0, *sizes])


def cost_of(plan: ExecutionPlan) -> float:
    """The cost of a finished plan, on the processor it was made for."""
    processor, cost = plan.processor or DEFAULT, 0.0
    for stage in plan.stages:
        predicted = predict_stage(plan, stage, (processor,))
        byte = DIRECT_BYTE if works_in_slow_memory(plan, stage) else SLOW_BYTE
        cost += predicted.instructions[processor] + byte * (stage.slow_read + stage.slow_written)
        if flash := FLASHES.get(processor):
            cost += flash.price * predicted.again[processor]
    return cost

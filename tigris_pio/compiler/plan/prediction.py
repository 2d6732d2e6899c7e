"""Predicts instructions and cycles of a finished plan: its kernels' calls, band by band, and the executor's way."""

from __future__ import annotations

from collections.abc import Sequence

from tigris_pio.compiler.cost.flash import FLASHES, PACE, PACES, Flash, needed_bytes
from tigris_pio.compiler.cost.model import DEFAULT, PROCESSORS, CostModel
from tigris_pio.compiler.ir.plan import ExecutionPlan, Stage
from tigris_pio.compiler.plan.band.calls import plan_stage_calls
from tigris_pio.format.enums import WeightMode


def stage_instructions(plan: ExecutionPlan, stage: Stage, processors: Sequence[str] = PROCESSORS) -> dict[str, int]:
    """Predicted for a stage of `plan` on each of `processors`, its kernels' calls and the executor around them.

    Kernels of a library count as such on processors where the library was counted, as the portable ones do on others.
    Float32 without a floating-point unit takes fewer instructions
    for zeros than for other numbers; it counts as of average ones.
    """
    found, tensors = plan_stage_calls(plan, stage), plan.program.tensors
    calls = list(zip(plan.program.ops[stage.first_op : stage.end_op], found.calls, strict=True))
    taken = {}
    for processor in processors:
        model = CostModel.of(processor)
        work = sum(op.images * model.calls(op, tensors, counts) for op, counts in calls)
        taken[processor] = round(model.executor(found.walked) + work)
    return taken


def stage_cycles(plan: ExecutionPlan, stage: Stage, processors: Sequence[str]) -> dict[str, int]:
    """Predicted cycles of a stage on those of `processors` whose chips have a cache before their flash."""
    ops, tensors = plan.program.ops[stage.first_op : stage.end_op], plan.program.tensors
    found, instructions = plan_stage_calls(plan, stage), stage_instructions(plan, stage, processors)
    taken = {}
    for name in (one for one in FLASHES if one in processors):
        flash, model = FLASHES[name], CostModel.of(name)
        cycles = PACE * instructions[name]
        for op, counts in zip(ops, found.calls, strict=True):
            cycles += (PACES.get(op.kind, PACE) - PACE) * op.images * model.calls(op, tensors, counts)
        once = sum(needed_bytes(op, weights=_in_place(stage)) for op in ops) / flash.line
        taken[name] = round(cycles + flash.miss * (once + lines_again(plan, stage, flash)))
    return taken


def lines_again(plan: ExecutionPlan, stage: Stage, flash: Flash) -> float:
    """The lines of code and weights that a stage fetches again."""
    ops, found = plan.program.ops[stage.first_op : stage.end_op], plan_stage_calls(plan, stage)
    counts = [op.images * sum(calls.values()) for op, calls in zip(ops, found.calls, strict=True)]
    return flash.again(ops, counts, stage.bands * ops[0].images, weights=_in_place(stage))


def _in_place(stage: Stage) -> bool:
    return stage.weight_mode is WeightMode.IN_PLACE


def predicted_instructions(plan: ExecutionPlan, processor: str = DEFAULT) -> int:
    """The predicted instructions of a run of `plan` on one processor."""
    return sum(stage_instructions(plan, stage, (processor,))[processor] for stage in plan.stages)

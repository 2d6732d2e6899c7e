"""Predicts instructions and cycles of a finished plan: its kernels' calls, band by band, and the executor's way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tigris_pio.compiler.cost.flash import FLASHES, PACE, PACES, needed_bytes
from tigris_pio.compiler.cost.model import DEFAULT, PROCESSORS, CostModel
from tigris_pio.compiler.ir.plan import ExecutionPlan, Stage
from tigris_pio.compiler.plan.band.calls import plan_stage_calls
from tigris_pio.format.enums import WeightMode


class Prediction(NamedTuple):
    """Predicted for a stage, by processor.

    instructions: of its kernels' calls and the executor around them
    cycles, again: where a cache is before the flash, and the lines of code and weights that are fetched again
    """

    instructions: dict[str, int]
    cycles: dict[str, int]
    again: dict[str, float]


def predict_stage(plan: ExecutionPlan, stage: Stage, processors: Sequence[str] = PROCESSORS) -> Prediction:
    """Predicts a stage of `plan` on each of `processors`.

    Kernels of a library count as such on processors where the library was counted, as the portable ones do on others.
    Float32 without a floating-point unit takes fewer instructions for zeros than for other numbers; it counts as of
    average ones.
    """
    ops, tensors = plan.program.ops[stage.first_op : stage.end_op], plan.program.tensors
    found = plan_stage_calls(plan, stage)
    weights = stage.weight_mode is WeightMode.IN_PLACE
    called = [op.images * sum(counts.values()) for op, counts in zip(ops, found.calls, strict=True)]
    made = Prediction({}, {}, {})
    for name in processors:
        model = CostModel.of(name)
        works = [op.images * model.calls(op, tensors, counts) for op, counts in zip(ops, found.calls, strict=True)]
        instructions = made.instructions[name] = round(model.executor(found.walked) + sum(works))
        if flash := FLASHES.get(name):
            again = made.again[name] = flash.again(ops, called, stage.bands * ops[0].images, weights=weights)
            if weights:
                again = made.again[name] = again + sum(map(flash.in_steps, ops, called))
            lines = again + sum(map(needed_bytes, ops)) / flash.line  # a copy reads its weights from flash, too
            slower = sum((PACES.get(op.kind, PACE) - PACE) * work for op, work in zip(ops, works, strict=True))
            made.cycles[name] = round(PACE * instructions + slower + flash.miss * lines)
    return made


def predicted_instructions(plan: ExecutionPlan, processor: str = DEFAULT) -> int:
    """The predicted instructions of a run of `plan` on one processor."""
    return sum(predict_stage(plan, stage, (processor,)).instructions[processor] for stage in plan.stages)

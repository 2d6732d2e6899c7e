"""How many instructions a run of a finished plan takes: its kernels' calls, band by band, and the executor's way."""

from __future__ import annotations

from collections.abc import Sequence

from tigris_pio.compiler.cost.model import DEFAULT, PROCESSORS, CostModel
from tigris_pio.compiler.ir.plan import ExecutionPlan, Stage
from tigris_pio.compiler.plan.band.calls import plan_stage_calls


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


def predicted_instructions(plan: ExecutionPlan, processor: str = DEFAULT) -> int:
    """The predicted instructions of a run of `plan` on one processor."""
    return sum(stage_instructions(plan, stage, (processor,))[processor] for stage in plan.stages)

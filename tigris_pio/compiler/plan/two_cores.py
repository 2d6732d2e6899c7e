"""Chooses operators for two cores: each makes half of the rows of a call, as in `runtime/src/parallel.c`.

A marked operator may be split, but need not be. The runtime looks at each call. If the halves would touch each other's
memory, as in some bands of an output that grows over its input, one core makes all rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tigris_pio.compiler.cost.model import DEFAULT, PROCESSORS, CostModel
from tigris_pio.compiler.ir.plan import ExecutionPlan, Stage
from tigris_pio.compiler.ir.program import ProgramOp, ProgramTensor
from tigris_pio.compiler.plan.band.calls import plan_stage_calls
from tigris_pio.compiler.plan.prediction import predicted_instructions
from tigris_pio.format.kinds import PLAIN_KINDS, TRAITS

#: Operands of an operator that is split, at most.
MOST_OPERANDS = 3
#: Instructions of a call that is worth it. To wake the other core and to wait for it takes FreeRTOS some microseconds,
#: at 240 MHz one to two thousand instructions; half of the call must be well beyond that.
LEAST_INSTRUCTIONS = 10_000


def split_steps(plan: ExecutionPlan, least: float = LEAST_INSTRUCTIONS) -> frozenset[int]:
    """The operators of `plan` to mark, by their places: those that can be split and whose calls take at least so many
    instructions on an average."""
    found = set()
    for stage in plan.stages:
        for step, calls in _calls(plan, stage):
            op = plan.program.ops[step]
            tall = {rows: count for rows, count in calls.items() if rows > 1}
            if tall and may_split(op, plan.program.tensors):
                taken = _taken(op, plan, calls, plan.processor or DEFAULT)
                if taken >= least * sum(calls.values()):
                    found.add(step)
    return frozenset(found)


def may_split(op: ProgramOp, tensors: Mapping[str, ProgramTensor]) -> bool:
    """Whether the runtime can split calls of an operator that make several rows."""
    touched = [tensors[name] for name in (op.output, *(operand.tensor for operand in op.operands))]
    whole = op.images == 1 and any(tensor.batch > 1 for tensor in touched)
    bound = any(tensor.folded or tensor.sequential for tensor in touched)
    # The scratch of a library is one for all its kernels. With a library only portable kernels are split.
    library = op.backend != "" and op.kind in PLAIN_KINDS.values()
    return TRAITS[op.kind].split and len(op.operands) <= MOST_OPERANDS and not (whole or bound or library)


def longer_instructions(plan: ExecutionPlan, processor: str) -> int:
    """The predicted instructions of the core that works longer in each call: everything but the smaller halves."""
    saved = 0.0
    for stage in plan.stages:
        for step, calls in _calls(plan, stage):
            if step in (plan.split or ()):
                op = plan.program.ops[step]
                halves = _halves(calls)
                saved += _taken(op, plan, calls, processor) - _taken(op, plan, halves, processor)
    return round(predicted_instructions(plan, processor) - saved)


def cores_report(plan: ExecutionPlan) -> dict[str, object]:
    """split: the operators that two cores share, by name. predicted_instructions: of the longer core, by processor."""
    names = [op.name for step, op in enumerate(plan.program.ops) if step in (plan.split or ())]
    return {
        "number": 1 if plan.split is None else 2,
        "split": names,
        "predicted_instructions": {processor: longer_instructions(plan, processor) for processor in PROCESSORS},
    }


def _calls(plan: ExecutionPlan, stage: Stage) -> Sequence[tuple[int, Mapping[int, int]]]:
    return list(zip(range(stage.first_op, stage.end_op), plan_stage_calls(plan, stage).calls, strict=True))


def _taken(op: ProgramOp, plan: ExecutionPlan, calls: Mapping[int, int], processor: str) -> float:
    """Instructions of one image's calls, each of so many rows so often."""
    return CostModel.of(processor).calls(op, plan.program.tensors, calls)


def _halves(calls: Mapping[int, int]) -> dict[int, int]:
    halves: dict[int, int] = {}
    for rows, count in calls.items():
        halves[rows - rows // 2] = halves.get(rows - rows // 2, 0) + count
    return halves

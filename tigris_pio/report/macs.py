"""Counts multiply-accumulates (MACs) of each operator from a plan's records."""

from tigris_pio.format.enums import OpKind
from tigris_pio.format.kinds import TRAITS
from tigris_pio.format.reader import PlanFile


def operator_macs(plan: PlanFile) -> tuple[int, ...] | None:
    """MACs of every operator, in execution order; None if their sum is not the one in the plan's header."""
    found = [0] * len(plan.ops)
    for stage in plan.stages:
        views = plan.views[stage.first_view : stage.first_view + stage.view_count]
        for index in range(stage.first_op, stage.first_op + stage.op_count):
            op = plan.ops[index]
            if not op.operand_count:
                continue
            source = plan.tensors[views[plan.operands[op.first_operand].view].tensor]
            output = plan.tensors[views[op.output_view].tensor]
            found[index] = TRAITS[OpKind(op.kind)].work.macs(plan.params(op), op.images, source, output)
    low, high = plan.header.macs
    return tuple(found) if sum(found) == low | high << 32 else None

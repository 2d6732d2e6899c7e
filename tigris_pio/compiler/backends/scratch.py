"""Scratch of a library's kernels in bytes, for an operator in bands and for a plan."""

from __future__ import annotations

from collections.abc import Mapping

from tigris_pio.compiler.backends.backend import Backend
from tigris_pio.compiler.backends.shape import SHAPED_KINDS, PlainShape, shape_of
from tigris_pio.compiler.ir.plan import ExecutionPlan, Stage
from tigris_pio.compiler.ir.program import Program, ProgramOp
from tigris_pio.sizes import round_up


def scratch_of(program: Program, op: ProgramOp, backend: Backend, chip: str, height: int | None) -> int:
    """Scratch of an operator that the backend runs, in bands of `height` output rows; None for the whole output."""
    if op.kind not in SHAPED_KINDS:
        return 0
    source, result = program.tensors[op.operands[0].tensor], program.tensors[op.output]
    if height is None or height >= result.height:
        return backend.scratch(shape_of(program, op), chip)
    rows = min(source.height, op.operands[0].rows.rows_read(height))
    return backend.scratch(shape_of(program, op, rows, height, banded=True), chip)


def plan_scratch(plan: ExecutionPlan, backend: Backend, chip: str) -> Mapping[str, int]:
    """Scratch of each operator of a plan that the backend runs, by name."""
    return {name: size for stage in plan.stages for name, size in _stage_scratch(plan, stage, backend, chip).items()}


def scratch_bytes(plan: ExecutionPlan, backend: Backend, chip: str) -> int:
    """The largest scratch of an operator above the arena, a multiple of the alignment; 0 if scratch is planned."""
    if backend.has_planned_scratch:
        return 0
    return round_up(max(plan_scratch(plan, backend, chip).values(), default=0), plan.alignment)


def shape_in_stage(plan: ExecutionPlan, stage: Stage, op: ProgramOp) -> PlainShape:
    """The shape of an operator in the tallest band that the stage's views hold."""
    rows = {view.tensor: view.capacity_rows for view in stage.views}
    return shape_of(plan.program, op, rows[op.operands[0].tensor], rows[op.output], banded=stage.bands > 1)


def _stage_scratch(plan: ExecutionPlan, stage: Stage, backend: Backend, chip: str) -> Mapping[str, int]:
    return {
        op.name: backend.scratch(shape_in_stage(plan, stage, op), chip)
        for op in plan.program.ops[stage.first_op : stage.end_op]
        if op.backend and op.kind in SHAPED_KINDS
    }

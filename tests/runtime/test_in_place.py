"""Kernels whose output is written over an operand, and copies of what is there already: same bytes as elsewhere."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from tests.runtime.kernel_harness import DTYPES, Operator, Way, operator, plan_for, run, run_plan
from tests.runtime.operators import operators
from tests.runtime.plan_builder import PlanBuilder
from tigris_pio.compiler.ir.program import Operand, ProgramOp, ProgramTensor, RowMap
from tigris_pio.compiler.lower.in_place import IN_PLACE, aliases, in_place
from tigris_pio.compiler.lower.selection import select_params
from tigris_pio.format.enums import DType, OpKind


def lowered(op: Operator) -> tuple[ProgramOp, dict[str, ProgramTensor]]:
    """The operator as the compiler knows it."""
    tensors = {"out": ProgramTensor("out", *op.output_shape, op.output_dtype)}
    for i, array in enumerate(op.inputs):
        tensors[f"in{i}"] = ProgramTensor(f"in{i}", *array.shape, DTYPES[array.dtype])
    operands = tuple(Operand(f"in{i}", rows) for i, rows in enumerate(op.rows))
    return ProgramOp("op", op.kind, op.dtype, operands, "out", op.params, images=op.images), tensors


def run_at(op: Operator, offsets: dict[int, int]) -> np.ndarray:
    """The operator's output where operand i lies offsets[i] bytes behind the output's start, or before it."""

    def move(plan: PlanBuilder) -> None:
        output = plan.tensors[-1]
        for place, offset in offsets.items():
            at = plan.tensors[place].home_offset
            if offset > 0 or len(offsets) > 1:  # a part lies in the output
                plan.tensors[place] = dataclasses.replace(plan.tensors[place], home_offset=output.home_offset + offset)
            else:
                plan.tensors[-1] = dataclasses.replace(output, home_offset=at - offset)

    return run_plan(op, plan_for(op, Way(op.output_shape[1]), move))


def rows_4_and_5() -> Operator:
    """A SELECT of whole rows."""
    params, blobs = select_params((np.array([4, 5]), np.arange(4), np.arange(4)), (6, 4, 4), 0, DType.INT8)
    x = np.arange(96, dtype=np.int8).reshape(1, 6, 4, 4)
    return operator(OpKind.SELECT, params, x, rows=RowMap.whole(6), out=(1, 2, 4, 4), **blobs)


WRITTEN_OVER = [(op, place) for op in operators() for place in in_place(*lowered(op))]
COPIES = [(op, found) for op in (*operators(), rows_4_and_5()) if (found := aliases(*lowered(op)))]


def test_every_kind_is_tried() -> None:
    assert {op.kind for op, _ in WRITTEN_OVER} == IN_PLACE
    assert {op.kind for op, _ in COPIES} == {OpKind.COPY, OpKind.CONCAT, OpKind.SELECT}


@pytest.mark.parametrize(("op", "place"), WRITTEN_OVER, ids=lambda item: getattr(item, "kind", None) and item.kind.name)
def test_kernels_may_write_over_an_operand(op: Operator, place: int) -> None:
    assert run_at(op, {place: 0}).tobytes() == run(op, Way(op.output_shape[1])).tobytes()


@pytest.mark.parametrize(("op", "found"), COPIES, ids=lambda item: getattr(item, "kind", None) and item.kind.name)
def test_a_copy_of_what_is_there_changes_nothing(op: Operator, found: tuple[Any, ...]) -> None:
    offsets = {alias.operand: alias.offset for alias in found}
    assert run_at(op, offsets).tobytes() == run(op, Way(op.output_shape[1])).tobytes()

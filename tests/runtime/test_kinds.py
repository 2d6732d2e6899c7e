"""The traits of kinds, held against the kernels: every kind has a row, and rows depend on what `access` says.

Every kernel has an operator in the tables, and computes the same bytes in every way that a stage can run it."""

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest

from tests.runtime.kernel_harness import Operator, Way, operator, run, run_all_ways
from tests.runtime.operators import operators
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower.rowwise import params_of_part
from tigris_pio.format.enums import OpKind
from tigris_pio.format.kinds import PARAMS, TRAITS, Access, kinds_with
from tigris_pio.format.params import TransposeParams

#: Columns and channels of each row change places.
TURNED = operator(OpKind.TRANSPOSE, TransposeParams(3, 1, (6, 4, 4, 1, 1, 1, 1, 1), (16, 1, 4, 0, 0, 0, 0, 0)),
                  np.arange(96, dtype=np.int8).reshape(1, 6, 4, 4))
OPERATORS = [op for op in (*operators(), TURNED)
             if all(rows.numerator == 1 and rows.first in (-1, 0) for rows in op.rows)
             and (TRAITS[op.kind].rowwise or TRAITS[op.kind].access is Access.WINDOW)]


def test_every_kind_has_traits() -> None:
    lacking = ", ".join(kind.name for kind in {*OpKind} - TRAITS.keys())
    assert not lacking, f"tigris_pio/format/kinds.py has no row for {lacking}"


def test_every_kernel_of_rows_has_an_operator() -> None:
    """Programs may try the other kernels: tests/runtime/fuzz/compiled.py."""
    known = {(op.kind, op.dtype) for op in operators()}
    of_rows = kinds_with(lambda traits: traits.rowwise or traits.access is Access.WINDOW)
    lacking = ", ".join(f"{kind.name} {dtype.name}" for kind, dtype in PARAMS.keys() - known if kind in of_rows)
    assert not lacking, f"tests/runtime/operators.py has no operator of {lacking}"


@pytest.mark.parametrize("op", operators(), ids=lambda op: f"{op.kind.name}-{op.dtype.name}")
def test_every_way_gives_the_same_bytes(op: Operator) -> None:
    output = run_all_ways(op)
    np.testing.assert_array_equal(output, output if op.expected is None else op.expected)


def parts(op: Operator, whole: np.ndarray) -> Iterator[tuple[Operator, np.ndarray]]:
    """Operators that compute a part, each with the part of `whole`: all rows but the first, from tensors that begin one
    row later; halves of the rows as two images; two columns."""
    _, height, width, channels = op.output_shape
    later = tuple(array[:, 1 + rows.first :] for array, rows in zip(op.inputs, op.rows, strict=True))
    rows = tuple(RowMap(1, 1, 0, rows.last - rows.first) for rows in op.rows)
    shorter = params_of_part(op.params, height - 1, height)
    yield dataclasses.replace(op, inputs=later, rows=rows, params=shorter,
                              output_shape=(1, height - 1, width, channels)), whole[:, 1:]
    if TRAITS[op.kind].rowwise and len(op.inputs) == 1 and height % 2 == 0:
        images = op.inputs[0].reshape(2, height // 2, *op.inputs[0].shape[2:])
        shape = (2, height // 2, width, channels)
        yield dataclasses.replace(op, inputs=(images,), params=params_of_part(op.params, 1, 2), output_shape=shape,
                                  images=2), whole.reshape(shape)
    if TRAITS[op.kind].access is Access.ELEMENT and not hasattr(op.params, "row_step"):
        yield dataclasses.replace(op, inputs=tuple(array[:, :, 1:3] for array in op.inputs),
                                  output_shape=(1, height, 2, channels)), whole[:, :, 1:3]


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: f"{op.kind.name}-{op.dtype.name}")
def test_parts_are_the_same_bytes(op: Operator) -> None:
    for part, expected in parts(op, run(op, Way(op.output_shape[1]))):
        np.testing.assert_array_equal(run(part, Way(part.output_shape[1])), expected)

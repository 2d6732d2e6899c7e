"""Kernels that only move data: COPY, TRANSPOSE, CONCAT."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.tiers import examples
from tests.runtime.kernel_harness import operator, run_all_ways
from tests.runtime.strategies import array_of, seeds
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import ConcatParams, CopyParams, TransposeParams

DTYPES = st.sampled_from([DType.INT8, DType.FLOAT32])


def transpose(sizes: Sequence[int], order: Sequence[int], steps: Sequence[int], element_bytes: int) -> TransposeParams:
    """Of an image of these sizes, whose axes lie `steps` elements apart."""
    fill = 8 - len(sizes)
    return TransposeParams(len(sizes), element_bytes, (*(sizes[axis] for axis in order), *[1] * fill),
                           (*(steps[axis] for axis in order), *[0] * fill))  # fmt: skip


@settings(max_examples=examples(12, 30), deadline=None)
@given(DTYPES, st.permutations([1, 2, 3, 4]), st.permutations([1, 2, 3, 4]), seeds)
def test_copy_reshapes(dtype: DType, shape: list[int], target: list[int], seed: int) -> None:
    x = array_of(dtype, tuple(shape), seed)
    op = operator(OpKind.COPY, CopyParams(x.nbytes), x, rows=RowMap.whole(shape[1]), out=tuple(target))
    np.testing.assert_array_equal(run_all_ways(op), x.reshape(target))


@settings(max_examples=examples(12, 30), deadline=None)
@given(DTYPES, st.integers(1, 7), st.integers(0, 4), st.integers(0, 4), st.integers(1, 2), seeds)
def test_copy_of_a_row_range(dtype: DType, rows: int, above: int, below: int, batch: int, seed: int) -> None:
    x = array_of(dtype, (batch, rows + above + below, 3, 2), seed)
    expected = x[:, above : above + rows]
    op = operator(OpKind.COPY, CopyParams(expected.nbytes // batch), x, rows=RowMap.shifted(above),
                  out=(batch, rows, 3, 2), images=batch)  # fmt: skip
    np.testing.assert_array_equal(run_all_ways(op), expected)


@settings(max_examples=examples(20, 50), deadline=None)
@given(DTYPES, st.lists(st.integers(1, 4), min_size=1, max_size=6), st.randoms(use_true_random=False), seeds)
def test_transpose_any_axes(dtype: DType, shape: list[int], order: np.random.Generator, seed: int) -> None:
    permutation = list(range(len(shape)))
    order.shuffle(permutation)
    x = array_of(dtype, tuple(shape), seed)
    expected = x.transpose(permutation)
    params = transpose(shape, permutation, [stride // x.itemsize for stride in x.strides], x.itemsize)
    op = operator(OpKind.TRANSPOSE, params, x.reshape(1, shape[0], 1, -1), rows=RowMap.whole(shape[0]),
                  out=(1, expected.shape[0], 1, x.size // expected.shape[0]))  # fmt: skip
    np.testing.assert_array_equal(run_all_ways(op).reshape(expected.shape), expected)


@settings(max_examples=examples(16, 40), deadline=None)
@given(DTYPES, st.sampled_from(["depth_to_space", "space_to_depth", "shuffle"]), st.integers(1, 3), st.integers(1, 4),
       st.integers(2, 4), st.integers(1, 3), st.integers(1, 2), seeds)
def test_transpose_in_bands(dtype: DType, form: str, block: int, rows: int, columns: int, depth: int, batch: int,
                            seed: int) -> None:
    """What moves within rows, or groups of rows, needs those rows only."""
    sizes, order, maps, out = {
        "depth_to_space": ((rows, columns, block, block, depth), (0, 2, 1, 3, 4), RowMap(1, block, 0, 0),
                           (rows * block, columns * block, depth)),
        "space_to_depth": ((rows, block, columns, block, depth), (0, 2, 1, 3, 4), RowMap(block, 1, 0, block - 1),
                           (rows, columns, block * block * depth)),
        "shuffle": ((rows, columns, block, depth), (0, 1, 3, 2), RowMap.same(), (rows, columns, block * depth)),
    }[form]
    height = {"depth_to_space": rows, "space_to_depth": rows * block, "shuffle": rows}[form]
    x = array_of(dtype, (batch, *sizes), seed)
    expected = x.transpose(0, *(axis + 1 for axis in order)).reshape(batch, *out)
    params = transpose(sizes, order, [stride // x.itemsize for stride in x.strides[1:]], x.itemsize)
    stored = x.reshape(batch, height, -1, depth)
    op = operator(OpKind.TRANSPOSE, params, stored, rows=maps, out=(batch, *out), images=batch)
    np.testing.assert_array_equal(run_all_ways(op), expected)


@pytest.mark.parametrize("images", [1, 3])
def test_transpose_of_a_batch(images: int) -> None:
    """One image at a time, and across the batch."""
    x = array_of(DType.INT8, (3, 4, 5, 2), 1)
    expected = x.transpose(0, 2, 1, 3) if images == 3 else x.transpose(1, 2, 0, 3)
    params = transpose((4, 5, 2), (1, 0, 2), (10, 2, 1), 1) if images == 3 else transpose(
        x.shape, (1, 2, 0, 3), (40, 10, 2, 1), 1)  # fmt: skip
    op = operator(OpKind.TRANSPOSE, params, x, rows=RowMap.whole(4), out=expected.shape, images=images)
    np.testing.assert_array_equal(run_all_ways(op), expected)


@settings(max_examples=examples(20, 50), deadline=None)
@given(DTYPES, st.sampled_from([0, 1, 2]), st.lists(st.integers(1, 4), min_size=1, max_size=8),
       st.tuples(st.integers(1, 2), st.integers(1, 4), st.integers(1, 4), st.integers(1, 3)), seeds)
def test_concat(dtype: DType, axis: int, extents: list[int], shape: tuple[int, ...], seed: int) -> None:
    shapes = [(*shape[: axis + 1], extent, *shape[axis + 2 :]) for extent in extents]
    arrays = tuple(array_of(dtype, s, seed + i) for i, s in enumerate(shapes))
    starts = np.cumsum([0, *extents])
    maps = tuple(RowMap.shifted(-int(start)) if axis == 0 else RowMap.same() for start in starts[:-1])
    expected = np.concatenate(arrays, axis + 1)
    op = operator(OpKind.CONCAT, ConcatParams(axis), *arrays, rows=maps, out=expected.shape, images=shape[0])
    np.testing.assert_array_equal(run_all_ways(op), expected)

"""Kernels that only move data: COPY, TRANSPOSE, CONCAT, GATHER, SCATTER; and TOP_K, which gives positions."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.tiers import examples
from tests.runtime.kernel_harness import Operator, Way, operator, plan_for, run, run_all_ways
from tests.runtime.strategies import array_of, seeds
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.errors import PlanError
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import ConcatParams, CopyParams, GatherParams, ScatterParams, TopKParams, TransposeParams
from tigris_pio.host import Session

DTYPES = st.sampled_from([DType.INT8, DType.FLOAT32])


def transpose(sizes: Sequence[int], order: Sequence[int], steps: Sequence[int], element_bytes: int) -> TransposeParams:
    """Parameters for an image of these sizes whose axes have strides of `steps` elements."""
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
    """A transpose within rows, or within groups of rows, needs those rows only."""
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


# GATHER, SCATTER and TOP_K in bands of every height against numpy, and what their checkers refuse.

SIZES = st.integers(1, 5)


def gather(outer: int, length: int, inner: int, count: int, elementwise: bool, dtype: DType, seed: int) -> Operator:
    rng = np.random.default_rng(seed)
    numbers = np.int8 if dtype == DType.INT8 else np.float32
    x = rng.integers(-128, 128, (1, outer, length, inner)).astype(numbers)
    shape = (1, 1, 1, outer * count * inner) if elementwise else (1, 1, 1, count)
    positions = rng.integers(-length - 1, length + 1, shape).astype(np.float32)
    steps = (count * inner, inner, 1) if elementwise else (0, 1, 0)
    return operator(OpKind.GATHER, GatherParams(outer, length, inner, count, steps), x, positions,
                    rows=(RowMap.whole(outer), RowMap.whole(1)), out=(1, outer, count, inner))  # fmt: skip


@settings(max_examples=examples(16, 40))
@given(SIZES, SIZES, SIZES, SIZES, st.booleans(), st.sampled_from([DType.INT8, DType.FLOAT32]), seeds)
def test_gather(outer: int, length: int, inner: int, count: int, elementwise: bool, dtype: DType, seed: int) -> None:
    op = gather(outer, length, inner, count, elementwise, dtype, seed)
    positions = op.inputs[1].astype(np.int64)
    positions = np.clip(np.where(positions < 0, positions + length, positions), 0, length - 1)
    positions = (positions.reshape(outer, count, inner) if elementwise else
                 np.broadcast_to(positions.reshape(1, count, 1), (outer, count, inner)))
    expected = np.take_along_axis(op.inputs[0][0], positions, 1)
    np.testing.assert_array_equal(run_all_ways(op)[0], expected)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e30, -1e30, -0.0, 0.9])
def test_any_number_is_a_position_inside(value: float) -> None:
    op = gather(1, 3, 2, 1, False, DType.FLOAT32, 0)
    op = dataclasses.replace(op, inputs=(op.inputs[0], np.full((1, 1, 1, 1), value, np.float32)))
    expected = op.inputs[0][0, 0, 2 if value > 1 else 0]
    np.testing.assert_array_equal(run(op, Way(1))[0, 0, 0], expected)


def top_k(outer: int, length: int, inner: int, count: int, smallest: bool, seed: int) -> Operator:
    x = np.random.default_rng(seed).integers(-3, 4, (1, outer, length, inner)).astype(np.float32)
    return operator(OpKind.TOP_K, TopKParams(int(smallest), count, length, inner), x, rows=RowMap.whole(outer),
                    out=(1, 1, 1, outer * count * inner))  # fmt: skip


@settings(max_examples=examples(16, 40))
@given(SIZES, st.integers(1, 9), SIZES, st.booleans(), st.data(), seeds)
def test_top_k(outer: int, length: int, inner: int, smallest: bool, data: st.DataObject, seed: int) -> None:
    count = data.draw(st.integers(1, length))
    op = top_k(outer, length, inner, count, smallest, seed)
    order = np.argsort(op.inputs[0][0] * (1 if smallest else -1), axis=1, kind="stable")[:, :count]
    np.testing.assert_array_equal(run_all_ways(op).reshape(order.shape), order)


def scatter(outer: int, length: int, inner: int, count: int, dtype: DType, combine: int, seed: int) -> Operator:
    rng = np.random.default_rng(seed)
    numbers = np.int8 if dtype == DType.INT8 else np.float32
    x, update = (rng.integers(-9, 10, (1, 1, 1, outer * size * inner)).astype(numbers) for size in (length, count))
    positions = rng.integers(-length - 1, length + 2, (1, 1, 1, outer * count * inner)).astype(np.float32)
    params = ScatterParams(outer, length, inner, count, (count * inner, inner, 1), combine)
    return operator(OpKind.SCATTER, params, x, positions, update, rows=RowMap.whole(1))


@settings(max_examples=examples(24, 60))
@given(SIZES, SIZES, SIZES, SIZES, st.sampled_from([(DType.INT8, 0), *((DType.FLOAT32, c) for c in range(5))]), seeds)
def test_scatter(outer: int, length: int, inner: int, count: int, form: tuple[DType, int], seed: int) -> None:
    op = scatter(outer, length, inner, count, *form, seed)
    combine = [lambda old, new: new, np.add, np.multiply, np.maximum, np.minimum][form[1]]
    expected = op.inputs[0].reshape(outer, length, inner).copy()
    positions = op.inputs[1].astype(int).reshape(outer, count, inner)
    update = op.inputs[2].reshape(outer, count, inner)
    for o, k, i in np.ndindex(outer, count, inner):
        at = positions[o, k, i] + (length if positions[o, k, i] < 0 else 0)
        if 0 <= at < length:
            expected[o, at, i] = combine(expected[o, at, i], update[o, k, i])
    np.testing.assert_array_equal(run_all_ways(op).reshape(expected.shape), expected)


REFUSED: list[tuple[Operator, list[dict[str, Any]]]] = [
    (gather(2, 5, 3, 2, False, DType.FLOAT32, 0), [
        {"outer": 0}, {"length": 0}, {"inner": 0}, {"count": 0}, {"outer": 3}, {"length": 6}, {"inner": 4},
        {"count": 3}, {"outer": 1 << 31}, {"length": 1 << 30}, {"position_step": (0, 2, 0)},
        {"position_step": (1, 1, 0)}, {"position_step": (0, 1, 1)}, {"position_step": (1 << 31, 1, 0)}]),
    (top_k(2, 5, 3, 2, False, 0), [
        {"count": 0}, {"count": 6}, {"length": 0}, {"inner": 0}, {"length": 6}, {"inner": 4}, {"count": 3},
        {"length": 1 << 31}, {"count": 1 << 31}]),
    (scatter(2, 5, 3, 2, DType.FLOAT32, 0, 0), [
        {"outer": 0}, {"length": 0}, {"inner": 0}, {"count": 0}, {"outer": 3}, {"length": 6}, {"count": 3},
        {"combine": 5}, {"position_step": (6, 3, 2)}, {"position_step": (1 << 31, 3, 1)}, {"length": 1 << 31}]),
    (scatter(2, 5, 3, 2, DType.INT8, 0, 0), [{"combine": 1}]),  # int8 is replaced only
]  # fmt: skip


@pytest.mark.parametrize(("op", "each"), REFUSED, ids=lambda item: item.kind.name if isinstance(item, Operator) else "")
def test_what_leaves_its_tensors_is_refused(op: Operator, each: list[dict[str, Any]]) -> None:
    with Session(plan_for(op, Way(op.output_shape[1]))):
        pass
    for changes in each:
        damaged = dataclasses.replace(op, params=dataclasses.replace(op.params, **changes))  # type: ignore[type-var]
        with pytest.raises(PlanError, match="parameters"):
            Session(plan_for(damaged, Way(op.output_shape[1])))

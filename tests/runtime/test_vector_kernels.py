"""Kernels that read whole vectors or matrices, against numpy."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.tiers import examples
from tests.runtime import references
from tests.runtime.kernel_harness import SAME, operator, run_all_ways
from tests.runtime.strategies import array_of, int8_array, seeds
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.format import params as p
from tigris_pio.format.enums import DType, OpKind, ReduceFunction, VectorFunction

SIZES = st.integers(1, 5)
R, V = ReduceFunction, VectorFunction
REDUCTIONS = {
    R.SUM: lambda x: x.sum(1), R.MEAN: lambda x: x.mean(1), R.MAXIMUM: lambda x: x.max(1),
    R.MINIMUM: lambda x: x.min(1), R.PRODUCT: lambda x: x.prod(1), R.L1: lambda x: np.abs(x).sum(1),
    R.L2: lambda x: np.sqrt((x * x).sum(1)), R.SUM_SQUARE: lambda x: (x * x).sum(1),
    R.LOG_SUM: lambda x: np.log(x.sum(1)), R.LOG_SUM_EXP: lambda x: np.logaddexp.reduce(x, 1),
}  # fmt: skip
EPSILON = 1e-3


def softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


MAPS = {
    V.STANDARDISE: lambda x: (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + EPSILON),
    V.STANDARDISE_OUTSIDE: lambda x: (x - x.mean(1, keepdims=True)) / (x.std(1, keepdims=True) + EPSILON),
    V.RMS: lambda x: x / np.sqrt((x * x).mean(1, keepdims=True) + EPSILON),
    V.L1: lambda x: x / np.abs(x).sum(1, keepdims=True),
    V.L2: lambda x: x / np.sqrt((x * x).sum(1, keepdims=True)),
    V.LOG_SOFTMAX: lambda x: np.log(softmax(x)),
    V.SOFTMAX: softmax,
    V.HARDMAX: lambda x: np.arange(x.shape[1]).reshape(1, -1, 1) == x.argmax(1, keepdims=True),
    V.CUMULATIVE_SUM: lambda x: x.cumsum(1),
    V.CUMULATIVE_PRODUCT: lambda x: x.cumprod(1),
}


#: [outer][length][inner]; see vector_shapes.
Vectors = tuple[tuple[int, int, int], tuple[int, int, int, int], RowMap]


@st.composite
def vector_shapes(draw: Any) -> Vectors:
    """A tensor of as many elements whose rows hold whole vectors or do not, and its row map."""
    outer, length, inner = draw(SIZES), draw(SIZES), draw(SIZES)
    if draw(st.booleans()):
        return (outer, length, inner), (1, outer, length, inner), SAME
    height = draw(st.sampled_from([size for size in range(1, outer * length + 1) if outer * length % size == 0]))
    return (outer, length, inner), (1, height, outer * length // height, inner), RowMap.whole(height)


@pytest.mark.parametrize("function", ReduceFunction)
@settings(max_examples=examples(10, 25))
@given(case=vector_shapes(), seed=seeds)
def test_reduce(function: ReduceFunction, case: Vectors, seed: int) -> None:
    (outer, length, inner), shape, rows = case
    x = np.random.default_rng(seed).normal(0, 2, shape).astype(np.float32)
    x = np.abs(x) + np.float32(0.1) if function == R.LOG_SUM else x
    out = (1, outer, 1, inner)
    op = operator(OpKind.REDUCE, p.ReduceParams(function, length, inner), x, rows=rows, out=out)
    expected = REDUCTIONS[function](x.astype(np.float64).reshape(outer, length, inner)).reshape(out)
    np.testing.assert_allclose(run_all_ways(op), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("function", [R.SUM, R.MEAN, R.MAXIMUM, R.MINIMUM])
@settings(max_examples=examples(10, 25))
@given(case=vector_shapes(), zeros=st.tuples(st.integers(-128, 127), st.integers(-128, 127)),
       multiplier=st.integers(0, (1 << 31) - 1), shift=st.integers(-31, 5), seed=seeds)
def test_reduce_int8(function: ReduceFunction, case: Vectors, zeros: tuple[int, int], multiplier: int,
                     shift: int, seed: int) -> None:
    (outer, length, inner), shape, rows = case
    x = np.random.default_rng(seed).integers(-128, 128, shape).astype(np.int8)
    params = p.ReduceInt8Params(function, length, inner, *zeros, multiplier, shift)
    op = operator(OpKind.REDUCE, params, x, rows=rows, out=(1, outer, 1, inner))
    vectors = x.astype(np.int64).reshape(outer, length, inner)
    if function in (R.SUM, R.MEAN):
        sums = vectors.sum(1) - length * zeros[0]
        expected = np.clip(references.requantise(sums, multiplier, shift) + zeros[1], -128, 127)
    else:
        expected = REDUCTIONS[function](vectors)
    np.testing.assert_array_equal(run_all_ways(op).reshape(outer, inner), expected)


def test_long_sums_lose_nothing() -> None:
    x = np.full((1, 1, 1, 1 << 20), 0.1, np.float32)
    op = operator(OpKind.REDUCE, p.ReduceParams(R.SUM, 1 << 20, 1), x, out=(1, 1, 1, 1))
    np.testing.assert_allclose(run_all_ways(op).item(), x.astype(np.float64).sum(), rtol=1e-7)


@pytest.mark.parametrize("dtype", [DType.INT8, DType.FLOAT32])
@settings(max_examples=examples(16, 40))
@given(case=vector_shapes(), smallest=st.booleans(), last=st.booleans(), seed=seeds)
def test_arg_reduce(dtype: DType, case: Vectors, smallest: bool, last: bool, seed: int) -> None:
    (outer, length, inner), shape, rows = case
    x = np.random.default_rng(seed).integers(-2, 3, shape).astype(np.int8 if dtype == DType.INT8 else np.float32)
    op = operator(OpKind.ARG_REDUCE, p.ArgReduceParams(int(smallest), int(last), length, inner), x, rows=rows,
                  out=(1, outer, 1, inner), output_dtype=DType.FLOAT32)  # fmt: skip
    vectors = x.reshape(outer, length, inner) * (-1 if smallest else 1)
    found = length - 1 - vectors[:, ::-1].argmax(1) if last else vectors.argmax(1)
    np.testing.assert_array_equal(run_all_ways(op).reshape(outer, inner), found)


@pytest.mark.parametrize("function", VectorFunction)
@settings(max_examples=examples(10, 25))
@given(case=vector_shapes(), seed=seeds)
def test_vector(function: VectorFunction, case: Vectors, seed: int) -> None:
    (outer, length, inner), shape, rows = case
    x = np.random.default_rng(seed).normal(0, 2, shape).astype(np.float32)
    op = operator(OpKind.VECTOR, p.VectorParams(function, length, inner, EPSILON, 0, 0), x, rows=rows)
    expected = MAPS[function](x.astype(np.float64).reshape(outer, length, inner)).reshape(shape)
    np.testing.assert_allclose(run_all_ways(op), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("function", [V.L1, V.L2])
def test_vectors_of_zeros_stay_zero(function: VectorFunction) -> None:
    x = np.zeros((1, 2, 3, 1), np.float32)
    op = operator(OpKind.VECTOR, p.VectorParams(function, 3, 1, 0.0, 0, 0), x)
    np.testing.assert_array_equal(run_all_ways(op), x)


@pytest.mark.parametrize(("exclusive", "reverse", "expected"), [
    (0, 0, [1, 3, 6]), (1, 0, [0, 1, 3]), (0, 1, [6, 5, 3]), (1, 1, [5, 3, 0]),
])
def test_cumulative_sum(exclusive: int, reverse: int, expected: list[float]) -> None:
    x = np.array([1, 2, 3], np.float32).reshape(1, 3, 1, 1)
    params = p.VectorParams(V.CUMULATIVE_SUM, 3, 1, 0.0, exclusive, reverse)
    op = operator(OpKind.VECTOR, params, x, rows=RowMap.whole(3))
    assert run_all_ways(op).reshape(-1).tolist() == expected


@given(st.tuples(SIZES, SIZES, st.integers(1, 8)), st.integers(0, 3), st.integers(0, 3), seeds)
@settings(max_examples=examples(16, 40))
def test_lrn(sizes: tuple[int, int, int], before: int, after: int, seed: int) -> None:
    shape = (1, *sizes)
    x = np.random.default_rng(seed).normal(0, 2, shape).astype(np.float32)
    op = operator(OpKind.LRN, p.LrnParams(before, after, 0.1, 0.75, 2.0), x)
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (0, 0), (before, after)))
    sums = sum(padded[..., k : k + sizes[2]] ** 2 for k in range(before + after + 1))
    np.testing.assert_allclose(run_all_ways(op), x / (2.0 + 0.1 * sums) ** 0.75, rtol=1e-5, atol=1e-6)


@settings(max_examples=examples(24, 60))
@given(st.tuples(SIZES, SIZES), st.tuples(st.booleans(), st.booleans()), SIZES, SIZES, SIZES, st.booleans(), seeds)
def test_mat_mul(batch: tuple[int, int], repeated: tuple[bool, bool], rows: int, depth: int, columns: int,
                 transposed: bool, seed: int) -> None:
    """A of either batch, B repeated along some of its axes, both stored as they are or transposed."""
    random = np.random.default_rng(seed)
    own = tuple(1 if drop else size for size, drop in zip(batch, repeated, strict=True))
    a = random.normal(size=(*batch, rows, depth)).astype(np.float32)
    b = random.normal(size=(*own, depth, columns)).astype(np.float32)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    stored = [np.ascontiguousarray(m.swapaxes(-1, -2)) if transposed else m for m in (a, b)]
    step_a = (1, rows) if transposed else (depth, 1)
    step_b = (1, depth) if transposed else (columns, 1)
    matrix = depth * columns
    batch_b = (0, 0 if own[0] == 1 else own[1] * matrix, 0 if own[1] == 1 else matrix)
    params = p.MatMulFloatParams((1, *batch), rows, depth, columns, (0, batch[1] * rows * depth, rows * depth), *step_a,
                               batch_b, *step_b, 0, -1e30, 1e30)
    inputs = tuple(m.reshape(1, m.shape[0], m.shape[1], -1) for m in stored)
    op = operator(OpKind.MAT_MUL, params, *inputs, rows=tuple(RowMap.whole(m.shape[1]) for m in inputs),
                  out=(1, batch[0], batch[1] * rows, columns))  # fmt: skip
    np.testing.assert_allclose(run_all_ways(op).reshape(expected.shape), expected, rtol=1e-5, atol=1e-5)


@settings(max_examples=examples(24, 60))
@given(st.tuples(SIZES, st.integers(1, 40), st.integers(1, 70), st.integers(1, 11)),
       st.tuples(st.booleans(), st.booleans()), st.booleans(), seeds)
def test_mat_mul_int8_is_exact(sizes: tuple[int, int, int, int], turned: tuple[bool, bool], by_rows: bool,
                               seed: int) -> None:
    """Either matrix stored as it is or transposed; all at once, or bands of rows where the rows of A lie apart."""
    batch, rows, depth, columns = sizes
    by_rows = by_rows and not turned[0]
    batch = 1 if by_rows else batch
    random = np.random.default_rng(seed)
    a, b = int8_array(random, (1, batch, rows, depth)), int8_array(random, (1, batch, depth, columns))
    zeros = tuple(int(v) for v in random.integers(-128, 128, 3))
    multiplier, shift = references.quantised_multiplier(float(random.choice([0.001, 0.01, 0.1, 3])) / np.sqrt(depth))
    step_a, step_b = (1, rows) if turned[0] else (depth, 1), (1, depth) if turned[1] else (columns, 1)
    params = p.MatMulInt8Params(
        (1, 1, batch), rows, depth, columns, (0, 0, rows * depth), *step_a, (0, 0, depth * columns), *step_b, 0,
        zeros[:2], zeros[2], multiplier, shift, -128, 120)
    sums = (a[0].astype(np.int64) - zeros[0]) @ (b[0].astype(np.int64) - zeros[1])
    expected = np.clip(references.requantise(sums, multiplier, shift) + zeros[2], -128, 120)
    stored = [np.ascontiguousarray(m.swapaxes(-1, -2)) if turn else m for m, turn in zip((a, b), turned, strict=True)]
    if by_rows:
        stored[0] = a.reshape(1, rows, 1, depth)
    maps = (RowMap.same() if by_rows else RowMap.whole(batch), RowMap.whole(batch))
    shape = (1, rows, 1, columns) if by_rows else (1, batch, rows, columns)
    op = operator(OpKind.MAT_MUL, params, *stored, rows=maps, out=shape)
    np.testing.assert_array_equal(run_all_ways(op).reshape(expected.shape), expected)


@settings(max_examples=examples(16, 40))
@given(st.tuples(st.integers(1, 5), st.integers(1, 3), st.integers(1, 3), st.integers(1, 9), st.integers(1, 9)),
       st.booleans(), seeds)
def test_mat_mul_of_interleaved_products(sizes: tuple[int, ...], int8: bool, seed: int) -> None:
    """A row of the tensors holds rows of all products, as a token holds its heads: of one token or of several."""
    height, together, heads, depth, columns = sizes
    rows = height * together
    shapes = (1, height, together * heads, depth), (1, depth, heads, columns)
    matrix = (1, 1, heads), rows, depth, columns
    steps = (0, 0, depth), heads * depth, 1, (0, 0, columns), heads * columns, 1, 1
    maps = (RowMap.same(), RowMap.whole(depth))
    shape = (1, height, together * heads, columns)
    dtype = DType.INT8 if int8 else DType.FLOAT32
    a, b = (array_of(dtype, size, seed + i) for i, size in enumerate(shapes))
    zeros = (3, -2) if int8 else (0, 0)
    multiplier, shift = references.quantised_multiplier(0.05 / np.sqrt(depth))
    params = (p.MatMulInt8Params(*matrix, *steps, zeros, 1, multiplier, shift, -128, 120) if int8
              else p.MatMulFloatParams(*matrix, *steps, -9.0, 9.0))  # fmt: skip
    left, right = (x.astype(np.int64 if int8 else np.float64) - zero for x, zero in zip((a, b), zeros, strict=True))
    sums = np.einsum("thd,dhc->thc", left.reshape(rows, heads, depth), right[0])
    got = run_all_ways(operator(OpKind.MAT_MUL, params, a, b, rows=maps, out=shape)).reshape(sums.shape)
    if int8:
        expected = np.clip(references.requantise(sums, multiplier, shift) + 1, -128, 120)
        np.testing.assert_array_equal(got, expected)
    else:
        np.testing.assert_allclose(got, np.clip(sums, -9, 9), rtol=1e-5, atol=1e-5)

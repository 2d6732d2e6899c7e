"""Functions of one, two and three float32 tensors, and casts, against numpy."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings

from tests.harness.tiers import examples
from tests.runtime.kernel_harness import DTYPES, Shape, operator, run_all_ways
from tests.runtime.strategies import seeds
from tests.runtime.test_pool import row_maps, shape_pairs, step_fields, steps
from tigris_pio.format.enums import BinaryFunction, DType, OpKind, UnaryFunction
from tigris_pio.format.params import BinaryFunctionParams, CastParams, UnaryFloatParams, WhereParams

SHAPE = (1, 5, 3, 7)
U, B = UnaryFunction, BinaryFunction
ERF = np.vectorize(math.erf, otypes=[np.float64])


def softplus(x: np.ndarray) -> np.ndarray:
    return np.logaddexp(0, x)


#: Function, its parameters, and the same in double.
UNARY: list[tuple[UnaryFunction, float, float, Callable[[np.ndarray], np.ndarray]]] = [
    (U.CLAMP, -0.5, 1.5, lambda x: np.clip(x, -0.5, 1.5)), (U.SIGMOID, 0, 0, lambda x: 1 / (1 + np.exp(-x))),
    (U.TANH, 0, 0, np.tanh), (U.LEAKY_RELU, 0.1, 0, lambda x: np.where(x < 0, 0.1 * x, x)),
    (U.HARD_SIGMOID, 0.2, 0.5, lambda x: np.clip(0.2 * x + 0.5, 0, 1)),
    (U.HARD_SWISH, 0, 0, lambda x: x * np.clip(x / 6 + 0.5, 0, 1)), (U.EXP, 0, 0, np.exp), (U.SQRT, 0, 0, np.sqrt),
    (U.ABS, 0, 0, np.abs), (U.NEGATE, 0, 0, np.negative), (U.LOG, 0, 0, np.log), (U.RECIPROCAL, 0, 0, np.reciprocal),
    (U.ERF, 0, 0, ERF), (U.CEIL, 0, 0, np.ceil), (U.FLOOR, 0, 0, np.floor), (U.ROUND, 0, 0, np.rint),
    (U.SIGN, 0, 0, np.sign), (U.TRUNCATE, 0, 0, np.trunc), (U.SQUARE, 0, 0, np.square), (U.SOFTPLUS, 0, 0, softplus),
    (U.SOFTSIGN, 0, 0, lambda x: x / (1 + np.abs(x))),
    (U.ELU, 0.7, 1.1, lambda x: np.where(x < 0, 0.7 * np.expm1(x), 1.1 * x)),
    (U.CELU, 0.7, 0, lambda x: np.where(x < 0, 0.7 * np.expm1(x / 0.7), x)),
    (U.GELU, 0, 0, lambda x: x / 2 * (1 + ERF(x / math.sqrt(2)))),
    (U.GELU_TANH, 0, 0, lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))),
    (U.MISH, 0, 0, lambda x: x * np.tanh(softplus(x))), (U.SWISH, 1.7, 0, lambda x: x / (1 + np.exp(-1.7 * x))),
    (U.THRESHOLD, 0.6, 0, lambda x: np.where(x > 0.6, x, 0)),
    (U.SHRINK, 0.6, 0.2, lambda x: np.where(x < -0.6, x + 0.2, np.where(x > 0.6, x - 0.2, 0))),
    (U.IS_NAN, 0, 0, np.isnan), (U.IS_INF, 0, 1, np.isposinf), (U.NOT, 0, 0, lambda x: x == 0),
    (U.IS_TRUE, 0, 0, lambda x: x != 0), (U.SIN, 0, 0, np.sin), (U.COS, 0, 0, np.cos), (U.TAN, 0, 0, np.tan),
    (U.ASIN, 0, 0, np.arcsin), (U.ACOS, 0, 0, np.arccos), (U.ATAN, 0, 0, np.arctan), (U.SINH, 0, 0, np.sinh),
    (U.COSH, 0, 0, np.cosh), (U.ASINH, 0, 0, np.arcsinh), (U.ACOSH, 0, 0, np.arccosh), (U.ATANH, 0, 0, np.arctanh),
]  # fmt: skip
BINARY: dict[BinaryFunction, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    B.DIVIDE: np.divide, B.POWER: np.power, B.MAXIMUM: np.maximum, B.MINIMUM: np.minimum, B.FLOOR_MOD: np.mod,
    B.TRUNCATE_MOD: np.fmod, B.PRELU: lambda a, b: np.where(a < 0, a * b, a), B.LESS: np.less,
    B.LESS_OR_EQUAL: np.less_equal, B.GREATER: np.greater, B.GREATER_OR_EQUAL: np.greater_equal, B.EQUAL: np.equal,
    B.AND: np.logical_and, B.OR: np.logical_or, B.XOR: np.logical_xor,
}  # fmt: skip


def test_every_function_is_tested() -> None:
    assert {item[0] for item in UNARY} == set(UnaryFunction)
    assert set(BINARY) == set(BinaryFunction)


@pytest.mark.parametrize("case", UNARY, ids=lambda item: item[0].name)
def test_unary(case: tuple[UnaryFunction, float, float, Callable[[np.ndarray], np.ndarray]]) -> None:
    function, alpha, beta, reference = case
    x = np.random.default_rng(1).normal(0, 3, SHAPE).astype(np.float32)
    if function in (U.ASIN, U.ACOS, U.ATANH):
        x = np.clip(x / 10, -0.99, 0.99)
    if function == U.ACOSH:
        x = 1 + np.abs(x)
    if function in (U.SQRT, U.LOG):
        x = np.abs(x)
    x.flat[:4] = (0.0, 1.0, 0.5, 0.25) if function != U.ACOSH else (1.0, 1.5, 2.0, 30.0)
    if function in (U.IS_NAN, U.IS_INF, U.ABS, U.NEGATE, U.CLAMP, U.TANH):
        x.flat[4:7] = (math.inf, -math.inf, math.nan if function != U.CLAMP else 0.0)
    kind = OpKind.TRIGONOMETRIC if function >= U.SIN else OpKind.UNARY
    op = operator(kind, UnaryFloatParams(function, alpha, beta), x)
    with np.errstate(all="ignore"):
        expected = reference(x.astype(np.float64))
    np.testing.assert_allclose(run_all_ways(op), expected, rtol=1e-5, atol=1e-5)


def data_for(function: BinaryFunction, random: np.random.Generator, shape: Shape) -> np.ndarray:
    """Small halves, so that equal elements and zeros occur; no zero divisors, no roots of negative numbers."""
    values = (random.integers(-6, 7, shape) / 2).astype(np.float32)
    if function in (B.DIVIDE, B.FLOOR_MOD, B.TRUNCATE_MOD):
        values = np.where(values == 0, np.float32(1.5), values)
    return np.abs(values) + np.float32(0.5) if function == B.POWER else values


@pytest.mark.parametrize("function", BinaryFunction)
@settings(max_examples=examples(8, 20))
@given(shapes=shape_pairs(), seed=seeds)
def test_binary(function: BinaryFunction, shapes: tuple[Shape, Shape, Shape], seed: int) -> None:
    a_shape, b_shape, out = shapes
    random = np.random.default_rng(seed)
    a, b = data_for(function, random, a_shape), data_for(function, random, b_shape)
    params = BinaryFunctionParams(function, **step_fields(a_shape, b_shape, out))
    op = operator(OpKind.BINARY, params, a, b, rows=row_maps(out, a, b), out=out, images=out[0])
    np.testing.assert_allclose(run_all_ways(op), BINARY[function](a, b), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("function", "expected"), [(B.MAXIMUM, math.nan), (B.MINIMUM, math.nan), (B.EQUAL, 0.0)])
@pytest.mark.parametrize("first", [True, False])
def test_nan(function: BinaryFunction, expected: float, first: bool) -> None:
    nan, one = np.full((1, 1, 1, 1), np.nan, np.float32), np.ones((1, 1, 1, 1), np.float32)
    params = BinaryFunctionParams(function, (1, 1), (1, 1), (1, 1))
    op = operator(OpKind.BINARY, params, *((nan, one) if first else (one, nan)))
    np.testing.assert_array_equal(run_all_ways(op), np.full((1, 1, 1, 1), expected))


@settings(max_examples=examples(16, 40))
@given(shape_pairs(), seeds)
def test_where(shapes: tuple[Shape, Shape, Shape], seed: int) -> None:
    a_shape, b_shape, out = shapes
    random = np.random.default_rng(seed)
    condition = random.integers(0, 2, b_shape).astype(np.float32)
    inputs = (condition, random.normal(size=a_shape).astype(np.float32), random.normal(size=out).astype(np.float32))
    each = [steps(array.shape, out) for array in inputs]
    params = WhereParams(*(tuple(item[axis] for item in each) for axis in range(3)))
    op = operator(OpKind.WHERE, params, *inputs, rows=row_maps(out, *inputs), out=out, images=out[0])
    np.testing.assert_array_equal(run_all_ways(op), np.where(condition != 0, inputs[1], inputs[2]))


@pytest.mark.parametrize("dtype", list(DTYPES), ids=str)
def test_cast_from_float(dtype: np.dtype) -> None:
    x = np.array([0.0, 0.4, -0.9, 1.5, -2.5, 127.9, -128.5, 1e6, -1e6, 3e9, -3e9, 1e30, -1e30, np.nan, 7.0], np.float32)
    op = operator(OpKind.CAST, CastParams(DType.FLOAT32, DTYPES[dtype]), x.reshape(1, 5, 3, 1),
                  output_dtype=DTYPES[dtype])  # fmt: skip
    if dtype == np.bool_:
        expected = x != 0
    elif dtype == np.float32:
        expected = x
    else:
        limits = np.iinfo(dtype)
        whole = [0 if math.isnan(value) else int(value) for value in x.tolist()]
        expected = np.array([min(max(value, limits.min), limits.max) for value in whole], dtype)
    np.testing.assert_array_equal(run_all_ways(op).reshape(-1), expected)


@pytest.mark.parametrize("dtype", list(DTYPES), ids=str)
def test_cast_to_float(dtype: np.dtype) -> None:
    values = [0, 1, 0, 1] if dtype == np.bool_ else [0, 1, 127, 100]
    x = np.array(values, dtype).reshape(1, 4, 1, 1)
    if np.issubdtype(dtype, np.signedinteger):
        x[0, 3] = np.iinfo(dtype).min
    op = operator(OpKind.CAST, CastParams(DTYPES[dtype], DType.FLOAT32), x, dtype=DType.FLOAT32)
    np.testing.assert_array_equal(run_all_ways(op), x.astype(np.float32))

"""Fully connected, softmax and element-wise kernels: operators that treat the tensor as vectors."""

import decimal
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.harness.tiers import examples
from tests.runtime import references
from tests.runtime.kernel_harness import Operator, Shape, operator, run_all_ways
from tests.runtime.strategies import int8_array, seeds
from tests.runtime.test_conv import few_values, plain, tabulated
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower import numerics
from tigris_pio.format import params as p
from tigris_pio.format.enums import DType, OpKind, Rounding

SHAPES = st.tuples(st.integers(1, 2), st.integers(1, 6), st.integers(1, 3), st.integers(1, 9))


def fully_connected_forms(rows: int, inputs: int) -> list[tuple[Shape, RowMap]]:
    """Ways to store `rows` vectors: along the height with a row each, in one row, and as a batch."""
    return [
        ((1, rows, 1, inputs), RowMap.same()),
        ((1, 1, rows, inputs), RowMap.same()),
        ((1, 1, 1, rows * inputs), RowMap.whole(1)),
        ((rows, 1, 1, inputs), RowMap.whole(1)),
    ]


def fully_connected_case(rows: int, inputs: int, outputs: int, form: int, per_channel: bool, seed: int, bits: int = 8,
                         table: bool = False) -> tuple[Operator, np.ndarray]:  # fmt: skip
    """An int8 operator and its expected output, [rows][outputs]. `table`: weights have 16 values."""
    random = np.random.default_rng(seed)
    in_zero, out_zero = int(random.integers(-128, 128)), int(random.integers(-128, 128))
    shape, row_map = fully_connected_forms(rows, inputs)[form]
    x = int8_array(random, shape)
    weights = int8_array(random, (outputs, inputs)) >> 8 - bits
    weights = few_values(random, weights, own=False) if table else weights
    bias = random.integers(-9000, 9000, outputs)
    scales = random.uniform(0.3, 3, outputs if per_channel else 1)
    multiplier, shift = references.multipliers(scales / np.sqrt(inputs) / 100)
    sums = (x.reshape(rows, inputs).astype(np.int64) - in_zero) @ weights.T.astype(np.int64) + bias
    expected = np.clip(references.requantise(sums, multiplier, shift) + out_zero, -128, 120)
    params = p.FullyConnectedInt8Params(rows, inputs, outputs, int(per_channel), out_zero, -128, 120, 0, 0, 0, 0)
    folded = (bias - in_zero * weights.sum(1, dtype=np.int64)).astype(np.int32)
    kind = OpKind.FULLY_CONNECTED if bits == 8 else OpKind.INT4_FULLY_CONNECTED
    op = operator(kind, params, x, rows=row_map, out=fully_connected_forms(rows, outputs)[form][0],
                  weights=weights, bias=folded, multiplier=multiplier, shift=shift)  # fmt: skip
    return op, expected


@settings(max_examples=examples(20, 50), deadline=None)
@given(st.integers(1, 4), st.integers(1, 40), st.integers(1, 11), st.integers(0, 3), st.booleans(), seeds)
def test_fully_connected_int8_is_exact(rows: int, inputs: int, outputs: int, form: int, per_channel: bool,
                                       seed: int) -> None:  # fmt: skip
    """Packed, and plain for kernel libraries."""
    op, expected = fully_connected_case(rows, inputs, outputs, form, per_channel, seed)
    for each in (op, plain(op)):
        np.testing.assert_array_equal(run_all_ways(each).reshape(rows, outputs), expected)


@settings(max_examples=examples(20, 50), deadline=None)
@given(st.integers(1, 3), st.integers(1, 300), st.integers(1, 70), st.integers(0, 3), st.booleans(), seeds)
def test_weights_of_4_bits_are_exact(rows: int, inputs: int, outputs: int, form: int, per_channel: bool,
                                     seed: int) -> None:  # fmt: skip
    op, expected = fully_connected_case(rows, inputs, outputs, form, per_channel, seed, bits=4)
    np.testing.assert_array_equal(run_all_ways(op).reshape(rows, outputs), expected)


@settings(max_examples=examples(20, 50), deadline=None)
@given(st.integers(1, 3), st.integers(1, 300), st.integers(1, 70), st.integers(0, 3), st.booleans(), seeds)
def test_weights_by_a_table_are_exact(rows: int, inputs: int, outputs: int, form: int, per_channel: bool,
                                      seed: int) -> None:  # fmt: skip
    op, expected = fully_connected_case(rows, inputs, outputs, form, per_channel, seed, table=True)
    np.testing.assert_array_equal(run_all_ways(tabulated(op, False)).reshape(rows, outputs), expected)


@pytest.mark.parametrize("tap", (-128, 127))
@pytest.mark.parametrize("weight", (-8, 7, -127, 127))
def test_the_largest_products_of_pairs_add_up(tap: int, weight: int) -> None:
    """Sums of several products lie in the halves of a word on processors without DSP instructions."""
    length, bias = 70, np.arange(9, dtype=np.int32)
    params = p.FullyConnectedInt8Params(1, length, 9, 0, 0, -128, 127, 0, 0, 0, 0)
    op = operator(OpKind.INT4_FULLY_CONNECTED, params, np.full((1, 1, 1, length), tap, np.int8), out=(1, 1, 1, 9),
                  weights=np.full((9, length), weight, np.int8), bias=bias,
                  multiplier=np.array([1 << 30], np.int32), shift=np.array([-9], np.int8))
    op = op if -9 < weight < 8 else tabulated(op, False)
    expected = references.requantise((length * tap * weight + bias)[np.newaxis], np.array([1 << 30]), np.array([-9]))
    np.testing.assert_array_equal(run_all_ways(op).reshape(1, 9), np.clip(expected, -128, 127))


@settings(max_examples=examples(10, 25), deadline=None)
@given(st.integers(1, 3), st.integers(1, 40), st.integers(1, 6), st.integers(0, 4), seeds)
@example(3, 20, 6, 4, 5)
def test_fully_connected_float_agrees(rows: int, inputs: int, outputs: int, form: int, seed: int) -> None:
    """The fifth form is a feature map of several rows: the input is read whole, the output stored as rows."""
    random = np.random.default_rng(seed)
    whole: tuple[Shape, RowMap] = ((1, inputs, 1, rows), RowMap.whole(inputs))
    shape, row_map = [*fully_connected_forms(rows, inputs), whole][form]
    out = fully_connected_forms(rows, outputs)[form % 4][0]
    x = random.standard_normal(shape).astype(np.float32)
    weights = random.standard_normal((outputs, inputs)).astype(np.float32)
    bias = random.standard_normal(outputs).astype(np.float32)
    expected = np.clip(x.reshape(rows, inputs).astype(np.float64) @ weights.T + bias, 0, 6)
    params = p.FullyConnectedFloatParams(rows, inputs, outputs, 0, 6, 0, 0)
    op = operator(OpKind.FULLY_CONNECTED, params, x, rows=row_map, out=out, weights=weights, bias=bias)
    np.testing.assert_allclose(run_all_ways(op).reshape(rows, outputs), expected, rtol=1e-5, atol=1e-5)


def exponentials_of(scale: float) -> np.ndarray:
    """As TensorFlow Lite prepares them: 5 integer bits, differences that matter."""
    multiplier, left_shift = references.quantised_multiplier(scale * (1 << 26))
    largest = math.floor(31 * (1 << 26) / (1 << left_shift))
    return references.softmax_exponentials(multiplier, left_shift, -largest)


def softmax_int8(x: np.ndarray, exponentials: np.ndarray, images: int = 1) -> Operator:
    return operator(OpKind.SOFTMAX, p.SoftmaxInt8Params(x.shape[-1], 0), x, images=images, exponentials=exponentials)


@settings(max_examples=examples(16, 40), deadline=None)
@given(SHAPES, st.floats(2**-10, 0.6), seeds)
def test_softmax_int8_is_exact(shape: tuple[int, int, int, int], scale: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    x = int8_array(random, shape)
    powers = exponentials_of(scale)
    expected = references.softmax_int8(x, powers)
    np.testing.assert_array_equal(run_all_ways(softmax_int8(x, powers, images=shape[0])), expected)
    real = x.astype(np.float64) * scale
    exponentials = np.exp(real - real.max(-1, keepdims=True))
    probabilities = exponentials / exponentials.sum(-1, keepdims=True)
    assert np.abs((expected + 128.0) / 256 - probabilities).max() <= 1.01 / 256


@pytest.mark.parametrize("diff_min", [-9, -8, -7, -1, 0])
def test_softmax_int8_takes_differences_down_to_the_least(diff_min: int) -> None:
    """The least difference still counts, the next does not, whatever its exponential is."""
    powers = references.softmax_exponentials(*references.quantised_multiplier(0.05 * (1 << 26)), diff_min)
    x = np.arange(0, -10, -1, dtype=np.int8).reshape(1, 1, 1, 10)
    actual = run_all_ways(softmax_int8(x, powers))
    np.testing.assert_array_equal(actual, references.softmax_int8(x, powers))
    assert [value > -128 for value in actual.ravel().tolist()] == [-i >= diff_min for i in range(10)]


def test_softmax_int8_of_equal_values_of_any_length() -> None:
    """Covers lengths at which TensorFlow Lite's shift exceeds 31 and its sum overflows."""
    for length in (1, 2, 3, 255, 256, 257, 511, 520, 1000, 5000, 8292, 9000):
        x = np.full((1, 1, 1, length), 17, np.int8)
        expected = min(127, math.floor(256 / length + 0.5) - 128)
        assert set(run_all_ways(softmax_int8(x, exponentials_of(0.1))).ravel().tolist()) == {expected}, length


@settings(max_examples=examples(8, 20), deadline=None)
@given(SHAPES, seeds)
def test_softmax_float_agrees(shape: tuple[int, int, int, int], seed: int) -> None:
    x = (np.random.default_rng(seed).standard_normal(shape) * 5).astype(np.float32)
    exponentials = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    op = operator(OpKind.SOFTMAX, p.SoftmaxFloatParams(length=shape[3]), x, images=shape[0])
    np.testing.assert_allclose(run_all_ways(op), exponentials / exponentials.sum(-1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("images", [1, 2])
def test_lookup_covers_all_values(images: int) -> None:
    """Covers a batch of two, taken whole and image by image."""
    x = np.concatenate([np.arange(-128, 128), np.arange(127, -129, -1)]).astype(np.int8).reshape(2, 4, 8, 8)
    table = int8_array(np.random.default_rng(7), (256,))
    op = operator(OpKind.LOOKUP, p.LookupParams(table=0), x, images=images, table=table)
    np.testing.assert_array_equal(run_all_ways(op), table[x.astype(np.int64) + 128])


def quantize(x: np.ndarray, scale: float, zero: int, rounding: Rounding, dtype: DType = DType.INT8) -> np.ndarray:
    if dtype is DType.INT16:
        return run_all_ways(operator(OpKind.QUANTIZE, p.QuantizeInt16Params(scale, zero, rounding), x, dtype=dtype))
    table = numerics.quantise_table(scale, zero, rounding)
    params = p.QuantizeParams(scale, zero, 0, rounding)
    return run_all_ways(operator(OpKind.QUANTIZE, params, x, dtype=dtype, table=table))


def nearest(x: np.ndarray, rounding: Rounding) -> np.ndarray:
    """By decimal arithmetic."""
    rule = decimal.ROUND_HALF_EVEN if rounding is Rounding.HALF_EVEN else decimal.ROUND_HALF_UP
    found = [int(decimal.Decimal(float(value)).to_integral_value(rule)) for value in x.ravel()]
    return np.array(found).reshape(x.shape)


@pytest.mark.parametrize("dtype", [DType.INT8, DType.INT16])
@pytest.mark.parametrize("rounding", Rounding)
@pytest.mark.parametrize(("scale", "zero"), [(0.25, 3), (0.1, -128), (3.7e-5, 127), (1e-38, 0), (2.0**100, -9)])
def test_quantize_rounds_halves_by_its_rule_and_saturates(scale: float, zero: int, rounding: Rounding,
                                                          dtype: DType) -> None:  # fmt: skip
    """Values lie at every half, beside it, and far outside the range."""
    halves = (np.arange(-141, 141) * 0.5).astype(np.float32) * np.float32(scale)
    beside = [np.nextafter(halves, np.float32(way)) for way in (-np.inf, np.inf)]
    few = np.array([1e38, -1e38, np.inf, -np.inf, 0.0, -0.0], np.float32)
    x = np.concatenate([halves, *beside, few]).astype(np.float32).reshape(1, 4, 71, 3)
    with np.errstate(over="ignore"):
        expected = np.clip(nearest(np.clip(x / np.float32(scale), -1e6, 1e6), rounding) + zero, *numerics.limits(dtype))
    np.testing.assert_array_equal(quantize(x, float(np.float32(scale)), zero, rounding, dtype), expected)


def test_quantize_of_nan_is_the_lowest_value() -> None:
    x = np.array([np.nan, -np.nan], np.float32).reshape(1, 1, 1, 2)
    assert quantize(x, 1.0, 0, Rounding.HALF_AWAY).ravel().tolist() == [-128, -128]


def test_dequantize_is_exact() -> None:
    x = np.arange(-128, 128).astype(np.int8).reshape(1, 8, 8, 4)
    scale = float(np.float32(0.037))
    op = operator(OpKind.DEQUANTIZE, p.QuantizeParams(scale, -5, 0, 0), x, output_dtype=DType.FLOAT32,
                  table=numerics.dequantise_table(scale, -5))  # fmt: skip
    expected = (x.astype(np.int32) + 5).astype(np.float32) * np.float32(0.037)
    np.testing.assert_array_equal(run_all_ways(op), expected)


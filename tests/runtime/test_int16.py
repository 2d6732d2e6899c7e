"""Kernels of int16 against numpy, in every way a stage can run them, and requantisation in C. tests/tflite compares the
operators with TensorFlow Lite Micro."""

import functools
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.tiers import examples
from tests.runtime import references
from tests.runtime.build import SANITIZERS, compile_program
from tests.runtime.kernel_harness import SAME, operator, run_all_ways
from tests.runtime.references import high_multiply, requantise, rounding_divide
from tests.runtime.strategies import Window, int8_array, seeds, windows
from tests.runtime.test_conv import OFFSETS, conv_sum, depthwise_sum
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower.numerics import reduced_multiplier
from tigris_pio.compiler.lower.operators.int16.lines import interpolate
from tigris_pio.format import params as p
from tigris_pio.format.enums import DType, OpKind

INT8, INT16 = DType.INT8, DType.INT16
TYPES = {INT8: np.int8, INT16: np.int16}


int16_array = functools.partial(int8_array, dtype=np.int16)


def scaled(sums: np.ndarray, multiplier: np.ndarray | int, shift: np.ndarray | int, sum_bits: int) -> np.ndarray:
    """Requantises sums in Python integers, and clamps them to int16."""
    if sum_bits == 32:
        wrapped = (sums + (1 << 31)) % (1 << 32) - (1 << 31)
        result = references.requantise(wrapped, multiplier, shift)
    else:
        right = 15 - np.asarray(shift, np.int64)
        result = (sums * np.asarray(multiplier, np.int64) + (np.int64(1) << (right - 1))) >> right
    return np.clip(result, -32768, 32767)


def constants(random: np.random.Generator, channels: int, fan_in: int, sum_bits: int) -> dict[str, np.ndarray]:
    """Biases, and multipliers and shifts that bring typical sums into the int16 range."""
    multiplier, shift = references.multipliers(random.uniform(0.2, 3.0, channels) / 70 / fan_in**0.5)
    if sum_bits == 64:
        multiplier = np.array([reduced_multiplier(one) for one in multiplier.tolist()], np.int32)
    return {"bias": random.integers(-(1 << 24), 1 << 24, channels), "multiplier": multiplier, "shift": shift}


@settings(max_examples=examples(16, 40), deadline=None)
@given(windows(), st.sampled_from((OpKind.CONV_2D, OpKind.DEPTHWISE_CONV_2D)), st.sampled_from((32, 64)),
       st.sampled_from((1, 2)), st.tuples(st.integers(1, 6), st.integers(1, 5), st.integers(1, 6)), seeds)
def test_convolutions(w: Window, kind: OpKind, sum_bits: int, weight_bytes: int, sizes: tuple[int, int, int],
                      seed: int) -> None:
    random, (groups, group_inputs, group_outputs) = np.random.default_rng(seed), sizes
    depthwise = kind is OpKind.DEPTHWISE_CONV_2D
    if depthwise:
        group_inputs, weight_bytes = 1, 1
    outputs, fan_in = groups * group_outputs, w.kernel[0] * w.kernel[1] * group_inputs
    x = int16_array(random, (1, *w.input, groups * group_inputs))
    shape = (*w.kernel, outputs) if depthwise else (outputs, *w.kernel, group_inputs)
    weights = int8_array(random, shape) if weight_bytes == 1 else int16_array(random, shape)
    made = constants(random, outputs, fan_in * (1 if weight_bytes == 1 else 1 << 16), sum_bits)
    wide = (x.astype(np.int64), weights.astype(np.int64), w)
    sums = depthwise_sum(*wide) if depthwise else conv_sum(*wide, groups)
    expected = scaled(sums + made["bias"], made["multiplier"], made["shift"], sum_bits)
    params = p.ConvInt16Params(**w.geometry, groups=1 if depthwise else groups, sum_bits=sum_bits,
                             weight_bytes=weight_bytes, activation_min=-20000, activation_max=32767, **OFFSETS)
    op = operator(kind, params, x, rows=w.rows, out=(1, *w.output, outputs), weights=weights, **made)
    np.testing.assert_array_equal(run_all_ways(op), np.maximum(expected, -20000))


@pytest.mark.parametrize("sum_bits", [32, 64])
@pytest.mark.parametrize("inputs", [1, 255, 256, 257, 1500])
def test_sums_of_the_largest_products(inputs: int, sum_bits: int) -> None:
    """Long vectors of nothing but -32768 and -128: 32 bits wrap, 64 do not."""
    x, weights = np.full((1, 2, 1, inputs), -32768, np.int16), np.full((3, inputs), -128, np.int8)
    multiplier, shift = (1 << 14, -18) if sum_bits == 64 else (1 << 30, -18)
    bias = np.array([0, 1 << 40, -5])
    params = p.FullyConnectedInt16Params(2, inputs, 3, sum_bits, -32768, 32767, 0, 0, 0, 0)
    op = operator(OpKind.FULLY_CONNECTED, params, x, out=(1, 2, 1, 3), weights=weights, bias=bias,
                  multiplier=np.full(3, multiplier, np.int32), shift=np.full(3, shift, np.int8))
    expected = scaled(np.int64(inputs << 22) + bias, multiplier, shift, sum_bits)
    np.testing.assert_array_equal(run_all_ways(op).reshape(2, 3), np.stack([expected, expected]))


@settings(max_examples=examples(12, 30), deadline=None)
@given(st.integers(1, 4), st.integers(1, 40), st.integers(1, 4), seeds)
def test_products(rows: int, depth: int, columns: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    a, b = int16_array(random, (1, rows, 1, depth)), int16_array(random, (1, depth, 1, columns))
    params = p.MatMulInt16Params((1, 1, 1), rows, depth, columns, (0, 0, 0), depth, 1, (0, 0, 0), columns, 1, 0, 20000,
                               -13, -32768, 32767)
    op = operator(OpKind.MAT_MUL, params, a, b, rows=(SAME, RowMap.whole(depth)), out=(1, rows, 1, columns))
    sums = a.reshape(rows, depth).astype(np.int64) @ b.reshape(depth, columns).astype(np.int64)
    np.testing.assert_array_equal(run_all_ways(op).reshape(rows, columns), scaled(sums, 20000, -13, 64))


@settings(max_examples=examples(16, 40), deadline=None)
@given(st.sampled_from(((INT8, INT16), (INT16, INT8), (INT16, INT16))), st.integers(0, 3),
       st.lists(st.tuples(st.integers(1 << 30, (1 << 31) - 1) | st.integers(0, 9), st.integers(-9, 9)), min_size=2,
                max_size=2), seeds)
def test_rescaling(types: tuple[DType, DType], negate: int, pairs: list[tuple[int, int]], seed: int) -> None:
    random = np.random.default_rng(seed)
    x = (int8_array if types[0] is INT8 else int16_array)(random, (1, 5, 3, 7))
    ends = [np.iinfo(TYPES[kind]) for kind in types]
    zero, target = (int(random.integers(end.min, end.max + 1)) for end in ends)
    low, high = int(random.integers(ends[1].min, 1)), int(random.integers(ends[1].max + 1))
    params = p.RescaleParams(zero, target, (pairs[0][0], pairs[1][0]), (pairs[0][1], pairs[1][1]), negate, low, high)
    op = operator(OpKind.RESCALE, params, x, dtype=INT16, output_dtype=types[1])
    difference = x.astype(np.int64) - zero
    parts = [(-1 if negate >> below & 1 else 1) * references.requantise(difference, *pairs[below]) for below in (0, 1)]
    expected = np.clip(np.where(difference < 0, parts[1], parts[0]) + target, low, high)
    np.testing.assert_array_equal(run_all_ways(op), expected)


def test_straight_lines() -> None:
    """Looks up all values in tables whose lines leave the output's range."""
    random = np.random.default_rng(2)
    table = random.integers(-(1 << 22), (1 << 22) + 1, 513).astype(np.int32)
    x = np.arange(-32768, 32768, dtype=np.int16).reshape(1, 64, 32, 32)
    op = operator(OpKind.LOOKUP, p.LookupInt16Params(0), x, table=table)
    np.testing.assert_array_equal(run_all_ways(op), interpolate(table, x.astype(np.int64)))


# Requantisation in C, value by value, against gemmlowp's definitions in exact integers.

SOURCE = r"""
#include <stdio.h>
#include "kernels/requantise.h"
int main(void)
{
    int32_t value, multiplier, shift;
    while (scanf("%d %d %d", &value, &multiplier, &shift) == 3)
        printf("%d %d %d %d\n", (int)tigris_high_multiply(value, multiplier),
               (int)tigris_rounding_shift(value, (uint32_t)shift), (int)tigris_requantise(value, multiplier, -shift),
               (int)tigris_requantise(value, multiplier, shift));
    return 0;
}
"""

EXTREMES = [-(2**31), -(2**31) + 1, -(2**30), -3, -2, -1, 0, 1, 2, 3, 2**30, 2**30 + 1, 2**31 - 2, 2**31 - 1]


def _cases() -> np.ndarray:
    random = np.random.default_rng(1)
    grid = np.array([(a, b, s) for a in EXTREMES for b in EXTREMES for s in (0, 1, 2, 15, 30, 31)], np.int64)
    wide = random.integers(-(2**31), 2**31, (20000, 3), np.int64)
    wide[:, 2] = random.integers(0, 32, 20000)
    # Products near halves, where the two roundings differ from one.
    halves = wide.copy()
    halves[:, 0] = random.integers(-64, 64, 20000)
    halves[:, 1] = random.choice([2**30, 3 * 2**29, 2**29 + 1, 2**30 - 1], 20000)
    near = np.array([(odd << shift, 2**30, shift) for shift in range(24) for odd in range(-9, 10)], np.int64)
    return np.concatenate([grid, wide, halves, near])


def test_requantise_is_gemmlowps_arithmetic(tmp_path: Path) -> None:
    cases = _cases()
    (tmp_path / "requantise.c").write_text(SOURCE)
    program = compile_program(tmp_path / "requantise", [tmp_path / "requantise.c"], *SANITIZERS)
    text = "\n".join(" ".join(map(str, case)) for case in cases.tolist())
    result = subprocess.run([str(program)], input=text, capture_output=True, text=True, check=True)
    actual = np.array([line.split() for line in result.stdout.splitlines()], np.int64)
    value, multiplier, shift = cases.T
    np.testing.assert_array_equal(actual[:, 0], high_multiply(value, multiplier))
    np.testing.assert_array_equal(actual[:, 1], rounding_divide(value, shift))
    np.testing.assert_array_equal(actual[:, 2], requantise(value, multiplier, -shift))
    left = shift > 0  # what leaves 32 bits there stays beyond all types that results are bounded to
    most = 2**30 >> shift[left]
    shifted = np.clip(value[left], -most, most) << shift[left]
    np.testing.assert_array_equal(actual[left, 3], high_multiply(shifted, multiplier[left]))

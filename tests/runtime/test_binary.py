"""ADD, SUB and MUL with broadcasting against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.tiers import examples
from tests.runtime import references
from tests.runtime.kernel_harness import SAME, Shape, Way, operator, run, run_all_ways
from tests.runtime.strategies import int8_array, seeds
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.format.enums import OpKind
from tigris_pio.format.params import BinaryFloatParams, BinaryInt8Params

KINDS = st.sampled_from([OpKind.ADD, OpKind.SUB, OpKind.MUL])


@st.composite
def shape_pairs(draw: Any) -> tuple[Shape, Shape, Shape]:
    """Two shapes that broadcast, and the result; the batch is broadcast too, one image at a time."""
    out = tuple(draw(st.integers(1, high)) for high in (2, 6, 4, 5))
    masks = [draw(st.tuples(*[st.booleans()] * 4)) for _ in range(2)]
    a, b = (tuple(1 if drop else extent for drop, extent in zip(mask, out, strict=True)) for mask in masks)
    result = tuple(max(x, y) for x, y in zip(a, b, strict=True))
    return a, b, result  # type: ignore[return-value]


def steps(shape: Shape, out: Shape) -> tuple[int, int, int]:
    """Row, column and channel step of an input."""
    _, height, width, channels = shape
    row = width * channels if height == out[1] and height > 1 else 0
    return row, channels if width > 1 else 0, 1 if channels > 1 else 0


def row_maps(out: Shape, *inputs: np.ndarray) -> tuple[RowMap, ...]:
    return tuple(SAME if x.shape[1] == out[1] else RowMap.whole(x.shape[1]) for x in inputs)


def step_fields(a: Shape, b: Shape, out: Shape) -> dict[str, tuple[int, int]]:
    first, second = steps(a, out), steps(b, out)
    names = ("row_step", "column_step", "channel_step")
    return {name: (first[i], second[i]) for i, name in enumerate(names)}


def int8_params(kind: OpKind, random: np.random.Generator, fields: dict[str, tuple[int, int]]) -> BinaryInt8Params:
    scale = random.uniform(0.01, 0.1, 3)
    left_shift = 0 if kind == OpKind.MUL else 20
    if kind == OpKind.MUL:
        inputs = [(0, 0), (0, 0)]
        output = references.quantised_multiplier(scale[0] * scale[1] / scale[2])
    else:
        twice = 2 * max(scale[0], scale[1])
        inputs = [references.quantised_multiplier(s / twice) for s in scale[:2]]
        output = references.quantised_multiplier(twice / ((1 << left_shift) * scale[2]))
    zeros = tuple(int(v) for v in random.integers(-128, 128, 2))
    return BinaryInt8Params(zeros, (inputs[0][0], inputs[1][0]), (inputs[0][1], inputs[1][1]), left_shift,
                            int(random.integers(-128, 128)), *output, activation_min=-120, activation_max=127, **fields)


def int8_expected(kind: OpKind, params: BinaryInt8Params, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    centred = [x.astype(np.int64) - params.zero_point[i] for i, x in enumerate((a, b))]
    if kind == OpKind.MUL:
        total = centred[0] * centred[1]
    else:
        first, second = (references.requantise(x << params.left_shift, params.multiplier[i], params.shift[i])
                         for i, x in enumerate(centred))  # fmt: skip
        total = first + second if kind == OpKind.ADD else first - second
    scaled = references.requantise(total, params.output_multiplier, params.output_shift)
    return np.clip(scaled + params.output_zero_point, params.activation_min, params.activation_max)


@settings(max_examples=examples(32, 80), deadline=None)
@given(KINDS, shape_pairs(), seeds)
def test_int8_is_exact(kind: OpKind, shapes: tuple[Shape, Shape, Shape], seed: int) -> None:
    a_shape, b_shape, out = shapes
    random = np.random.default_rng(seed)
    a, b = int8_array(random, a_shape), int8_array(random, b_shape)
    params = int8_params(kind, random, step_fields(a_shape, b_shape, out))
    op = operator(kind, params, a, b, rows=row_maps(out, a, b), out=out, images=out[0])
    np.testing.assert_array_equal(run_all_ways(op), int8_expected(kind, params, a, b))


@pytest.mark.parametrize(("left_shift", "shifts", "output_shift"),
                         [(2, (-1, -3), -2), (0, (1, 0), 1), (1, (2, -2), -3)])  # fmt: skip
@pytest.mark.parametrize("kind", [OpKind.ADD, OpKind.SUB])
def test_sums_of_all_values(kind: OpKind, left_shift: int, shifts: tuple[int, int], output_shift: int) -> None:
    """Without the 20 bits by which converters shift to the left, so that each rounding shows, of negative halves too;
    and by scales that shift to the left themselves."""
    every = np.arange(-128, 128, dtype=np.int8)
    a, b = np.broadcast_to(every[:, np.newaxis], (256, 256)), np.broadcast_to(every, (256, 256))
    inputs = tuple(np.ascontiguousarray(x).reshape(1, 256, 1, 256) for x in (a, b))
    shape = inputs[0].shape
    params = BinaryInt8Params((0, 0), (1 << 30, 3 << 29), shifts, left_shift, 0, 1 << 30, output_shift, -128, 127,
                              **step_fields(shape, shape, shape))
    np.testing.assert_array_equal(run(operator(kind, params, *inputs), Way(256)), int8_expected(kind, params, *inputs))


@settings(max_examples=examples(16, 40), deadline=None)
@given(KINDS, shape_pairs(), seeds)
def test_float_agrees(kind: OpKind, shapes: tuple[Shape, Shape, Shape], seed: int) -> None:
    a_shape, b_shape, out = shapes
    random = np.random.default_rng(seed)
    a, b = (random.standard_normal(shape).astype(np.float32) for shape in (a_shape, b_shape))
    expected = {OpKind.ADD: np.add, OpKind.SUB: np.subtract, OpKind.MUL: np.multiply}[kind](a, b)
    params = BinaryFloatParams(activation_min=-np.inf, activation_max=np.inf, **step_fields(a_shape, b_shape, out))
    op = operator(kind, params, a, b, rows=row_maps(out, a, b), out=out, images=out[0])
    np.testing.assert_array_equal(run_all_ways(op), expected)

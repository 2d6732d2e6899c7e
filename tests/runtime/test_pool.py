"""Average and max pooling, and ADD, SUB and MUL, against numpy."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.tiers import examples
from tests.runtime import references
from tests.runtime.kernel_harness import SAME, Shape, Way, operator, run, run_all_ways
from tests.runtime.strategies import Window, int8_array, seeds, windows
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.format.enums import OpKind
from tigris_pio.format.params import BinaryFloatParams, BinaryInt8Params, PoolFloatParams, PoolInt8Params


def taps_and_validity(x: np.ndarray, window: Window) -> tuple[np.ndarray, np.ndarray]:
    """[batch, y, x, taps, channels] values (0 in the padding) and which of them are real."""

    def flat(array: np.ndarray) -> np.ndarray:
        padded = references.pad_rows_and_columns(array, window.pads, 0)
        parts = references.windows(padded, window.kernel, window.stride, window.dilation, window.output)
        return parts.reshape(*parts.shape[:3], -1, parts.shape[-1])

    return flat(x.astype(np.float64)), flat(np.ones(x.shape, bool)) > 0


def int8_output(kind: OpKind, w: Window, x: np.ndarray, *, zeros: tuple[int, int] = (0, 0), include_pad: bool = False,
                limits: tuple[int, int] = (-128, 127), **means: np.ndarray) -> np.ndarray:  # fmt: skip
    """The kernel's output. `means`: multipliers and shifts for each number of taps, if the kernel rescales."""
    params = PoolInt8Params(**w.geometry, rescale=int(bool(means)), include_pad=int(include_pad),
                            input_zero_point=zeros[0], output_zero_point=zeros[1], activation_min=limits[0],
                            activation_max=limits[1], multiplier=0, shift=0)  # fmt: skip
    shape = (len(x), *w.output, x.shape[3])
    return run_all_ways(operator(kind, params, x, rows=w.rows, out=shape, images=len(x), **means))


def clip_range(random: np.random.Generator) -> tuple[int, int]:
    low, high = sorted(random.integers(-128, 128, 2).tolist())
    return (int(low), int(high)) if random.random() < 0.3 else (-128, 127)


@settings(max_examples=examples(16, 40), deadline=None)
@given(windows(), st.integers(1, 2), st.integers(1, 5), st.booleans(), seeds)
def test_average_int8_is_exact(w: Window, batch: int, channels: int, include_pad: bool, seed: int) -> None:
    random = np.random.default_rng(seed)
    zero = int(random.integers(-128, 128))
    limits = clip_range(random)
    x = int8_array(random, (batch, *w.input, channels))
    values, valid = taps_and_validity(x, w)
    count = valid.sum(3)
    mean = np.where(count > 0, values.sum(3) / np.maximum(count, 1), zero)
    if include_pad:
        mean = np.where(valid, values, zero).sum(3) / (w.kernel[0] * w.kernel[1])
    got = int8_output(OpKind.AVERAGE_POOL, w, x, zeros=(zero, zero), include_pad=include_pad, limits=limits)
    np.testing.assert_array_equal(got, np.clip(np.sign(mean) * np.floor(np.abs(mean) + 0.5), *limits))


@settings(max_examples=examples(16, 40), deadline=None)
@given(windows(), st.integers(1, 4), st.booleans(), seeds)
def test_rescaled_average_int8_is_exact(w: Window, channels: int, include_pad: bool, seed: int) -> None:
    random = np.random.default_rng(seed)
    in_zero, out_zero = int(random.integers(-128, 128)), int(random.integers(-128, 128))
    x = int8_array(random, (1, *w.input, channels))
    values, valid = taps_and_validity(x, w)
    total = w.kernel[0] * w.kernel[1]
    multiplier, shift = references.multipliers(random.uniform(0.3, 2.0) / np.arange(1, total + 1))
    count = np.full(valid.sum(3).shape, total) if include_pad else valid.sum(3)
    sums = np.where(valid, values - in_zero, 0).sum(3).astype(np.int64)
    index = np.maximum(count, 1) - 1
    scaled = np.where(count > 0, references.requantise(sums, multiplier[index], shift[index].astype(np.int64)), 0)
    got = int8_output(OpKind.AVERAGE_POOL, w, x, zeros=(in_zero, out_zero), include_pad=include_pad,
                      multiplier=multiplier, shift=shift)  # fmt: skip
    np.testing.assert_array_equal(got, np.clip(scaled + out_zero, -128, 127))


@settings(max_examples=examples(16, 40), deadline=None)
@given(windows(), st.integers(1, 2), st.integers(1, 5), seeds)
def test_max_int8_is_exact(w: Window, batch: int, channels: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    limits = clip_range(random)
    x = int8_array(random, (batch, *w.input, channels))
    values, valid = taps_and_validity(x, w)
    expected = np.clip(np.where(valid, values, -128).max(3), *limits)
    np.testing.assert_array_equal(int8_output(OpKind.MAX_POOL, w, x, limits=limits), expected)


@settings(max_examples=examples(16, 40), deadline=None)
@given(windows(), st.integers(1, 2), st.integers(1, 4), st.booleans(), st.booleans(), seeds)
def test_float_agrees(w: Window, batch: int, channels: int, average: bool, include_pad: bool, seed: int) -> None:
    x = np.random.default_rng(seed).standard_normal((batch, *w.input, channels)).astype(np.float32)
    values, valid = taps_and_validity(x, w)
    count = valid.sum(3)
    if average:
        expected = values.sum(3) / (w.kernel[0] * w.kernel[1] if include_pad else np.maximum(count, 1))
    else:
        # A window that lies wholly in the padding has no maximum; the kernel gives the lowest float.
        expected = np.where(count > 0, np.where(valid, values, -np.inf).max(3), np.finfo(np.float32).min)
    params = PoolFloatParams(**w.geometry, include_pad=int(include_pad and average), activation_min=-np.inf,
                             activation_max=np.inf)  # fmt: skip
    kind = OpKind.AVERAGE_POOL if average else OpKind.MAX_POOL
    op = operator(kind, params, x, rows=w.rows, out=(batch, *w.output, channels), images=batch)
    np.testing.assert_allclose(run_all_ways(op), expected, rtol=1e-5, atol=1e-6)


# ADD, SUB and MUL with broadcasting against numpy.

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
                            int(random.integers(-128, 128)), *output, activation_min=int(random.choice([-128, -120])),
                            activation_max=127, **fields)  # fmt: skip


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


def assert_all_pairs_are_exact(kind: OpKind, params: BinaryInt8Params) -> None:
    every = np.arange(-128, 128, dtype=np.int8)
    pairs = np.broadcast_to(every[:, np.newaxis], (256, 256)), np.broadcast_to(every, (256, 256))
    inputs = tuple(np.ascontiguousarray(x).reshape(ALL_PAIRS) for x in pairs)
    np.testing.assert_array_equal(run(operator(kind, params, *inputs), Way(256)), int8_expected(kind, params, *inputs))


ALL_PAIRS = (1, 256, 1, 256)
#: The first three lack the 20 bits by which converters shift to the left, so that each rounding shows, of negative
#: halves too, or have scales that shift to the left. Half of the fifth's sums lie between two outputs. The last's are
#: too large for one step.
SHIFTS = [(2, (-1, -3), -2), (0, (1, 0), 1), (1, (2, -2), -3), (20, (0, -31), -20), (20, (0, -1), -19),
          (22, (-3, 0), -17), (20, (0, 0), -16)]  # fmt: skip


@pytest.mark.parametrize(("left_shift", "shifts", "output_shift"), SHIFTS)
@pytest.mark.parametrize("kind", [OpKind.ADD, OpKind.SUB])
def test_sums_of_all_values(kind: OpKind, left_shift: int, shifts: tuple[int, int], output_shift: int) -> None:
    params = BinaryInt8Params((0, 0), (1 << 30, 3 << 29), shifts, left_shift, 0, 1 << 30, output_shift, -128, 127,
                              **step_fields(ALL_PAIRS, ALL_PAIRS, ALL_PAIRS))  # fmt: skip
    assert_all_pairs_are_exact(kind, params)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", [OpKind.ADD, OpKind.SUB])
def test_sums_of_all_values_by_any_scales(kind: OpKind, seed: int) -> None:
    fields = step_fields(ALL_PAIRS, ALL_PAIRS, ALL_PAIRS)
    assert_all_pairs_are_exact(kind, int8_params(kind, np.random.default_rng(seed), fields))


@settings(max_examples=examples(16, 40), deadline=None)
@given(KINDS, shape_pairs(), seeds)
def test_float_pairs_agree(kind: OpKind, shapes: tuple[Shape, Shape, Shape], seed: int) -> None:
    a_shape, b_shape, out = shapes
    random = np.random.default_rng(seed)
    a, b = (random.standard_normal(shape).astype(np.float32) for shape in (a_shape, b_shape))
    expected = {OpKind.ADD: np.add, OpKind.SUB: np.subtract, OpKind.MUL: np.multiply}[kind](a, b)
    params = BinaryFloatParams(activation_min=-np.inf, activation_max=np.inf, **step_fields(a_shape, b_shape, out))
    op = operator(kind, params, a, b, rows=row_maps(out, a, b), out=out, images=out[0])
    np.testing.assert_array_equal(run_all_ways(op), expected)

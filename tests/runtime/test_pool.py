"""Average and max pooling against numpy."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.tiers import examples
from tests.runtime import references
from tests.runtime.kernel_harness import Operator, run_all_ways
from tests.runtime.strategies import Window, int8_array, seeds, windows
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import PoolFloatParams, PoolInt8Params


def geometry(window: Window) -> dict[str, int]:
    return {
        "kernel_height": window.kernel[0],
        "kernel_width": window.kernel[1],
        "stride_height": window.stride[0],
        "stride_width": window.stride[1],
        "dilation_height": window.dilation[0],
        "dilation_width": window.dilation[1],
        "pad_left": window.pads[2],
    }


def row_map(window: Window) -> RowMap:
    return RowMap.window(window.kernel[0], window.stride[0], window.dilation[0], window.pads[0])


def taps_and_validity(x: np.ndarray, window: Window) -> tuple[np.ndarray, np.ndarray]:
    """[batch, y, x, taps, channels] values (0 in the padding) and which of them are real."""

    def flat(array: np.ndarray) -> np.ndarray:
        padded = references.pad_rows_and_columns(array, window.pads, 0)
        parts = references.windows(padded, window.kernel, window.stride, window.dilation, window.output)
        return parts.reshape(*parts.shape[:3], -1, parts.shape[-1])

    return flat(x.astype(np.float64)), flat(np.ones(x.shape, bool)) > 0


def half_away(value: np.ndarray) -> np.ndarray:
    return np.sign(value) * np.floor(np.abs(value) + 0.5)


def clip_range(random: np.random.Generator) -> tuple[int, int]:
    low, high = sorted(random.integers(-128, 128, 2).tolist())
    return (int(low), int(high)) if random.random() < 0.3 else (-128, 127)


@settings(max_examples=examples(16, 40), deadline=None)
@given(windows(), st.integers(1, 2), st.integers(1, 5), st.booleans(), seeds)
def test_average_int8_is_exact(w: Window, batch: int, channels: int, include_pad: bool, seed: int) -> None:
    random = np.random.default_rng(seed)
    zero = int(random.integers(-128, 128))
    low, high = clip_range(random)
    x = int8_array(random, (batch, *w.input, channels))
    values, valid = taps_and_validity(x, w)
    if include_pad:
        mean = np.where(valid, values, zero).sum(3) / (w.kernel[0] * w.kernel[1])
    else:
        count = valid.sum(3)
        mean = np.where(count > 0, values.sum(3) / np.maximum(count, 1), zero)
    params = PoolInt8Params(
        **geometry(w),
        rescale=0,
        include_pad=int(include_pad),
        input_zero_point=zero,
        output_zero_point=zero,
        activation_min=low,
        activation_max=high,
        multiplier=0,
        shift=0,
    )
    shape = (batch, *w.output, channels)
    op = Operator(OpKind.AVERAGE_POOL, DType.INT8, params, (x,), (row_map(w),), shape, DType.INT8, images=batch)
    np.testing.assert_array_equal(run_all_ways(op), np.clip(half_away(mean), low, high))


@settings(max_examples=examples(16, 40), deadline=None)
@given(windows(), st.integers(1, 4), st.booleans(), seeds)
def test_rescaled_average_int8_is_exact(w: Window, channels: int, include_pad: bool, seed: int) -> None:
    random = np.random.default_rng(seed)
    in_zero, out_zero = int(random.integers(-128, 128)), int(random.integers(-128, 128))
    x = int8_array(random, (1, *w.input, channels))
    values, valid = taps_and_validity(x, w)
    total = w.kernel[0] * w.kernel[1]
    ratio = random.uniform(0.3, 2.0)
    pairs = [references.quantised_multiplier(ratio / taps) for taps in range(1, total + 1)]
    multiplier, shift = np.array([p[0] for p in pairs], np.int32), np.array([p[1] for p in pairs], np.int8)
    count = np.full(valid.sum(3).shape, total) if include_pad else valid.sum(3)
    sums = np.where(valid, values - in_zero, 0).sum(3).astype(np.int64)
    index = np.maximum(count, 1) - 1
    scaled = np.where(count > 0, references.requantise(sums, multiplier[index], shift[index].astype(np.int64)), 0)
    params = PoolInt8Params(
        **geometry(w),
        rescale=1,
        include_pad=int(include_pad),
        input_zero_point=in_zero,
        output_zero_point=out_zero,
        activation_min=-128,
        activation_max=127,
        multiplier=0,
        shift=0,
    )
    shape = (1, *w.output, channels)
    blobs = {"multiplier": multiplier, "shift": shift}
    op = Operator(OpKind.AVERAGE_POOL, DType.INT8, params, (x,), (row_map(w),), shape, DType.INT8, blobs)
    np.testing.assert_array_equal(run_all_ways(op), np.clip(scaled + out_zero, -128, 127))


@settings(max_examples=examples(16, 40), deadline=None)
@given(windows(), st.integers(1, 2), st.integers(1, 5), seeds)
def test_max_int8_is_exact(w: Window, batch: int, channels: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    low, high = clip_range(random)
    x = int8_array(random, (batch, *w.input, channels))
    values, valid = taps_and_validity(x, w)
    expected = np.clip(np.where(valid, values, -128).max(3), low, high)
    params = PoolInt8Params(
        **geometry(w),
        rescale=0,
        include_pad=0,
        input_zero_point=0,
        output_zero_point=0,
        activation_min=low,
        activation_max=high,
        multiplier=0,
        shift=0,
    )
    shape = (batch, *w.output, channels)
    op = Operator(OpKind.MAX_POOL, DType.INT8, params, (x,), (row_map(w),), shape, DType.INT8, images=batch)
    np.testing.assert_array_equal(run_all_ways(op), expected)


@settings(max_examples=examples(16, 40), deadline=None)
@given(windows(), st.integers(1, 2), st.integers(1, 4), st.booleans(), st.booleans(), seeds)
def test_float_agrees(w: Window, batch: int, channels: int, average: bool, include_pad: bool, seed: int) -> None:
    random = np.random.default_rng(seed)
    x = random.standard_normal((batch, *w.input, channels)).astype(np.float32)
    values, valid = taps_and_validity(x, w)
    count = valid.sum(3)
    if average:
        total = w.kernel[0] * w.kernel[1]
        expected = values.sum(3) / (total if include_pad else np.maximum(count, 1))
    else:
        expected = np.where(valid, values, -np.inf).max(3)
        # A window that lies wholly in the padding has no maximum; the kernel gives the lowest float.
        expected = np.where(count > 0, expected, np.finfo(np.float32).min)
    params = PoolFloatParams(
        **geometry(w), include_pad=int(include_pad and average), activation_min=-np.inf, activation_max=np.inf
    )
    kind = OpKind.AVERAGE_POOL if average else OpKind.MAX_POOL
    shape = (batch, *w.output, channels)
    op = Operator(kind, DType.FLOAT32, params, (x,), (row_map(w),), shape, DType.FLOAT32, images=batch)
    np.testing.assert_allclose(run_all_ways(op), expected, rtol=1e-5, atol=1e-6)

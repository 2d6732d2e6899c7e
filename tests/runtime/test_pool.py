"""Average and max pooling against numpy."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.tiers import examples
from tests.runtime import references
from tests.runtime.kernel_harness import operator, run_all_ways
from tests.runtime.strategies import Window, int8_array, seeds, windows
from tigris_pio.format.enums import OpKind
from tigris_pio.format.params import PoolFloatParams, PoolInt8Params


def taps_and_validity(x: np.ndarray, window: Window) -> tuple[np.ndarray, np.ndarray]:
    """[batch, y, x, taps, channels] values (0 in the padding) and which of them are real."""

    def flat(array: np.ndarray) -> np.ndarray:
        padded = references.pad_rows_and_columns(array, window.pads, 0)
        parts = references.windows(padded, window.kernel, window.stride, window.dilation, window.output)
        return parts.reshape(*parts.shape[:3], -1, parts.shape[-1])

    return flat(x.astype(np.float64)), flat(np.ones(x.shape, bool)) > 0


def int8_output(kind: OpKind, w: Window, x: np.ndarray, *, zeros: tuple[int, int] = (0, 0), include_pad: bool = False,
                limits: tuple[int, int] = (-128, 127), **means: np.ndarray) -> np.ndarray:  # fmt: skip
    """What the kernel gives; `means`: multipliers and shifts for each number of taps, where they rescale."""
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

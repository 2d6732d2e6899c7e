"""Requantisation for the ESP32-S3's vectors: exact where words are found, for every sum of small layers."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tigris_pio.compiler.backends.pie_scales import Scale, vector_scale


def random_scale(choose: np.random.Generator, channels: int, right: int, spread: int = 2) -> Scale:
    zero_point = int(choose.integers(-128, 128))
    low, high = ((-128, 127), (zero_point, 127), (-100, 90))[int(choose.integers(3))]
    return Scale(choose.integers(1 << 30, (1 << 31) - 1, channels), -choose.integers(right - spread, right + spread,
    channels),
                 choose.integers(-20000, 20000, channels), zero_point, low, high)  # fmt: skip


def test_exact_is_requantise_h() -> None:
    """One channel at a time in Python's whole numbers, after gemmlowp."""
    choose = np.random.default_rng(1)
    scale = random_scale(choose, 40, 9, 8)
    sums = choose.integers(-(1 << 20), 1 << 20, (50, 40))
    for (row, channel), got in np.ndenumerate(scale.exact(sums)):
        shift = int(scale.shift[channel])
        value = ctypes.c_int32(int(sums[row, channel] + scale.offset[channel]) << max(shift, 0)).value
        high = (value * int(scale.multiplier[channel]) + (1 << 30)) >> 31
        right = max(-shift, 0)
        rounded = (abs(high) + (1 << right >> 1)) >> right
        wanted = (rounded if high >= 0 else -rounded) + scale.zero_point
        assert got == min(max(wanted, scale.low), scale.high)


@pytest.mark.parametrize("whole", [False, True])
def test_every_sum_of_a_small_layer(whole: bool) -> None:
    found = 0
    for seed in range(12):
        choose = np.random.default_rng(seed)
        scale, bound = random_scale(choose, 4, 6, 1), choose.integers(20000, 60000, 4)
        words = vector_scale(scale, bound, whole=whole)
        if words is not None:
            sums = np.arange(-bound.min(), bound.min() + 1)[:, None]
            np.testing.assert_array_equal(words.of(sums), scale.exact(sums))
            found += 1
    assert found >= (12 if whole else 6)


def test_sums_that_saturate() -> None:
    """The last bits of the shift do, where outputs are at their limits long before."""
    scale = Scale(np.full(2, 1500000000), np.array([-9, -9]), np.array([5, -5]), 3)
    bound = np.full(2, 5_000_000)
    words = vector_scale(scale, bound, whole=True, doublings=2)
    assert words is not None and words.left > 8
    sums = np.random.default_rng(1).integers(-5_000_000, 5_000_001, (100000, 2))
    np.testing.assert_array_equal(words.of(sums), scale.exact(sums))


@pytest.mark.parametrize("scale, bound", [
    (Scale(np.array([1 << 30]), np.array([4]), np.array([0]), 0), 1000),  # outputs faster than sums
    (Scale(np.array([0]), np.array([-4]), np.array([0]), 0), 1000),
    (Scale(np.array([1 << 30, 1 << 30]), np.array([-3, -26]), np.zeros(2, np.int64), 0), 1000),  # too far apart
    (Scale(np.array([1 << 30]), np.array([-30]), np.array([0]), 100), 1000),  # an offset beyond a word
])  # fmt: skip
def test_what_has_no_words_is_none(scale: Scale, bound: int) -> None:
    assert vector_scale(scale, np.full(len(scale.shift), bound)) is None

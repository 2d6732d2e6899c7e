"""Requantisation for the ESP32-S3's vectors: words that give the portable kernels' bytes, proven channel by channel.

The chip multiplies lanes of 16 bits into accumulators of 40. With x the sum of a channel's products:

    t = (x << left) + offset          saturated to 32 bits; zero point, bias, rounding and what the input's zero point adds
                                      are all in `offset`
    high, low = t >> 16, t & 0xffff
    y = high * m_high + ((low * m_high + high * m_low) >> 16) - (step if high < border else 0)
    output = saturated(y >> right) >> 8      to 16 bits, then held between the activation's limits

which is floor(t * m / 2^(32 + right)) / 256 but for low * m_low, with m = m_high * 2^16 + m_low and m_low signed. That
is left out where sums are short, and matters where they are long: there it is added in, `whole`. TensorFlow Lite rounds
the product to h, halves up, and h / 2^e to the nearest, halves away from zero: floor((x * m + c) / 2^e) with one c for
outputs from the zero point on and one that is less by a unit of h for those below, which is `step`. Where the change lies
between does not matter within half an output. Both are steps that only rise with x, so they agree everywhere if every
output begins at the same x: that is what is compared here, over all sums that can occur, and what multipliers and
offsets next to the nearest are chosen for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.int64]

INT8 = (-128, 127)
#: Sums are below 2^31 when shifted; what is left of 32 bits is for the offset.
SUM_BITS = 31
MOST_LEFT = 12
#: Multipliers that are tried: the nearest and so many to both sides, together this part of it.
TRIED, SPREAD = 40, 2.0**-21


@dataclass(frozen=True)
class Scale:
    """What a layer's channels are requantised with in the portable kernels: the sums' `offset` (bias, and the input's
    zero point times the weights), and how they become outputs."""

    multiplier: Words
    shift: Words
    offset: Words
    zero_point: int
    low: int = INT8[0]
    high: int = INT8[1]

    def exact(self, sums: Words) -> Words:
        """The outputs of [..., channels], after requantise.h."""
        value = (sums + self.offset) << np.maximum(self.shift, 0)
        high = (value * self.multiplier + (1 << 30)) >> 31
        right = np.maximum(-self.shift, 0)
        mask = (np.int64(1) << right) - 1
        rounded = (high >> right) + ((high & mask) > (mask >> 1) + (high < 0))
        return np.asarray(np.clip(rounded + self.zero_point, self.low, self.high))


@dataclass(frozen=True)
class VectorScale:
    """The words of the vector kernels; `offset`, `multiplier`, `border`, `step`: of each channel. No step at all where no
    output is below the zero point."""

    left: int
    right: int
    offset: Words
    multiplier: Words
    border: Words
    step: Words
    low: int
    high: int
    whole: bool = False

    @property
    def high_words(self) -> Words:
        return (self.multiplier + (1 << 15)) >> 16

    @property
    def low_words(self) -> Words:
        return self.multiplier - (self.high_words << 16)

    def of(self, sums: Words) -> Words:
        """The outputs of [..., channels], as the chip computes them."""
        wide = np.clip((sums << self.left) + self.offset, -(1 << 31), (1 << 31) - 1)
        high, low = wide >> 16, wide & 0xFFFF
        middle = low * self.high_words + high * self.low_words
        if self.whole:  # the digits of m for `low`, which has no sign, have none
            middle = ((low * (self.multiplier & 0xFFFF)) >> 16) + low * (self.multiplier >> 16) + high * self.low_words
        product = high * self.high_words + (middle >> 16)
        product -= np.where(high < self.border, self.step, 0)
        return np.asarray(np.clip(np.clip(product >> self.right, -(1 << 15), (1 << 15) - 1) >> 8, self.low, self.high))


def vector_scale(scale: Scale, bound: Words, left: int | None = None, whole: bool = False) -> VectorScale | None:
    """Words that give what `scale` gives for all sums from -bound to bound of each channel; None if there are none.

    left: the shift of the sums, where the kernel has only one.
    """
    if left is None:
        left = min(MOST_LEFT, SUM_BITS - int(bound.max()).bit_length())
    real = scale.multiplier * np.exp2(scale.shift - 31.0)
    if left < 0 or not real.all() or np.any(int(bound.max()) << left >= 1 << SUM_BITS):
        return None
    right = int(np.floor(np.log2(((1 << 31) - (1 << 16)) / real.max()))) - 40 + left
    if not 0 <= right <= 31:
        return None
    nearest = np.rint(real * np.exp2(40.0 + right - left)).astype(np.int64)
    shift = np.maximum(-scale.shift, 0)
    above = np.where(shift > 0, 0.5 + np.exp2(-1.0 - shift), 0.5)
    middle = np.rint((scale.offset + (scale.zero_point + above) / real) * np.exp2(left)).astype(np.int64)
    unit = np.exp2(8.0 + right - shift) * (shift > 0)
    if np.abs(middle).max() >= 1 << 31 or np.any(nearest << left < 1 << 33):
        return None  # beyond a word; or so small that outputs might fall where sums rise
    step = np.zeros_like(middle)
    if scale.low < scale.zero_point:
        if np.any((unit != np.rint(unit)) | (unit >= 1 << 15)):
            return None
        step = unit.astype(np.int64)
    border = np.rint((scale.zero_point + above) / real * np.exp2(left)).astype(np.int64) >> 16
    return _proven(scale, bound,
                   VectorScale(left, right, middle, nearest, border, step, scale.low, scale.high, whole))  # fmt: skip


def _proven(scale: Scale, bound: Words, near: VectorScale) -> VectorScale | None:
    """With the multipliers next to the nearest that leave most room to offsets, and offsets in its middle."""
    wanted = thresholds(scale.exact, bound, scale.low, scale.high)
    levels = np.arange(scale.low + 1, scale.high + 1)[:, None]
    outputs = levels * np.exp2(40.0 + near.right) + np.where(levels <= scale.zero_point, near.step * 2.0**32, 0)
    reached = (wanted > -bound) & (wanted <= bound)
    width = np.full(len(bound), -np.inf)
    offset, multiplier = near.offset.astype(float), near.multiplier.copy()
    for by in range(-TRIED, TRIED + 1):
        tried = near.multiplier + np.rint(near.multiplier * (SPREAD * by / TRIED)).astype(np.int64)
        places = outputs / tried - wanted * np.exp2(near.left)
        least = np.where(reached, places, -np.inf).max(axis=0)
        most = np.where(reached, places, np.inf).min(axis=0) + np.exp2(near.left)
        wider = (most - least > width) & np.isfinite(least)
        width = np.where(wider, most - least, width)
        offset = np.where(wider, (least + most) / 2, offset)
        multiplier = np.where(wider, tried, multiplier)
    found = replace(near, offset=np.rint(offset).astype(np.int64), multiplier=multiplier)
    return found if np.array_equal(thresholds(found.of, bound, scale.low, scale.high), wanted) else None


def thresholds(function: Callable[[Words], Words], bound: Words, low: int, high: int) -> Words:
    """[outputs above `low`, channels]: the least sum with at least that output; bound + 1 where there is none."""
    levels = np.arange(low + 1, high + 1, dtype=np.int64)[:, None]
    first = np.broadcast_to(-bound, (len(levels), len(bound))).astype(np.int64)
    last = np.broadcast_to(bound + 1, first.shape).astype(np.int64)
    while np.any(first < last):
        middle = (first + last) >> 1
        reached = (function(np.minimum(middle, bound)) >= levels) & (middle <= bound)
        open_ranges = first < last
        last = np.where(reached & open_ranges, middle, last)
        first = np.where(~reached & open_ranges, middle + 1, first)
    return last

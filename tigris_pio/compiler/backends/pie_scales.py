"""Requantisation for the ESP32-S3's vectors: words that give the portable kernels' bytes, proven channel by channel.

The chip multiplies lanes of 16 bits into accumulators of 40. With x the sum of a channel's products:

    t = (x << left) + offset          saturated to 32 bits; zero point, bias, rounding and what the input's zero point adds
                                      are all in `offset`
    high, low = t >> 16, t & 0xffff
    y = high * m_high + ((fraction + low * m_high + high * m_low) >> 16) - (step if high < border else 0)
    output = saturated(y >> right) >> 8      to 16 bits, then held between the activation's limits

which is floor((t * m + fraction * 2^16) / 2^(32 + right)) / 256 but for low * m_low, with m = m_high * 2^16 + m_low and m_low signed. That
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
INT32 = (-(1 << 31), (1 << 31) - 1)
#: Sums are below 2^31 when shifted, before the bits that saturate.
SUM_BITS = 31
MOST_LEFT = 12
#: Multipliers next to the nearest: so many on each side, this part of it apart; of these so many are tried, those first
#: that leave most room to offsets.
NEXT, APART, TRIED = 150, 2.0**-25, 60


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
    """The words of the vector kernels; arrays: of each channel. No step at all where no
    output is below the zero point."""

    left: int
    right: int
    offset: Words
    fraction: Words
    multiplier: Words
    border: Words
    step: Words
    low: int
    high: int
    whole: bool = False
    doublings: int = 0

    @property
    def high_words(self) -> Words:
        return (self.multiplier + (1 << 15)) >> 16

    @property
    def low_words(self) -> Words:
        return self.multiplier - (self.high_words << 16)

    def of(self, sums: Words) -> Words:
        """The outputs of [..., channels], as the chip computes them."""
        shifted = np.clip(sums << self.left, *INT32)
        wide = np.clip(shifted + self.offset, *INT32)
        high, low = wide >> 16, wide & 0xFFFF
        middle = self.fraction + low * self.high_words + high * self.low_words
        if self.whole:  # the digits of m for `low`, which has no sign, have none
            least = (low * (self.multiplier & 0xFFFF) + (self.fraction << 16)) >> 16
            middle = least + low * (self.multiplier >> 16) + high * self.low_words
        product = high * self.high_words + (middle >> 16)
        product -= np.where(high < self.border, self.step, 0)
        return np.asarray(np.clip(np.clip(product >> self.right, -(1 << 15), (1 << 15) - 1) >> 8, self.low, self.high))


def vector_scale(scale: Scale, bound: Words, left: int | None = None, whole: bool = False,
                 doublings: int = 0) -> VectorScale | None:  # fmt: skip
    """Words that give what `scale` gives for all sums from -bound to bound of each channel; None if there are none.

    left: the shift of the sums, where the kernel has only one; doublings: so many bits of it saturate.
    """
    real = scale.multiplier * np.exp2(scale.shift - 31.0)
    if not real.all():
        return None
    shift = np.maximum(-scale.shift, 0)
    above = scale.zero_point + np.where(shift > 0, 0.5 + np.exp2(-1.0 - shift), 0.5)
    needed = max(float((np.abs(scale.offset) + above / real).max()), float(_furthest(scale, real, bound).max()))
    if left is None:
        left = min(MOST_LEFT, SUM_BITS - int(bound.max()).bit_length() + doublings,
                   SUM_BITS - 1 - int(np.ceil(np.log2(needed))))  # fmt: skip
    exact = left - doublings
    if exact < 0 or int(bound.max()) << exact >= 1 << SUM_BITS or needed * 2.0**left >= 1 << SUM_BITS:
        return None
    right = int(np.floor(np.log2(((1 << 31) - (1 << 16)) / real.max()))) - 40 + left
    if not 0 <= right <= 31:
        return None
    nearest = np.rint(real * np.exp2(40.0 + right - left)).astype(np.int64)
    unit = np.exp2(8.0 + right - shift) * (shift > 0)
    if np.any(nearest << left < 1 << 33):
        return None  # so small that outputs might fall where sums rise
    step = np.zeros_like(nearest)
    if scale.low < scale.zero_point:
        if np.any((unit != np.rint(unit)) | (unit >= 1 << 15)):
            return None
        step = unit.astype(np.int64)
    border = np.rint(above / real * np.exp2(left)).astype(np.int64) >> 16
    none = np.zeros_like(nearest)
    return _proven(scale, bound, VectorScale(left, right, none, none, nearest, border, step, scale.low, scale.high,
                                             whole, doublings))  # fmt: skip


def _furthest(scale: Scale, real: NDArray[np.float64], bound: Words) -> NDArray[np.float64]:
    """The furthest from 0 that a channel's sum can be where its output is still none of the limits."""
    reach = (max(scale.high - scale.zero_point, scale.zero_point - scale.low) + 1) / real + np.abs(scale.offset)
    return np.minimum(reach, bound)


def _proven(scale: Scale, bound: Words, near: VectorScale) -> VectorScale | None:
    """With multipliers next to the nearest, and offsets in the middle of what these leave."""
    wanted = thresholds(scale.exact, bound, scale.low, scale.high)
    words, open_channels = near, np.arange(len(bound))
    multipliers, offsets = _candidates(near, wanted, bound, scale.zero_point)
    for multiplier, offset in zip(multipliers, offsets, strict=True):
        tried = _with(words, open_channels, multiplier[open_channels], offset[open_channels])
        own = _part(tried, open_channels)
        begins = thresholds(own.of, bound[open_channels], scale.low, scale.high)
        words, open_channels = tried, open_channels[(begins != wanted[:, open_channels]).any(axis=0)]
        if not len(open_channels):
            return words
    return None


def _candidates(near: VectorScale, wanted: Words, bound: Words, zero_point: int) -> tuple[Words, NDArray[np.float64]]:
    """[tried, channels]: multipliers and offsets. An offset must lie between where an output would begin too late and where
    too early, for all of them: those come first that leave it most room there."""
    levels = np.arange(near.low + 1, near.high + 1)[:, None]
    outputs = levels * np.exp2(40.0 + near.right) + np.where(levels <= zero_point, near.step * 2.0**32, 0)
    reached = (wanted > -bound) & (wanted <= bound)
    multipliers = near.multiplier + np.rint(near.multiplier * APART * np.arange(-NEXT, NEXT + 1)[:, None]).astype(np.int64)
    room, offsets = np.zeros(multipliers.shape), np.zeros(multipliers.shape)
    for i, multiplier in enumerate(multipliers):
        places = outputs / multiplier - wanted * 2.0**near.left
        least = np.where(reached, places, -np.inf).max(axis=0, initial=-np.inf)
        most = np.where(reached, places, np.inf).min(axis=0, initial=np.inf) + 2.0**near.left
        room[i], offsets[i] = most - least, np.where(np.isfinite(least), (least + most) / 2, 0)
    order = np.argsort(-room, axis=0, kind="stable")[:TRIED]
    return np.take_along_axis(multipliers, order, axis=0), np.take_along_axis(offsets, order, axis=0)


def _with(words: VectorScale, channels: Words, multiplier: Words, offset: NDArray[np.float64]) -> VectorScale:
    """The words with those of some channels replaced."""
    own = (words.offset.copy(), words.fraction.copy(), words.multiplier.copy())
    whole = np.floor(offset)
    fraction = np.floor((offset - whole) * multiplier / 2.0**16)
    for array, values in zip(own, (whole, fraction, multiplier), strict=True):
        array[channels] = values.astype(np.int64)
    return replace(words, offset=own[0], fraction=own[1], multiplier=own[2])


def _part(words: VectorScale, channels: Words) -> VectorScale:
    """Some channels' words."""
    names = ("offset", "fraction", "multiplier", "border", "step")
    return replace(words, **{name: getattr(words, name)[channels] for name in names})


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

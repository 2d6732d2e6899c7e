"""Requantisation for the ESP32-S3's vectors: words that give the portable kernels' bytes, proven channel by channel.

The chip multiplies lanes of 16 bits into accumulators of 40. With x the sum of a channel's products:

    t = (x << left) + offset          saturated to 32 bits; zero point, bias, rounding and what the input's zero point
                                      adds are all in `offset`
    high, low = t >> 16, t & 0xffff
    y = high * m_high + ((fraction + low * m_high + high * m_low) >> 16) - (step if high < border else 0)
    output = saturated(y >> right) >> 8      to 16 bits, then held between the activation's limits

which is floor((t * m + fraction * 2^16) / 2^(32 + right)) / 256 but for low * m_low, with m = m_high * 2^16 + m_low
and m_low signed. That is left out where sums are short, and matters where they are long: there it is added in,
`whole`. TensorFlow Lite rounds the product to h, halves up, and h / 2^e to the nearest, halves away from zero:
floor((x * m + c) / 2^e) with one c for outputs from the zero point on and one that is less by a unit of h for those
below, which is `step`. Where the change lies between does not matter within half an output. Both are steps that only
rise with x, so they agree everywhere if every output begins at the same x: that is what is compared here, over all
sums that can occur, and what multipliers and offsets next to the nearest are chosen for.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.int64]
Reals = NDArray[np.float64]

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
    if np.any(nearest << left < 1 << 33):
        return None  # so small that outputs might fall where sums rise
    border = np.rint(above / real * np.exp2(left)).astype(np.int64) >> 16
    none, middle = np.zeros_like(nearest), np.rint((scale.offset + above / real) * np.exp2(left)).astype(np.int64)
    unit = np.rint(np.exp2(8.0 + right - shift) * (shift > 0) * (scale.low < scale.zero_point)).astype(np.int64)
    if unit.max() >= 1 << 15:
        return None
    return _proven(scale, bound, VectorScale(left, right, middle, none, nearest, border, unit, scale.low, scale.high,
                                             whole, doublings))  # fmt: skip


def _furthest(scale: Scale, real: Reals, bound: Words) -> Reals:
    """The furthest from 0 that a channel's sum can be where its output is still none of the limits."""
    reach = (max(scale.high - scale.zero_point, scale.zero_point - scale.low) + 1) / real + np.abs(scale.offset)
    return np.minimum(reach, bound)


def _proven(scale: Scale, bound: Words, near: VectorScale) -> VectorScale | None:
    """With multipliers next to the nearest, and offsets and steps in the middle of what these leave."""
    wanted = thresholds(scale.exact, bound, scale.low, scale.high)
    words, open_channels = near, np.arange(len(bound))
    for choice in _choices(near, wanted, bound, scale.zero_point):
        multiplier, offset, step = choice
        tried = _with(words, open_channels, multiplier[open_channels], offset[open_channels], step[open_channels])
        own = _part(tried, open_channels)
        begins = thresholds(own.of, bound[open_channels], scale.low, scale.high)
        words, open_channels = tried, open_channels[(begins != wanted[:, open_channels]).any(axis=0)]
        if not len(open_channels):
            return words
    return None


def _choices(near: VectorScale, wanted: Words, bound: Words, zero_point: int) -> Iterator[tuple[Words, Reals, Words]]:
    """Multipliers, offsets and steps of all channels. An offset must lie between where an output would begin too late
    and
    where too early, for all outputs above the zero point, and less a step for all others: those come first that leave
    most room there. In turn with the step that is one unit of TensorFlow Lite's product, and with any."""
    parts = APART * np.arange(-NEXT, NEXT + 1)[:, None]
    multipliers = near.multiplier + np.rint(near.multiplier * parts).astype(np.int64)
    ways = [near.step] if near.low >= zero_point else [near.step, None]
    rooms, offsets, steps = (np.zeros((len(ways), *multipliers.shape)) for _ in range(3))
    for i, multiplier in enumerate(multipliers):
        above = _limits(near, multiplier, wanted, bound, slice(max(zero_point - near.low, 0), None))
        below = _limits(near, multiplier, wanted, bound, slice(0, max(zero_point - near.low, 0)))
        for j, fixed in enumerate(ways):
            rooms[j, i], offsets[j, i], steps[j, i] = _fitted(above, below, 2.0**32 / multiplier, fixed, near)
    orders = np.argsort(-rooms, axis=1, kind="stable")
    for rank, j in itertools.product(range(TRIED), range(len(ways))):
        order = orders[j, rank][None]
        multiplier = np.take_along_axis(multipliers, order, axis=0)[0]
        offset, step = (np.take_along_axis(part[j], order, axis=0)[0] for part in (offsets, steps))
        yield multiplier, offset, step.astype(np.int64)


def _fitted(above: tuple[Reals, Reals], below: tuple[Reals, Reals], size: Reals, fixed: Words | None,
            near: VectorScale) -> tuple[Reals, Reals, Reals]:  # fmt: skip
    """Room, offset and step, whose unit is `size` of the offset's: one that is `fixed`, or the nearest to what the
    outputs
    below the zero point want."""
    if fixed is None:
        middle, own = _middle(*above, near.offset), _middle(*below, near.offset)
        both = np.isfinite(above[0]) & np.isfinite(below[0])
        step = np.where(both, np.rint((middle - own) / size), near.step)
        offset = np.where(np.isfinite(above[0]) | ~np.isfinite(below[0]), middle, own + step * size)
        return np.minimum(above[1] - above[0], below[1] - below[0]), offset, step
    least = np.maximum(above[0], below[0] + fixed * size)
    most = np.minimum(above[1], below[1] + fixed * size)
    return most - least, _middle(least, most, near.offset), fixed.astype(float)


def _limits(near: VectorScale, multiplier: Words, wanted: Words, bound: Words, part: slice) -> tuple[Reals, Reals]:
    """What offsets must at least be and be below, of each channel, for some of the outputs; infinite where none of
    these
    occurs."""
    outputs = np.arange(near.low + 1, near.high + 1)[part, None] * np.exp2(40.0 + near.right)
    begins = wanted[part]
    reached = (begins > -bound) & (begins <= bound)
    places = outputs / multiplier - begins * 2.0**near.left
    least = np.where(reached, places, -np.inf).max(axis=0, initial=-np.inf)
    return least, np.where(reached, places, np.inf).min(axis=0, initial=np.inf) + 2.0**near.left


def _middle(least: Reals, most: Reals, otherwise: Words) -> Reals:
    """Where both are finite."""
    finite = np.isfinite(least)
    return np.where(finite, np.where(finite, least, 0) / 2 + np.where(finite, most, 0) / 2, otherwise)


def _with(words: VectorScale, channels: Words, multiplier: Words, offset: Reals, step: Words) -> VectorScale:
    """The words with those of some channels replaced."""
    whole = np.floor(offset)
    fraction = np.floor((offset - whole) * multiplier / 2.0**16)
    new = {}
    for name, values in (("offset", whole), ("fraction", fraction), ("multiplier", multiplier), ("step", step)):
        new[name] = getattr(words, name).copy()
        new[name][channels] = np.clip(values, *INT32).astype(np.int64)
    return replace(words, **new)


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

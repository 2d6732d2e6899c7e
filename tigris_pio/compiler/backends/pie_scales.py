"""Requantisation on the ESP32-S3's vectors: finds words (constants) that give the portable kernels' bytes.

`vector_scale` proves this for each channel, over all sums that can occur. The chip multiplies lanes of 16 bits into
accumulators of 40 bits. `offset` holds zero point, bias, rounding and the contribution of the input's zero point. With
x the sum of a channel's products:

    t = (x << left) + offset                saturated to 32 bits
    high, low = t >> 16, t & 0xffff         the halves of t
    y = high * m_high + ((fraction + low * m_high + high * m_low) >> 16) - (step if high < border else 0)
    output = saturated(y >> right) >> 8      to 16 bits, then clamped to the activation's limits

Except for low * m_low, the output is floor((t * m + fraction * 2^16) / 2^(32 + right)) / 256, with m = m_high * 2^16 +
m_low and m_low signed. Short sums do not need low * m_low; for long sums it is added (`whole`).

TensorFlow Lite rounds the product to h, halves up, and h / 2^e to the nearest, halves away from zero. That equals
floor((x * m + c) / 2^e). c is smaller by a unit of h for outputs below the zero point, which `step` expresses. The
place of that change may be off by half an output.

Both functions are monotone in x. They are therefore equal if every output value begins at the same x. The search
compares these thresholds, and tries multipliers and offsets near the nearest ones.
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
#: Shifted sums are below 2^31, without the bits that saturate.
SUM_BITS = 31
MOST_LEFT = 12
#: Candidates of a multiplier: their number on each side of the nearest, their relative distance, and the number that is
#: tried, in the order of their margins for offsets.
NEIGHBOURS, RELATIVE_STEP, MOST_TRIED = 150, 2.0**-25, 60


@dataclass(frozen=True)
class Scale:
    """The requantisation of a layer's channels in the portable kernels.

    offset: added to sums: the bias with the input's zero point folded in
    low, high: limits of outputs
    """

    multiplier: Words
    shift: Words
    offset: Words
    zero_point: int
    low: int = INT8[0]
    high: int = INT8[1]

    def outputs(self, sums: Words) -> Words:
        """The outputs of sums [..., channels], as in requantise.h."""
        value = (sums + self.offset) << np.maximum(self.shift, 0)
        high = (value * self.multiplier + (1 << 30)) >> 31
        right = np.maximum(-self.shift, 0)
        mask = (np.int64(1) << right) - 1
        rounded = (high >> right) + ((high & mask) > (mask >> 1) + (high < 0))
        return np.asarray(np.clip(rounded + self.zero_point, self.low, self.high))


@dataclass(frozen=True)
class VectorScale:
    """The words of a vector kernel; arrays have one for each channel.

    left, right: shifts of sums and outputs
    step: 0 if no output is below the zero point
    whole: whether low * m_low is added
    doublings: bits of the shift `left` that saturate
    """

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

    def outputs(self, sums: Words) -> Words:
        """The outputs of sums [..., channels], as the chip computes them."""
        shifted = np.clip(sums << self.left, *INT32)
        wide = np.clip(shifted + self.offset, *INT32)
        high, low = wide >> 16, wide & 0xFFFF
        middle = self.fraction + low * self.high_words + high * self.low_words
        if self.whole:  # `low` is unsigned, so m is split into unsigned parts for it
            least = (low * (self.multiplier & 0xFFFF) + (self.fraction << 16)) >> 16
            middle = least + low * (self.multiplier >> 16) + high * self.low_words
        product = high * self.high_words + (middle >> 16)
        product -= np.where(high < self.border, self.step, 0)
        return np.asarray(np.clip(np.clip(product >> self.right, -(1 << 15), (1 << 15) - 1) >> 8, self.low, self.high))


def vector_scale(scale: Scale, bound: Words, left: int | None = None, whole: bool = False,
                 doublings: int = 0) -> VectorScale | None:  # fmt: skip
    """Words with the outputs of `scale` for all sums from -bound to bound of each channel; None if there are none.

    left: the shift of sums if the kernel has only one
    doublings: bits of that shift that saturate
    """
    real = scale.multiplier * np.exp2(scale.shift - 31.0)
    if not real.all():
        return None
    shift = np.maximum(-scale.shift, 0)
    above = scale.zero_point + np.where(shift > 0, 0.5 + np.exp2(-1.0 - shift), 0.5)
    needed = max(float((np.abs(scale.offset) + above / real).max()), float(_sum_limits(scale, real, bound).max()))
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
        return None  # so small that outputs might not be monotone
    border = np.rint(above / real * np.exp2(left)).astype(np.int64) >> 16
    zeros, middle = np.zeros_like(nearest), np.rint((scale.offset + above / real) * np.exp2(left)).astype(np.int64)
    unit = np.rint(np.exp2(8.0 + right - shift) * (shift > 0) * (scale.low < scale.zero_point)).astype(np.int64)
    if unit.max() >= 1 << 15:
        return None
    near = VectorScale(left, right, middle, zeros, nearest, border, unit, scale.low, scale.high, whole, doublings)
    return _search_exact(scale, bound, near)


def _sum_limits(scale: Scale, real: Reals, bound: Words) -> Reals:
    """The largest magnitude of each channel's sums whose output is not at a limit."""
    reach = (max(scale.high - scale.zero_point, scale.zero_point - scale.low) + 1) / real + np.abs(scale.offset)
    return np.minimum(reach, bound)


def _search_exact(scale: Scale, bound: Words, near: VectorScale) -> VectorScale | None:
    """Words with equal thresholds for all channels, from the candidates; None if a channel has none."""
    wanted = thresholds(scale.outputs, bound, scale.low, scale.high)
    words, open_channels = near, np.arange(len(bound))
    for choice in _choices(near, wanted, bound, scale.zero_point):
        multiplier, offset, step = choice
        tried = _replaced(words, open_channels, multiplier[open_channels], offset[open_channels], step[open_channels])
        own = _selected(tried, open_channels)
        begins = thresholds(own.outputs, bound[open_channels], scale.low, scale.high)
        words, open_channels = tried, open_channels[(begins != wanted[:, open_channels]).any(axis=0)]
        if not len(open_channels):
            return words
    return None


def _choices(near: VectorScale, wanted: Words, bound: Words, zero_point: int) -> Iterator[tuple[Words, Reals, Words]]:
    """Candidate multipliers, offsets and steps of all channels, those with the largest margin first.

    The margin is the range of offsets with which no output begins too early or too late. Outputs below the zero point
    allow this range minus a step. Steps alternate between one unit of TensorFlow Lite's product and a free value.
    """
    parts = RELATIVE_STEP * np.arange(-NEIGHBOURS, NEIGHBOURS + 1)[:, None]
    multipliers = near.multiplier + np.rint(near.multiplier * parts).astype(np.int64)
    step_rules = [near.step] if near.low >= zero_point else [near.step, None]
    margins, offsets, steps = (np.zeros((len(step_rules), *multipliers.shape)) for _ in range(3))
    for i, multiplier in enumerate(multipliers):
        above = _limits(near, multiplier, wanted, bound, slice(max(zero_point - near.low, 0), None))
        below = _limits(near, multiplier, wanted, bound, slice(0, max(zero_point - near.low, 0)))
        for j, fixed in enumerate(step_rules):
            margins[j, i], offsets[j, i], steps[j, i] = _fit(above, below, 2.0**32 / multiplier, fixed, near)
    orders = np.argsort(-margins, axis=1, kind="stable")
    for rank, j in itertools.product(range(MOST_TRIED), range(len(step_rules))):
        order = orders[j, rank][None]
        multiplier = np.take_along_axis(multipliers, order, axis=0)[0]
        offset, step = (np.take_along_axis(part[j], order, axis=0)[0] for part in (offsets, steps))
        yield multiplier, offset, step.astype(np.int64)


def _fit(above: tuple[Reals, Reals], below: tuple[Reals, Reals], size: Reals, fixed: Words | None,
            near: VectorScale) -> tuple[Reals, Reals, Reals]:  # fmt: skip
    """Margin, offset and step of each channel. size: offset units of a step; fixed: the step, None for the best one"""
    if fixed is None:
        middle, own = _midpoint(*above, near.offset), _midpoint(*below, near.offset)
        both = np.isfinite(above[0]) & np.isfinite(below[0])
        step = np.where(both, np.rint((middle - own) / size), near.step)
        offset = np.where(np.isfinite(above[0]) | ~np.isfinite(below[0]), middle, own + step * size)
        return np.minimum(above[1] - above[0], below[1] - below[0]), offset, step
    least = np.maximum(above[0], below[0] + fixed * size)
    most = np.minimum(above[1], below[1] + fixed * size)
    return most - least, _midpoint(least, most, near.offset), fixed.astype(float)


def _limits(near: VectorScale, multiplier: Words, wanted: Words, bound: Words, part: slice) -> tuple[Reals, Reals]:
    """Lower and upper limit of each channel's offset for some of the outputs; infinite if none of them occurs."""
    outputs = np.arange(near.low + 1, near.high + 1)[part, None] * np.exp2(40.0 + near.right)
    begins = wanted[part]
    reached = (begins > -bound) & (begins <= bound)
    places = outputs / multiplier - begins * 2.0**near.left
    least = np.where(reached, places, -np.inf).max(axis=0, initial=-np.inf)
    return least, np.where(reached, places, np.inf).min(axis=0, initial=np.inf) + 2.0**near.left


def _midpoint(least: Reals, most: Reals, default: Words) -> Reals:
    """The midpoint of two limits if both are finite, `default` otherwise."""
    finite = np.isfinite(least)
    return np.where(finite, np.where(finite, least, 0) / 2 + np.where(finite, most, 0) / 2, default)


def _replaced(words: VectorScale, channels: Words, multiplier: Words, offset: Reals, step: Words) -> VectorScale:
    """The words with new ones for `channels`."""
    whole = np.floor(offset)
    fraction = np.floor((offset - whole) * multiplier / 2.0**16)
    new = {}
    for name, values in (("offset", whole), ("fraction", fraction), ("multiplier", multiplier), ("step", step)):
        new[name] = getattr(words, name).copy()
        new[name][channels] = np.clip(values, *INT32).astype(np.int64)
    return replace(words, **new)


def _selected(words: VectorScale, channels: Words) -> VectorScale:
    """The words of `channels`."""
    names = ("offset", "fraction", "multiplier", "border", "step")
    return replace(words, **{name: getattr(words, name)[channels] for name in names})


def thresholds(function: Callable[[Words], Words], bound: Words, low: int, high: int) -> Words:
    """The least sum with at least each output above `low`, [outputs, channels]; bound + 1 if there is none."""
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

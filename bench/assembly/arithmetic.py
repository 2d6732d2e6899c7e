"""TensorFlow Lite's int8 arithmetic in numpy, as the reference for assembly.

After gemmlowp's fixedpoint.h and TensorFlow Lite's reference kernels (github.com/tensorflow/tflite-micro,
lite/kernels/internal/reference/integer_ops).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def high_multiply(value: Ints, multiplier: Ints | int) -> Ints:
    """round(value * multiplier / 2^31), halves up."""
    return (value * multiplier + (1 << 30)) >> 31


def rounding_shift(value: Ints, exponent: Ints | int) -> Ints:
    """round(value / 2^exponent), halves away from zero."""
    mask = (np.int64(1) << np.asarray(exponent, np.int64)) - 1
    threshold = (mask >> 1) + (value < 0)
    return (value >> np.asarray(exponent, np.int64)) + ((value & mask) > threshold)


def requantise(value: Ints, multiplier: Ints | int, shift: Ints | int) -> Ints:
    """MultiplyByQuantizedMultiplier; a positive shift is to the left."""
    shift = np.asarray(shift, np.int64)
    return rounding_shift(high_multiply(value << np.maximum(shift, 0), multiplier), np.maximum(-shift, 0))


@dataclass(frozen=True)
class Output:
    """Requantisation of sums: each channel's multiplier and shift, the zero point and the activation's limits."""

    multiplier: Ints
    shift: Ints
    zero_point: int
    low: int
    high: int

    def of(self, sums: Ints) -> NDArray[np.int8]:
        scaled = requantise(sums, self.multiplier, self.shift) + self.zero_point
        return np.clip(scaled, self.low, self.high).astype(np.int8)


@dataclass(frozen=True)
class Window:
    """Geometry of a kernel, each as (rows, columns): kernel, stride, output, padding above and on the left."""

    kernel: tuple[int, int]
    stride: tuple[int, int]
    output: tuple[int, int]
    pad: tuple[int, int] = (0, 0)


def patches(data: Ints, window: Window) -> Ints:
    """The windows of [H, W, C] as [output rows, output columns, kernel rows, kernel columns, C]; 0 outside."""
    (kh, kw), (sh, sw), (oh, ow), (top, left) = window.kernel, window.stride, window.output, window.pad
    below = max(0, (oh - 1) * sh + kh - top - data.shape[0])
    right = max(0, (ow - 1) * sw + kw - left - data.shape[1])
    padded = np.pad(data, ((top, below), (left, right), (0, 0)))
    return np.stack([np.stack([padded[y * sh : y * sh + kh, x * sw : x * sw + kw] for x in range(ow)])
                     for y in range(oh)])  # fmt: skip


def convolution(data: Ints, weights: Ints, bias: Ints, window: Window) -> Ints:
    """Sums of [H, W, C] (zero point taken off) by [outputs, kernel rows, kernel columns, C]."""
    return np.tensordot(patches(data, window), weights, axes=((2, 3, 4), (1, 2, 3))) + bias


def depthwise(data: Ints, weights: Ints, bias: Ints, window: Window) -> Ints:
    """Sums of [H, W, C] by [kernel rows, kernel columns, C, multiplier], to C * multiplier channels."""
    sums = np.einsum("yxhwc,hwcm->yxcm", patches(data, window), weights)
    return sums.reshape(*sums.shape[:2], -1) + bias

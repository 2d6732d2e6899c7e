"""Computes input coordinates and interpolation weights of resized axes, for `operators/resize.py`.

Coordinate modes, nearest modes, coefficients, antialiasing and exclude_outside follow ONNX's Resize; align_corners
follows PyTorch. Integer weights follow TensorFlow Lite's ResizeBilinear (ComputeInterpolationValuesInteger).
Coordinates are float32, as in onnxruntime.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping

import numpy as np

from tigris_pio.compiler.lower.refusal import Refusal

#: Fractional bits of integer weights in one direction.
WEIGHT_BITS = 10


@dataclasses.dataclass(frozen=True)
class Scaling:
    """One axis: `size` input elements, `count` output elements, and the output coordinates in an input coordinate."""

    size: int
    count: int
    scale: float


@dataclasses.dataclass(frozen=True)
class Taps:
    """out[i] = sum_k weights[i, k] * in[starts[i] + k]; all taps lie inside the input."""

    starts: np.ndarray
    weights: np.ndarray

    def reach(self) -> tuple[np.ndarray, np.ndarray]:
        """The first and last input index of each output index whose weight is not 0."""
        counts = self.weights != 0
        width = counts.shape[1]
        return self.starts + counts.argmax(axis=1), self.starts + width - 1 - counts[:, ::-1].argmax(axis=1)


def coordinates(axis: Scaling, mode: str, region: tuple[float, float] = (0.0, 1.0)) -> np.ndarray:
    """The input coordinate of each output index, float32. Refuses an unknown mode."""
    if mode not in _COORDINATES:
        if mode == "tf_crop_and_resize":
            return _cropped(axis, region)
        raise Refusal(f"coordinate_transformation_mode {mode}")
    return _COORDINATES[mode](axis, np.arange(axis.count, dtype=np.float32), np.float32(axis.scale))


def _half_pixel(axis: Scaling, index: np.ndarray, scale: np.float32) -> np.ndarray:
    return np.asarray((index + _HALF) / scale - _HALF)


def _pytorch_half_pixel(axis: Scaling, index: np.ndarray, scale: np.float32) -> np.ndarray:
    return _half_pixel(axis, index, scale) if axis.count > 1 else np.zeros(1, np.float32)


def _half_pixel_symmetric(axis: Scaling, index: np.ndarray, scale: np.float32) -> np.ndarray:
    offset = np.float32(axis.size / 2 * (1 - axis.count / (axis.scale * axis.size)))
    return np.asarray(offset + _half_pixel(axis, index, scale))


def _align_corners(axis: Scaling, index: np.ndarray, scale: np.float32) -> np.ndarray:
    # PyTorch, which exports this mode, and onnxruntime use the output's real size. ONNX's reference uses the size
    # before rounding, 3.2 for a factor of 0.8 and 4 elements, and does not reach the corner.
    if axis.count == 1:
        return np.zeros(1, np.float32)
    return np.asarray(index * (np.float32(axis.size - 1) / np.float32(axis.count - 1)))


def _cropped(axis: Scaling, region: tuple[float, float]) -> np.ndarray:
    start, end = np.float32(region[0]), np.float32(region[1])
    if axis.count == 1:
        return np.asarray(_HALF * (start + end) * np.float32(axis.size - 1) * np.ones(1, np.float32))
    index = np.arange(axis.count, dtype=np.float32)
    return np.asarray(np.float32(axis.size - 1) * (start + index * ((end - start) / np.float32(axis.count - 1))))


_HALF = np.float32(0.5)
_COORDINATES: Mapping[str, Callable[[Scaling, np.ndarray, np.float32], np.ndarray]] = {
    "half_pixel": _half_pixel,
    "pytorch_half_pixel": _pytorch_half_pixel,
    "half_pixel_symmetric": _half_pixel_symmetric,
    "asymmetric": lambda axis, index, scale: index / scale,
    "align_corners": _align_corners,
    "tf_half_pixel_for_nn": lambda axis, index, scale: (index + _HALF) / scale,
}


def nearest(axis: Scaling, positions: np.ndarray, mode: str) -> np.ndarray:
    """The input index nearest to each coordinate. Refuses an unknown mode."""
    functions: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "round_prefer_floor": lambda x: np.ceil(x - np.float32(0.5)),
        "round_prefer_ceil": lambda x: np.floor(x + np.float32(0.5)),
        "floor": np.floor,
        "ceil": np.ceil,
        # Opsets before 11 specify no rounding; onnxruntime rounds up if the axis shrinks.
        "simple": np.ceil if axis.scale < 1 else np.floor,
    }
    if mode not in functions:
        raise Refusal(f"nearest_mode {mode}")
    return np.asarray(np.clip(functions[mode](positions), 0, axis.size - 1).astype(np.int64))


def linear(distance: np.ndarray) -> np.ndarray:
    """The linear kernel. Its support is 1 on both sides."""
    return np.asarray(np.clip(1 - np.abs(distance), 0, 1))


def cubic(a: float) -> Callable[[np.ndarray], np.ndarray]:
    """The cubic convolution kernel with coefficient `a`. Its support is 2 on both sides."""

    def kernel(distance: np.ndarray) -> np.ndarray:
        x = np.abs(distance)
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return np.where(x <= 1, near, np.where(x < 2, far, 0.0))

    return kernel


def interpolate(axis: Scaling, positions: np.ndarray, kernel: Callable[[np.ndarray], np.ndarray], support: int, *,
                antialias: bool = False, exclude_outside: bool = False) -> Taps:
    """Float weights at each coordinate in `positions`. Antialiasing widens the kernel if the axis shrinks."""
    narrowing = min(1.0, axis.scale) if antialias else 1.0
    reach = math.ceil(support / narrowing)
    base = np.floor(positions.astype(np.float64)).astype(np.int64)
    taps = base[:, np.newaxis] + np.arange(1 - reach, reach + 1)
    weights = kernel((taps - positions.astype(np.float64)[:, np.newaxis]) * narrowing)
    if exclude_outside:
        weights = np.where((taps >= 0) & (taps < axis.size), weights, 0.0)
    if exclude_outside or antialias:
        weights = weights / weights.sum(axis=1, keepdims=True)
    return _inside(taps, weights, axis.size)


def integer_linear(axis: Scaling, *, align_corners: bool, half_pixel: bool) -> Taps:
    """TensorFlow Lite's integer weights, whose sum is 1 << WEIGHT_BITS."""
    unit = 1 << WEIGHT_BITS
    scale = (unit * axis.size + axis.count // 2) // axis.count
    if align_corners and axis.count > 1:
        scale = (unit * (axis.size - 1) + (axis.count - 1) // 2) // (axis.count - 1)
    position = np.arange(axis.count, dtype=np.int64) * scale
    if half_pixel:
        position += scale // 2 - unit // 2
    lower = np.maximum(position // unit, 0)
    lower = np.minimum(lower, axis.size - 1)
    upper = np.minimum((position + unit - 1) // unit, axis.size - 1)
    fraction = position - unit * lower
    taps = np.stack([lower, np.maximum(upper, 0)], axis=1)
    return _inside(taps, np.stack([unit - fraction, fraction], axis=1), axis.size)


def integer_weights(taps: Taps) -> Taps:
    """Float weights rounded to integers; the largest absorbs the error, so that their sum is 1 << WEIGHT_BITS."""
    unit = 1 << WEIGHT_BITS
    weights = np.rint(taps.weights * unit).astype(np.int64)
    largest = np.argmax(weights, axis=1)
    weights[np.arange(len(weights)), largest] += unit - weights.sum(axis=1)
    return Taps(taps.starts, weights)


def _inside(taps: np.ndarray, weights: np.ndarray, size: int) -> Taps:
    """Adds taps beyond the ends to the element at the end, and drops columns of taps that no output uses."""
    clipped = np.clip(taps, 0, size - 1)
    used = weights != 0
    used[~used.any(axis=1), 0] = True
    low = np.where(used, clipped, size).min(axis=1)
    high = np.where(used, clipped, -1).max(axis=1)
    width = int((high - low).max()) + 1
    starts = np.minimum(low, size - width)
    result = np.zeros((len(taps), width), weights.dtype)
    rows, columns = np.nonzero(used)
    np.add.at(result, (rows, clipped[rows, columns] - starts[rows]), weights[rows, columns])
    return Taps(starts, result)

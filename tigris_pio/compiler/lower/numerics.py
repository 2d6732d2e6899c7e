"""Fixed-point constants of the TensorFlow Lite int8 specification.

Formulas: TensorFlow Lite's quantization_util (QuantizeMultiplier, PreprocessSoftmaxScaling,
CalculateInputRadius) and the operators' own Prepare steps. Scales are float32 values; products are
taken in double.
"""

from __future__ import annotations

import math

import numpy as np

INT8_MIN, INT8_MAX = -128, 127
INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1


def quantize_multiplier(real: float) -> tuple[int, int]:
    """(multiplier, shift) with real ~ multiplier * 2^(shift - 31) and multiplier in [2^30, 2^31).

    Values below about 2^-32 become (0, 0). Raises ValueError above 2^30.
    """
    if real == 0.0:
        return 0, 0
    mantissa, shift = math.frexp(real)
    multiplier = math.floor(mantissa * 2**31 + 0.5)
    if multiplier == 2**31:
        multiplier //= 2
        shift += 1
    if shift < -31:
        return 0, 0
    if shift > 30:
        raise ValueError(f"a scale ratio of {real:g} is too large for int8 arithmetic")
    return multiplier, shift


def quantize_multipliers(reals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same for an array: int32 multipliers and int8 shifts."""
    pairs = [quantize_multiplier(float(real)) for real in reals]
    return np.array([m for m, _ in pairs], np.int32), np.array([s for _, s in pairs], np.int8)


def round_half_away(values: np.ndarray) -> np.ndarray:
    """Nearest integer, halves away from zero, as float64."""
    rounded: np.ndarray = np.trunc(values + np.copysign(0.5, values))
    return rounded


def quantize(values: np.ndarray, scale: float, zero_point: int) -> np.ndarray:
    """int8 form of real values, rounding halves away from zero."""
    real = np.nan_to_num(np.asarray(values, np.float64) / scale, posinf=1e9, neginf=-1e9)
    clipped: np.ndarray = np.clip(round_half_away(real) + zero_point, INT8_MIN, INT8_MAX)
    return clipped.astype(np.int8)


def activation_range(low: float, high: float, scale: float, zero_point: int) -> tuple[int, int]:
    """A fused activation's limits in the output's int8 domain."""
    lowest, highest = INT8_MIN, INT8_MAX
    if low > -math.inf:
        lowest = max(INT8_MIN, zero_point + int(round_half_away(np.float64(low) / scale)))
    if high < math.inf:
        highest = min(INT8_MAX, zero_point + int(round_half_away(np.float64(high) / scale)))
    return min(lowest, INT8_MAX), max(highest, INT8_MIN)


def softmax_scaling(input_scale: float) -> tuple[int, int, int]:
    """(multiplier, left_shift, diff_min) of int8 Softmax with 5 integer bits and beta 1.

    Raises ValueError for input scales too small to hold.
    """
    real = min(input_scale * float(1 << 26), float(2**31 - 1))
    if real <= 1.0:
        raise ValueError(f"an input scale of {input_scale:g} is too small for int8 Softmax")
    multiplier, left_shift = quantize_multiplier(real)
    radius = math.floor(31.0 * (1 << 26) / (1 << left_shift))
    return multiplier, left_shift, -radius

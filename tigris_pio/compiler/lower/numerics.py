"""Fixed-point constants of TensorFlow Lite's int8 specification.

Formulas follow TensorFlow Lite's quantization_util (QuantizeMultiplier, PreprocessSoftmaxScaling, CalculateInputRadius)
and the Prepare functions of its operators. Scales are float32 values; products are double.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.format.enums import DType, Rounding
from tigris_pio.format.rounding import rounded

INT8_MIN, INT8_MAX = -128, 127
INT16_MIN, INT16_MAX = -(1 << 15), (1 << 15) - 1
INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
#: The smallest input scale of int8 Softmax for which TensorFlow Lite Micro has a multiplier.
SMALLEST_SOFTMAX_SCALE = 2.0**-26
#: The kernel QUANTIZE clamps quotients to this magnitude, up to which float32 rounding is exact.
_LARGEST_ROUNDED = np.float32(4194303)
_TYPES: dict[DType, type[np.signedinteger[Any]]] = {DType.INT8: np.int8, DType.INT16: np.int16}


def limits(dtype: DType) -> tuple[int, int]:
    """The lowest and highest integer of int8 or int16."""
    found = np.iinfo(_TYPES[dtype])
    return int(found.min), int(found.max)


def quantize_multiplier(real: float) -> tuple[int, int]:
    """(multiplier, shift) with real ~ multiplier * 2^(shift - 31) and multiplier in [2^30, 2^31).

    As in TensorFlow Lite's QuantizeMultiplier, values below about 2^-32 become (0, 0), and values from 2^30 on become
    the largest pair. Refuses NaN and infinity.
    """
    if real == 0.0:
        return 0, 0
    if not math.isfinite(real):
        raise Refusal(f"a scale ratio of {real:g} is not finite")
    mantissa, shift = math.frexp(real)
    multiplier = math.floor(mantissa * 2**31 + 0.5)
    if multiplier == 2**31:
        multiplier //= 2
        shift += 1
    if shift < -31:
        return 0, 0
    if shift > 30:
        return INT32_MAX, 30
    return multiplier, shift


def quantize_multipliers(reals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`quantize_multiplier` of each element: int32 multipliers and int8 shifts."""
    pairs = [quantize_multiplier(float(real)) for real in reals]
    return np.array([m for m, _ in pairs], np.int32), np.array([s for _, s in pairs], np.int8)


def reduced_multiplier(multiplier: int) -> int:
    """A Q0.31 multiplier rounded to Q0.15, as TensorFlow Lite rounds it for 64-bit sums."""
    return (multiplier + (1 << 15)) >> 16 if multiplier < 0x7FFF0000 else INT16_MAX


def mean_multiplier(real: float, count: int) -> tuple[int, int]:
    """(multiplier, shift) of `real / count` as in TensorFlow Lite's MEAN: an integer division of the multiplier."""
    multiplier, shift = quantize_multiplier(real)
    spare = min(count.bit_length() - 1, 31 + shift)
    return (multiplier << spare) // count, shift - spare


def round_half_away(values: np.ndarray) -> np.ndarray:
    """Nearest integer, halves away from zero, as float64."""
    rounded: np.ndarray = np.trunc(values + np.copysign(0.5, values))
    return rounded


def quantize(values: np.ndarray, scale: float, zero_point: int, dtype: DType = DType.INT8) -> np.ndarray:
    """Real values as int8 or int16, with halves rounded away from zero, NaN as the zero point, and saturation."""
    real = np.nan_to_num(np.asarray(values, np.float64) / scale, posinf=1e9, neginf=-1e9)
    clipped: np.ndarray = np.clip(round_half_away(real) + zero_point, *limits(dtype))
    return clipped.astype(_TYPES[dtype])


def activation_range(low: float, high: float, scale: float, zero_point: int,
                     dtype: DType = DType.INT8) -> tuple[int, int]:
    """A fused activation's real limits as int8 or int16 output values, in single precision as in TensorFlow Lite."""
    least, most = limits(dtype)
    lowest, highest = least, most
    if low > -math.inf:
        lowest = max(least, zero_point + int(round_half_away(np.float64(np.float32(low) / np.float32(scale)))))
    if high < math.inf:
        highest = min(most, zero_point + int(round_half_away(np.float64(np.float32(high) / np.float32(scale)))))
    return min(lowest, most), max(highest, least)


def dequantise_table(scale: float, zero_point: int) -> np.ndarray:
    """The float32 results of DEQUANTIZE for -128 … 127."""
    steps = np.arange(INT8_MIN, INT8_MAX + 1) - zero_point
    table: np.ndarray = steps.astype(np.float32) * np.float32(scale)
    return table


def quantise_table(scale: float, zero_point: int, rounding: Rounding) -> np.ndarray:
    """The least float32 that QUANTIZE turns into each of -127 … 127, as int32 that sort like the floats.

    INT32_MAX where no float32 does. A bisection finds them, because QUANTIZE is monotone.
    """
    wanted = np.arange(INT8_MIN + 1, INT8_MAX + 1)
    infinity = int(np.float32(np.inf).view(np.int32))
    low, high = np.full(wanted.shape, -infinity - 1, np.int64), np.full(wanted.shape, infinity + 1, np.int64)
    while np.any(low < high):
        middle = (low + high) // 2
        bits = middle.astype(np.int32)
        numbers = np.where(bits < 0, bits ^ INT32_MAX, bits).astype(np.int32).view(np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            steps = np.clip(numbers / np.float32(scale), -_LARGEST_ROUNDED, _LARGEST_ROUNDED)
            codes = rounded(steps, rounding) + zero_point
        enough = (codes >= wanted) | (middle > infinity)
        high, low = np.where(enough & (low < high), middle, high), np.where(enough, low, middle + 1)
    return np.where(low > infinity, INT32_MAX, low).astype(np.int32)


def softmax_scaling(input_scale: float) -> tuple[int, int, int]:
    """(multiplier, left_shift, diff_min) of int8 Softmax with 5 integer bits and beta 1.

    The multiplier is 0 for scales up to SMALLEST_SOFTMAX_SCALE: all exponentials then are 1 to five digits.
    """
    if input_scale <= SMALLEST_SOFTMAX_SCALE:
        return 0, 0, INT8_MIN - INT8_MAX
    real = min(input_scale * float(1 << 26), float(2**31 - 1))
    multiplier, left_shift = quantize_multiplier(real)
    radius = math.floor(31.0 * (1 << 26) / (1 << left_shift))
    return multiplier, left_shift, -radius


def multiply_rounded(values: np.ndarray, multiplier: int, shift: int) -> np.ndarray:
    """Integers times multiplier * 2^(shift - 31), rounded twice as in the kernels."""
    product = values.astype(np.int64) * (1 << max(shift, 0)) * multiplier
    high = (product + np.where(product >= 0, 1 << 30, 1 - (1 << 30)))
    high = np.where(high >= 0, high >> 31, -(-high >> 31))  # truncated, as C divides
    right = max(-shift, 0)
    mask = (1 << right) - 1
    remainder = high & mask
    threshold = (mask >> 1) + (high < 0)
    result: np.ndarray = (high >> right) + (remainder > threshold)
    return result

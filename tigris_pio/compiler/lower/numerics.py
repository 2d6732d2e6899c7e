"""Fixed-point constants of the TensorFlow Lite int8 specification.

Formulas: TensorFlow Lite's quantization_util (QuantizeMultiplier, PreprocessSoftmaxScaling,
CalculateInputRadius) and the operators' own Prepare steps. Scales are float32 values; products are
taken in double.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tigris_pio.format.enums import DType, Rounding
from tigris_pio.format.rounding import rounded

INT8_MIN, INT8_MAX = -128, 127
INT16_MIN, INT16_MAX = -(1 << 15), (1 << 15) - 1
INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
#: The smallest scale of int8 Softmax that TensorFlow Lite Micro has a multiplier for.
SOFTMAX_LEAST = 2.0**-26
#: The kernel QUANTIZE rounds numbers up to this one exactly, and takes others for it.
_MOST_ROUNDED = np.float32(4194303)
_TYPES: dict[DType, type[np.signedinteger[Any]]] = {DType.INT8: np.int8, DType.INT16: np.int16}


def limits(dtype: DType) -> tuple[int, int]:
    """Lowest and highest integer of a quantised type."""
    found = np.iinfo(_TYPES[dtype])
    return int(found.min), int(found.max)


def quantize_multiplier(real: float) -> tuple[int, int]:
    """(multiplier, shift) with real ~ multiplier * 2^(shift - 31) and multiplier in [2^30, 2^31).

    Values below about 2^-32 become (0, 0), those from 2^30 on the largest pair, as in TensorFlow Lite's
    QuantizeMultiplier: of any integer but 0 they make one beyond 16 bits. Raises ValueError for what is no number.
    """
    if real == 0.0:
        return 0, 0
    if not math.isfinite(real):
        raise ValueError(f"a scale ratio of {real:g} is no number")
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
    """The same for an array: int32 multipliers and int8 shifts."""
    pairs = [quantize_multiplier(float(real)) for real in reals]
    return np.array([m for m, _ in pairs], np.int32), np.array([s for _, s in pairs], np.int8)


def reduced_multiplier(multiplier: int) -> int:
    """A multiplier in Q0.31 as one in Q0.15, as TensorFlow Lite has it for sums of 64 bits."""
    return (multiplier + (1 << 15)) >> 16 if multiplier < 0x7FFF0000 else INT16_MAX


def mean_multiplier(real: float, count: int) -> tuple[int, int]:
    """The same for `real / count` as TensorFlow Lite's MEAN has it: the multiplier of `real`, divided as an integer."""
    multiplier, shift = quantize_multiplier(real)
    spare = min(count.bit_length() - 1, 31 + shift)
    return (multiplier << spare) // count, shift - spare


def round_half_away(values: np.ndarray) -> np.ndarray:
    """Nearest integer, halves away from zero, as float64."""
    rounded: np.ndarray = np.trunc(values + np.copysign(0.5, values))
    return rounded


def quantize(values: np.ndarray, scale: float, zero_point: int, dtype: DType = DType.INT8) -> np.ndarray:
    """int8 or int16 form of real values, rounding halves away from zero."""
    real = np.nan_to_num(np.asarray(values, np.float64) / scale, posinf=1e9, neginf=-1e9)
    clipped: np.ndarray = np.clip(round_half_away(real) + zero_point, *limits(dtype))
    return clipped.astype(_TYPES[dtype])


def activation_range(low: float, high: float, scale: float, zero_point: int,
                     dtype: DType = DType.INT8) -> tuple[int, int]:
    """A fused activation's limits in the output's int8 or int16 domain; in single precision, as in TensorFlow Lite."""
    least, most = limits(dtype)
    lowest, highest = least, most
    if low > -math.inf:
        lowest = max(least, zero_point + int(round_half_away(np.float64(np.float32(low) / np.float32(scale)))))
    if high < math.inf:
        highest = min(most, zero_point + int(round_half_away(np.float64(np.float32(high) / np.float32(scale)))))
    return min(lowest, most), max(highest, least)


def dequantise_table(scale: float, zero_point: int) -> np.ndarray:
    """What DEQUANTIZE gives for -128 … 127, float32."""
    steps = np.arange(INT8_MIN, INT8_MAX + 1) - zero_point
    table: np.ndarray = steps.astype(np.float32) * np.float32(scale)
    return table


def quantise_table(scale: float, zero_point: int, rounding: Rounding) -> np.ndarray:
    """The least float32 that QUANTIZE makes each of -127 … 127, as int32 in the order of the numbers.

    INT32_MAX where there is none. Found by halving: the result grows with the number.
    """
    wanted = np.arange(INT8_MIN + 1, INT8_MAX + 1)
    infinity = int(np.float32(np.inf).view(np.int32))
    low, high = np.full(wanted.shape, -infinity - 1, np.int64), np.full(wanted.shape, infinity + 1, np.int64)
    while np.any(low < high):
        middle = (low + high) // 2
        bits = middle.astype(np.int32)
        numbers = np.where(bits < 0, bits ^ INT32_MAX, bits).astype(np.int32).view(np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            steps = np.clip(numbers / np.float32(scale), -_MOST_ROUNDED, _MOST_ROUNDED)
            codes = rounded(steps, rounding) + zero_point
        enough = (codes >= wanted) | (middle > infinity)
        high, low = np.where(enough & (low < high), middle, high), np.where(enough, low, middle + 1)
    return np.where(low > infinity, INT32_MAX, low).astype(np.int32)


def softmax_scaling(input_scale: float) -> tuple[int, int, int]:
    """(multiplier, left_shift, diff_min) of int8 Softmax with 5 integer bits and beta 1.

    The multiplier is 0 for a scale up to SOFTMAX_LEAST, at which all exponentials are 1 to five digits.
    """
    if input_scale <= SOFTMAX_LEAST:
        return 0, 0, INT8_MIN - INT8_MAX
    real = min(input_scale * float(1 << 26), float(2**31 - 1))
    multiplier, left_shift = quantize_multiplier(real)
    radius = math.floor(31.0 * (1 << 26) / (1 << left_shift))
    return multiplier, left_shift, -radius


def multiplied(values: np.ndarray, multiplier: int, shift: int) -> np.ndarray:
    """Integers times multiplier * 2^(shift - 31) as the kernels round it: twice."""
    product = values.astype(np.int64) * (1 << max(shift, 0)) * multiplier
    high = (product + np.where(product >= 0, 1 << 30, 1 - (1 << 30)))
    high = np.where(high >= 0, high >> 31, -(-high >> 31))  # truncated, as C divides
    right = max(-shift, 0)
    mask = (1 << right) - 1
    remainder = high & mask
    threshold = (mask >> 1) + (high < 0)
    result: np.ndarray = (high >> right) + (remainder > threshold)
    return result

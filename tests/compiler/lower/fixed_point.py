"""TensorFlow Lite's and gemmlowp's fixed-point arithmetic on int64 arrays holding int32 values.

Names and definitions follow gemmlowp's fixedpoint.h and TensorFlow Lite's reference Softmax.
"""

from __future__ import annotations

import math

import numpy as np

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1


def high_mul(a: np.ndarray, b: np.ndarray | int) -> np.ndarray:
    """SaturatingRoundingDoublingHighMul: round(a * b / 2^31), halves away from zero for positive products."""
    product = np.asarray(a, np.int64) * np.asarray(b, np.int64)
    nudged = product + np.where(product >= 0, 1 << 30, 1 - (1 << 30))
    return np.minimum(np.sign(nudged) * (np.abs(nudged) >> 31), INT32_MAX)


def shift_right(x: np.ndarray, exponent: np.ndarray | int) -> np.ndarray:
    """RoundingDivideByPOT: x / 2^exponent, halves away from zero."""
    exponent = np.asarray(exponent, np.int64)
    mask = (np.int64(1) << exponent) - 1
    threshold = (mask >> 1) + (x < 0)
    return (x >> exponent) + ((x & mask) > threshold)


def multiply(x: np.ndarray, multiplier: np.ndarray | int, shift: np.ndarray | int) -> np.ndarray:
    """MultiplyByQuantizedMultiplier with double rounding."""
    shift = np.asarray(shift, np.int64)
    return shift_right(high_mul(x << np.maximum(shift, 0), multiplier), np.maximum(-shift, 0))


def scale_up(x: np.ndarray, exponent: int) -> np.ndarray:
    """SaturatingRoundingMultiplyByPOT for positive exponents."""
    return np.clip(x << exponent, INT32_MIN, INT32_MAX)


def exp_small(a: np.ndarray) -> np.ndarray:
    """exp of a in [-1/4, 0), both Q0.31."""
    constant = 1895147668  # exp(-1/8)
    x = a + (1 << 28)
    x2 = high_mul(x, x)
    x3 = high_mul(x2, x)
    x4 = shift_right(high_mul(x2, x2), 2)
    series = shift_right(high_mul(x4 + x3, 715827883) + x2, 1)
    return constant + high_mul(x + series, constant)


def exp_negative(a: np.ndarray) -> np.ndarray:
    """exp of a <= 0 in Q5.26, result Q0.31."""
    quarter = 1 << 24
    rest = (a & (quarter - 1)) - quarter
    result = exp_small(scale_up(rest, 5))
    remainder = rest - a
    for exponent, factor in ((-2, 1672461947), (-1, 1302514674), (0, 790015084), (1, 290630308), (2, 39332535),
                             (3, 720401), (4, 242)):
        result = np.where(remainder & (1 << (26 + exponent)), high_mul(result, factor), result)
    return np.where(a == 0, INT32_MAX, result)


def reciprocal_of_one_plus(a: np.ndarray) -> np.ndarray:
    """1 / (1 + a) for a in [0, 1), both Q0.31; three Newton steps."""
    half = (a + INT32_MAX + 1) >> 1
    x = 1515870810 + high_mul(half, -1010580540)
    for _ in range(3):
        x = x + scale_up(high_mul(x, (1 << 29) - high_mul(half, x)), 2)
    return scale_up(x, 1)


def softmax_exponentials(multiplier: int, left_shift: int, diff_min: int) -> np.ndarray:
    """exp of the scaled differences 0, -1 … -255; 0 below `diff_min`."""
    diff = -np.arange(256, dtype=np.int64)
    safe = np.where(diff >= diff_min, diff, 0)
    return np.where(diff >= diff_min, exp_negative(high_mul(safe << left_shift, multiplier)), 0)


def softmax_int8(vectors: np.ndarray, exponentials: np.ndarray) -> np.ndarray:
    """Softmax of int8 vectors [n, length], output scale 1/256, zero point -128."""
    wide = vectors.astype(np.int64)
    powers = exponentials.astype(np.int64)[wide.max(axis=1, keepdims=True) - wide]
    total = shift_right(powers, 12).sum(axis=1)
    out = np.full(vectors.shape, -128, np.int8)
    for row, value in enumerate(total):
        headroom = 32 - int(value).bit_length()
        scale = int(reciprocal_of_one_plus(np.array([(int(value) << headroom) - (1 << 31)]))[0])
        scaled = shift_right(high_mul(powers[row], scale), 12 - headroom + 31 - 8) - 128
        out[row] = np.clip(scaled, -128, 127)
    return out


def softmax_int8_real(vectors: np.ndarray, scale: float) -> np.ndarray:
    """Softmax in double, then rounded to scale 1/256 and zero point -128."""
    real = vectors.astype(np.float64) * scale
    powers = np.exp(real - real.max(axis=1, keepdims=True))
    share = powers / powers.sum(axis=1, keepdims=True)
    return np.clip(np.floor(share * 256 + 0.5) - 128, -128, 127).astype(np.int8)


def decomposed(real: float) -> tuple[int, int]:
    """Mantissa and exponent of a positive number, for comparing with quantize_multiplier."""
    mantissa, exponent = math.frexp(real)
    return round(mantissa * 2**31), exponent

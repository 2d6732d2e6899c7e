"""Fixed-point functions of TensorFlow Lite and gemmlowp on Python integers, for tables in plans.

Definitions follow TensorFlow Lite's kernels/internal/common.h and gemmlowp's fixedpoint.h. Qm.n is a number with m
integer bits and n fraction bits.
"""

from __future__ import annotations

import numpy as np

from tigris_pio.compiler.lower.numerics import INT32_MAX, INT32_MIN

_48_OVER_17, _NEGATIVE_32_OVER_17 = 1515870810, -1010580540  # Q2.29


def high_multiply(a: int, b: int) -> int:
    """SaturatingRoundingDoublingHighMul of 32 bits."""
    return min((a * b + (1 << 30)) >> 31, INT32_MAX)


def rounding_divide(value: int, exponent: int) -> int:
    """RoundingDivideByPOT: halves away from zero."""
    if exponent == 0:
        return value
    rounded = (abs(value) + (1 << (exponent - 1))) >> exponent
    return rounded if value >= 0 else -rounded


def multiply(value: int, multiplier: int, shift: int) -> int:
    """MultiplyByQuantizedMultiplier."""
    return rounding_divide(high_multiply(_wrapped(value << max(shift, 0)), multiplier), max(-shift, 0))


def _wrapped(value: int) -> int:
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def _saturated(value: int) -> int:
    return min(max(value, INT32_MIN), INT32_MAX)


def sign_bits(value: int) -> int:
    """CountLeadingSignBits: the bits by which an int32 can be shifted left without overflow."""
    return 31 - (value if value >= 0 else ~value).bit_length()


def _two_over_one_plus(a: int) -> int:
    """2 / (1 + a) for a in [0, 1), Q2.29 of Q0.31: three steps of Newton's method."""
    half = (a + INT32_MAX + 1) // 2
    x = _48_OVER_17 + high_multiply(half, _NEGATIVE_32_OVER_17)
    for _ in range(3):
        x += _saturated(high_multiply(x, (1 << 29) - high_multiply(half, x)) << 2)
    return x


def one_over_one_plus(a: int) -> int:
    """1 / (1 + a) for a in [0, 1), Q0.31."""
    return _saturated(_two_over_one_plus(a) << 1)


def one_minus_over_one_plus(a: int) -> int:
    """(1 - a) / (1 + a) for a in [0, 1), Q0.31."""
    return _saturated((_two_over_one_plus(a) - (1 << 29)) << 2)


def reciprocal(value: int) -> int:
    """The reciprocal of the mantissa of `value`, Q0.31; `value` is at least 1."""
    return one_over_one_plus((value << (32 - value.bit_length())) - (1 << 31))


def inverse_root(value: int) -> tuple[int, int]:
    """GetInvSqrtQuantizedMultiplierExp: multiplier and shift of 1 / sqrt(value), by five steps of Newton's method."""
    if value <= 1:
        return INT32_MAX, 0
    shift = 11
    while value >= 1 << 29:
        value //= 4
        shift += 1
    pairs = (32 - value.bit_length() - 1) // 2 - 1
    shift -= pairs
    scaled = value << (2 * pairs) >> 1  # Q3.28
    half = rounding_divide(scaled, 1)
    x, half_three = 1 << 28, (1 << 28) + (1 << 27)
    for _ in range(5):
        cube = _saturated(high_multiply(high_multiply(x, x), x) << 6)  # Q9.22 to Q3.28
        x = _saturated((high_multiply(half_three, x) - high_multiply(half, cube)) << 3)
    x = high_multiply(x, 1518500250)
    return (x << -shift, 0) if shift < 0 else (x, -shift)


#: exp(-2^k) in Q0.31, k = -2 … 4.
_EXP_OF_POWER = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)
_EXP_OF_EIGHTH = 1895147668  # exp(-1/8) in Q0.31
_THIRD = 715827883
_FRACTION_BITS = 26  # of a scaled difference, Q5.26


def softmax_exponentials(multiplier: int, left_shift: int, least: int) -> np.ndarray:
    """Q0.31 exponentials of the differences 0, -1 … -255 to the largest element; 0 for differences below `least`.

    The arguments are the results of `numerics.softmax_scaling`.
    """
    return np.array([_exp(-difference, multiplier, left_shift) if -difference >= least else 0
                     for difference in range(256)], np.int32)  # fmt: skip


def _exp(difference: int, multiplier: int, left_shift: int) -> int:
    """The exponential of an integer difference, Q0.31."""
    return exp_of_negative(high_multiply(difference << left_shift, multiplier), _FRACTION_BITS)


def exp_of_negative(scaled: int, fraction_bits: int) -> int:
    """The exponential, Q0.31, of a number a <= 0 with `fraction_bits` fraction bits.

    It is exp of a's part in [-1/4, 0), times exp(-2^k) for each higher bit k of -a.
    """
    if scaled == 0:
        return INT32_MAX
    quarter = 1 << (fraction_bits - 2)
    low = scaled % quarter - quarter
    rest = (low - scaled) >> (fraction_bits - 2)
    result = _exp_near_zero(low << (31 - fraction_bits))
    for bit, factor in enumerate(_EXP_OF_POWER):
        if rest >> bit & 1:
            result = high_multiply(result, factor)
    return result


def _exp_near_zero(value: int) -> int:
    """exp of a number in [-1/4, 0), Q0.31 both: a Taylor polynomial of degree 4 around -1/8."""
    x = value + (1 << 28)
    x2 = high_multiply(x, x)
    x3, x4 = high_multiply(x2, x), high_multiply(x2, x2)
    third = high_multiply(rounding_divide(x4, 2) + x3, _THIRD)
    return _EXP_OF_EIGHTH + high_multiply(_EXP_OF_EIGHTH, x + rounding_divide(third + x2, 1))

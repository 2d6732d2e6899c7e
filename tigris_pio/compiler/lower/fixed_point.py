"""Fixed-point functions of TensorFlow Lite and gemmlowp on Python integers, for tables in plans.

Definitions follow TensorFlow Lite's kernels/internal/common.h and gemmlowp's fixedpoint.h. Qm.n is a number with m
integer bits and n fraction bits.
"""

from __future__ import annotations

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

"""The exponentials of int8 Softmax, in the fixed-point arithmetic of gemmlowp that TensorFlow Lite computes them in.

Names and definitions follow gemmlowp's fixedpoint.h. Qm.n is a number with m integer and n fraction bits.
"""

from __future__ import annotations

import numpy as np

from tigris_pio.compiler.lower.numerics import INT32_MAX

#: exp(-2^k) in Q0.31, k = -2 … 4.
_EXP_OF_POWER = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)
_EXP_OF_EIGHTH = 1895147668  # exp(-1/8) in Q0.31
_THIRD = 715827883
_FRACTION_BITS = 26  # of a scaled difference, Q5.26


def softmax_exponentials(multiplier: int, left_shift: int, least: int) -> np.ndarray:
    """exp of the differences 0, -1 … -255 to the largest element, Q0.31; 0 of those below `least`.

    The arguments are those of `numerics.softmax_scaling`.
    """
    return np.array([_exp(-difference, multiplier, left_shift) if -difference >= least else 0
                     for difference in range(256)], np.int32)  # fmt: skip


def _exp(difference: int, multiplier: int, left_shift: int) -> int:
    """exp(a) of the scaled difference a: of a's part in [-1/4, 0), times exp(-2^k) for each further bit of a."""
    return exp_of_negative(_multiply(difference << left_shift, multiplier), _FRACTION_BITS)


def exp_of_negative(scaled: int, fraction_bits: int) -> int:
    """exp of a number up to 0 with so many fraction bits of 31: Q0.31."""
    if scaled == 0:
        return INT32_MAX
    quarter = 1 << (fraction_bits - 2)
    low = scaled % quarter - quarter
    rest = (low - scaled) >> (fraction_bits - 2)
    result = _exp_near_zero(low << (31 - fraction_bits))
    for bit, factor in enumerate(_EXP_OF_POWER):
        if rest >> bit & 1:
            result = _multiply(result, factor)
    return result


def _exp_near_zero(value: int) -> int:
    """exp of a number in [-1/4, 0), Q0.31 both: a Taylor polynomial of degree 4 around -1/8."""
    x = value + (1 << 28)
    x2 = _multiply(x, x)
    x3, x4 = _multiply(x2, x), _multiply(x2, x2)
    third = _multiply(_divide(x4, 2) + x3, _THIRD)
    return _EXP_OF_EIGHTH + _multiply(_EXP_OF_EIGHTH, x + _divide(third + x2, 1))


def _multiply(a: int, b: int) -> int:
    """SaturatingRoundingDoublingHighMul, of which no product here is the saturated one."""
    return (a * b + (1 << 30)) >> 31


def _divide(value: int, exponent: int) -> int:
    """RoundingDivideByPOT: halves away from zero."""
    rounded = (abs(value) + (1 << (exponent - 1))) >> exponent
    return rounded if value >= 0 else -rounded

"""The exponentials of int8 Softmax in the fixed-point arithmetic of gemmlowp, as TensorFlow Lite computes them.

Definitions follow gemmlowp's fixedpoint.h. Qm.n is a number with m integer bits and n fraction bits.
"""

from __future__ import annotations

import numpy as np

from tigris_pio.compiler.lower.fixed_point import high_multiply, rounding_divide
from tigris_pio.compiler.lower.numerics import INT32_MAX

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

"""Fixed-point constants against their definitions."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.runtime import references
from tigris_pio.compiler.lower import numerics
from tigris_pio.compiler.lower.fixed_point import softmax_exponentials
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.format.enums import Rounding
from tigris_pio.format.rounding import rounded


@given(st.floats(2.0**-31, 2.0**29))
def test_multiplier_is_the_nearest(real: float) -> None:
    multiplier, shift = numerics.quantize_multiplier(real)
    assert 2**30 <= multiplier < 2**31
    assert abs(multiplier * 2.0 ** (shift - 31) - real) <= real * 2**-31


def test_multiplier_at_its_edges() -> None:
    assert numerics.quantize_multiplier(0.0) == (0, 0)
    assert numerics.quantize_multiplier(1.0) == (2**30, 1)
    assert numerics.quantize_multiplier(math.nextafter(1.0, 0.0)) == (2**30, 1)  # rounds up to 2^31
    assert numerics.quantize_multiplier(0.5) == (2**30, 0)
    assert numerics.quantize_multiplier(2.0**-32) == (2**30, -31)
    assert numerics.quantize_multiplier(2.0**-33) == (0, 0)
    assert numerics.quantize_multiplier(2.0**31) == (2**31 - 1, 30)
    with pytest.raises(Refusal, match="not finite"):
        numerics.quantize_multiplier(math.inf)


def test_rounding_halves() -> None:
    np.testing.assert_array_equal(numerics.round_half_away(np.array([0.5, 1.5, -0.5, -1.5, 0.49, -2.51])),
                                  [1, 2, -1, -2, 0, -3])
    np.testing.assert_array_equal(numerics.quantize(np.array([0.05, -0.05, 99, -99, np.nan]), 0.1, 3),
                                  [4, 2, 127, -128, 3])


@pytest.mark.parametrize(("low", "high", "scale", "zero_point", "expected"), [
    (-math.inf, math.inf, 0.1, 5, (-128, 127)), (0.0, math.inf, 0.1, 5, (5, 127)), (0.0, 6.0, 0.1, 5, (5, 65)),
    (0.0, 6.0, 0.01, -128, (-128, 127)), (0.0, 6.0, 0.0235, -128, (-128, 127)), (-1.0, 1.0, 0.1, 0, (-10, 10)),
])
def test_activation_range(low: float, high: float, scale: float, zero_point: int, expected: tuple[int, int]) -> None:
    assert numerics.activation_range(low, high, scale, zero_point) == expected


@given(st.floats(2.0**-25, 15.9))
def test_softmax_exponentials_are_gemmlowps(scale: float) -> None:
    constants = numerics.softmax_scaling(scale)
    np.testing.assert_array_equal(softmax_exponentials(*constants), references.softmax_exponentials(*constants))


@settings(max_examples=25, deadline=None)
@given(st.floats(2.0**-140, 2.0**120, width=32), st.integers(-128, 127), st.sampled_from(Rounding))
def test_tables_of_conversions_are_the_arithmetic(scale: float, zero_point: int, rounding: Rounding) -> None:
    """The least number of each code gives it, the next below does not; and the numbers of all codes."""
    table = numerics.quantise_table(scale, zero_point, rounding)
    assert np.all(np.diff(table.astype(np.int64)) >= 0)

    def codes(keys: np.ndarray) -> np.ndarray:
        numbers = np.where(keys < 0, keys ^ 0x7FFFFFFF, keys).astype(np.int32).view(np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            steps = np.clip(numbers / np.float32(scale), -1e6, 1e6)
        return np.clip(rounded(steps, rounding) + zero_point, -128, 127)

    known = table < 0x7F800001
    wanted = np.arange(-127, 128)[known]
    assert np.all(codes(table[known]) >= wanted)
    above_minus_infinity = table[known] > -0x7F800001
    assert np.all(codes((table[known] - 1)[above_minus_infinity]) < wanted[above_minus_infinity])
    expected = (np.arange(-128, 128) - zero_point).astype(np.float32) * np.float32(scale)
    np.testing.assert_array_equal(numerics.dequantise_table(scale, zero_point), expected)

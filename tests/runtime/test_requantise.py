"""Requantisation in C, value by value, against gemmlowp's definitions in exact integers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np

from tests.runtime.build import SANITIZERS, compile_program
from tests.runtime.references import high_multiply, requantise, rounding_divide

SOURCE = r"""
#include <stdio.h>
#define tigris_add_int8 tigris_add_int8_again
#define tigris_sub_int8 tigris_sub_int8_again
#include "kernels/add_int8.c"
int main(void)
{
    int32_t value, multiplier, shift;
    while (scanf("%d %d %d", &value, &multiplier, &shift) == 3)
        printf("%d %d %d %d %d\n", (int)tigris_high_multiply(value, multiplier),
               (int)tigris_rounding_shift(value, (uint32_t)shift), (int)tigris_requantise(value, multiplier, -shift),
               multiplier < 0 || value == INT32_MIN
                   ? 0 : (int)scaled_right(value, (uint32_t)multiplier << 1, (uint32_t)shift),
               (int)tigris_requantise(value, multiplier, shift));
    return 0;
}
"""

EXTREMES = [-(2**31), -(2**31) + 1, -(2**30), -3, -2, -1, 0, 1, 2, 3, 2**30, 2**30 + 1, 2**31 - 2, 2**31 - 1]


def _cases() -> np.ndarray:
    random = np.random.default_rng(1)
    grid = np.array([(a, b, s) for a in EXTREMES for b in EXTREMES for s in (0, 1, 2, 15, 30, 31)], np.int64)
    wide = random.integers(-(2**31), 2**31, (20000, 3), np.int64)
    wide[:, 2] = random.integers(0, 32, 20000)
    # Products near halves, where the two roundings differ from one.
    halves = wide.copy()
    halves[:, 0] = random.integers(-64, 64, 20000)
    halves[:, 1] = random.choice([2**30, 3 * 2**29, 2**29 + 1, 2**30 - 1], 20000)
    near = np.array([(odd << shift, 2**30, shift) for shift in range(24) for odd in range(-9, 10)], np.int64)
    return np.concatenate([grid, wide, halves, near])


def test_requantise_is_gemmlowps_arithmetic(tmp_path: Path) -> None:
    """So is the scaling of ADD's inputs: any right shift, multipliers that are not negative, halves about zero."""
    cases = _cases()
    (tmp_path / "requantise.c").write_text(SOURCE)
    program = compile_program(tmp_path / "requantise", [tmp_path / "requantise.c"], *SANITIZERS)
    text = "\n".join(" ".join(map(str, case)) for case in cases.tolist())
    result = subprocess.run([str(program)], input=text, capture_output=True, text=True, check=True)
    actual = np.array([line.split() for line in result.stdout.splitlines()], np.int64)
    value, multiplier, shift = cases.T
    np.testing.assert_array_equal(actual[:, 0], high_multiply(value, multiplier))
    np.testing.assert_array_equal(actual[:, 1], rounding_divide(value, shift))
    expected = requantise(value, multiplier, -shift)
    np.testing.assert_array_equal(actual[:, 2], expected)
    scales = (multiplier >= 0) & (value > -(2**31))
    np.testing.assert_array_equal(actual[scales, 3], expected[scales])
    left = shift > 0  # what leaves 32 bits there stays beyond all types that results are bounded to
    most = 2**30 >> shift[left]
    shifted = np.clip(value[left], -most, most) << shift[left]
    np.testing.assert_array_equal(actual[left, 4], high_multiply(shifted, multiplier[left]))

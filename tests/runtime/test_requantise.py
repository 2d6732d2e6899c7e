"""Requantisation in C, value by value, against gemmlowp's definitions in exact integers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.runtime.build import SANITIZERS, compile_program
from tests.runtime.references import high_multiply, requantise, rounding_divide

SOURCE = r"""
#include <stdio.h>
#include "kernels/requantise.h"
int main(void)
{
    int32_t value, multiplier, shift;
    while (scanf("%d %d %d", &value, &multiplier, &shift) == 3)
        printf("%d %d %d\n", (int)tigris_high_multiply(value, multiplier),
               (int)tigris_rounding_shift(value, (uint32_t)shift), (int)tigris_requantise(value, multiplier, -shift));
    return 0;
}
"""

EXTREMES = [-(2**31), -(2**31) + 1, -(2**30), -3, -2, -1, 0, 1, 2, 3, 2**30, 2**30 + 1, 2**31 - 2, 2**31 - 1]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("requantise")
    source = folder / "requantise.c"
    source.write_text(SOURCE)
    return compile_program(folder / "requantise", [source], *SANITIZERS)


def _cases() -> np.ndarray:
    random = np.random.default_rng(1)
    grid = np.array([(a, b, s) for a in EXTREMES for b in EXTREMES for s in (0, 1, 2, 15, 30, 31)], np.int64)
    wide = random.integers(-(2**31), 2**31, (20000, 3), np.int64)
    wide[:, 2] = random.integers(0, 32, 20000)
    # Products near halves, where the two roundings differ from one.
    halves = wide.copy()
    halves[:, 0] = random.integers(-64, 64, 20000)
    halves[:, 1] = random.choice([2**30, 3 * 2**29, 2**29 + 1, 2**30 - 1], 20000)
    return np.concatenate([grid, wide, halves])


def test_requantise_is_gemmlowps_arithmetic(program: Path) -> None:
    cases = _cases()
    text = "\n".join(" ".join(map(str, case)) for case in cases.tolist())
    result = subprocess.run([str(program)], input=text, capture_output=True, text=True, check=True)
    actual = np.array([line.split() for line in result.stdout.splitlines()], np.int64)
    value, multiplier, shift = cases.T
    np.testing.assert_array_equal(actual[:, 0], high_multiply(value, multiplier))
    np.testing.assert_array_equal(actual[:, 1], rounding_divide(value, shift))
    np.testing.assert_array_equal(actual[:, 2], requantise(value, multiplier, -shift))


SCALED = r"""
#include <stdio.h>
#define tigris_add_int8 tigris_add_int8_again
#define tigris_sub_int8 tigris_sub_int8_again
#include "kernels/add_int8.c"
int main(void)
{
    int32_t value, multiplier, shift;
    while (scanf("%d %d %d", &value, &multiplier, &shift) == 3)
        printf("%d\n", (int)scaled_right(value, (uint32_t)multiplier << 1, (uint32_t)shift));
    return 0;
}
"""


def test_the_scaling_of_sums_is_the_same_arithmetic(tmp_path: Path) -> None:
    """Of inputs of ADD: any right shift, multipliers that are not negative, halves on both sides of zero."""
    cases = _cases()
    cases = cases[(cases[:, 1] >= 0) & (cases[:, 0] > -(2**31))]
    near = np.array([(odd << shift, 2**30, shift) for shift in range(24) for odd in range(-9, 10)], np.int64)
    cases = np.concatenate([cases, near])
    (tmp_path / "scaled.c").write_text(SCALED)
    program = compile_program(tmp_path / "scaled", [tmp_path / "scaled.c"], *SANITIZERS)
    text = "\n".join(" ".join(map(str, case)) for case in cases.tolist())
    result = subprocess.run([str(program)], input=text, capture_output=True, text=True, check=True)
    value, multiplier, shift = cases.T
    np.testing.assert_array_equal(np.array(result.stdout.split(), np.int64), requantise(value, multiplier, -shift))


def test_the_reference_rounds_as_defined() -> None:
    assert high_multiply(np.int64(-(2**31)), -(2**31)) == 2**31 - 1
    assert high_multiply(np.int64(1), 2**30) == 1, "0.5 rounds up"
    assert high_multiply(np.int64(-1), 2**30) == 0, "-0.5 rounds up"
    assert [int(rounding_divide(np.int64(v), 1)) for v in (-3, -1, 1, 3)] == [-2, -1, 1, 2], "halves leave zero"

"""The fit finds known coefficients and tiles, and nothing below zero."""

import numpy as np
import pytest

from bench.fit import Sample, fit, fit_row, fit_rows
from tigris_pio.compiler.cost.kernel import Kernel
from tigris_pio.compiler.cost.model import price


def conv(seed: int, name: str = "CONV_2D INT8") -> Kernel:
    random = np.random.default_rng(seed)
    columns, channels, window = (int(size) for size in random.integers(2, 40, 3))
    return Kernel(name, columns, channels, window, 1, window, window * channels)


def test_coefficients() -> None:
    random = np.random.default_rng(0)
    work = [{"a": x, "b": y, "c": z} for x, y, z in random.uniform(1, 100, (40, 3))]
    counted = [3 * item["a"] + 0.25 * item["b"] for item in work]
    assert fit(work, counted, ["a", "b", "c"]) == pytest.approx({"a": 3, "b": 0.25})
    falling = [1000 - item["a"] for item in work]
    assert "a" not in fit(work, falling, ["a"]) or fit(work, falling, ["a"])["a"] > 0


@pytest.mark.parametrize("row", [
    {"mac": 2.5, "output": 30, "call": 500}, {"tile": {"pixels": 4, "channels": 8}, "mac": 0.25, "pixel": 60},
])  # fmt: skip
def test_a_row(row: dict[str, object]) -> None:
    kernels = [(conv(seed), rows) for seed in range(30) for rows in (1, 2, 7)]
    found = fit_row([Sample(kernel, {rows: 2}, 2 * price(row, kernel, rows)) for kernel, rows in kernels])
    assert found.pop("tile", {}) == row.get("tile", {})
    assert found == pytest.approx({name: value for name, value in row.items() if name != "tile"})


def test_few_kernels_have_their_main_term_and_join_a_shorter_name() -> None:
    row = {"call": 150, "mac": 2}
    found = [Sample(conv(seed), {3: 1}, price(row, conv(seed), 3)) for seed in range(2)]
    odd = Sample(conv(9, "CONV_2D INT8 1x1"), {3: 1}, price(row, conv(9), 3))
    assert fit_rows([*found, odd]) == {"CONV_2D INT8": {"call": 150, "mac": 2}}

"""Row intervals against a direct count of which rows a window touches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.compiler.synthetic import Builder
from tigris_pio.compiler.ir.pace import Pace
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.plan.band.geometry import input_end, input_first, stage_rows


@given(
    kernel=st.integers(1, 7),
    stride=st.integers(1, 4),
    dilation=st.integers(1, 3),
    pad=st.integers(0, 6),
    height=st.integers(1, 30),
    begin=st.integers(0, 20),
    count=st.integers(1, 6),
)
def test_a_window_asks_for_the_rows_from_its_first_tap_to_its_last(kernel, stride, dilation, pad, height, begin, count):
    rows = RowMap.window(kernel, stride, dilation, pad)
    taps = {o * stride - pad + k * dilation for o in range(begin, begin + count) for k in range(kernel)}
    first = int(input_first(rows, np.array([begin]), height)[0])
    end = int(input_end(rows, np.array([begin + count]), height)[0])
    assert (first, end) == (min(max(min(taps), 0), height), min(max(max(taps) + 1, 0), height))


def test_the_halo_of_two_3x3_windows_is_four_rows():
    b = Builder()
    t = b.window(b.window(b.input(32, 1), 3, 1, 1, 1), 3, 1, 1, 1)
    rows = stage_rows(b.ops, b.tensors, {t: Pace(8)}, 4, keep=False)
    inner = slice(1, 3)
    assert (rows["in0"].end - rows["in0"].first)[inner].tolist() == [12, 12]
    assert rows["in0"].made_rows == 10 + 12 + 12 + 10


@pytest.mark.parametrize("kernel,stride,kept", [(3, 1, 2), (3, 2, 1), (5, 2, 3), (1, 1, 0), (2, 2, 0)])
def test_a_rolling_stage_keeps_kernel_minus_stride_rows_and_makes_each_row_once(kernel, stride, kept):
    b = Builder()
    middle = b.window(b.input(40, 1), 1, 1, 0, 1)
    t = b.window(middle, kernel, stride, 0, 1)
    height = b.tensors[t].height
    rows = stage_rows(b.ops, b.tensors, {t: Pace(1)}, height, keep=True)
    steady = slice(2, height)
    assert set((rows[middle].made - rows[middle].first)[steady].tolist()) == {kept}
    assert rows[middle].made_rows <= b.tensors[middle].height
    assert rows[middle].capacity == kernel


def test_rows_for_a_lagging_branch_are_kept():
    b = Builder()
    source = b.input(20, 1)
    branch = b.window(b.window(source, 5, 1, 2, 1), 5, 1, 2, 1)
    t = b.pointwise(branch, source)
    rows = stage_rows(b.ops, b.tensors, {t: Pace(1)}, 20, keep=True)
    assert rows[source].capacity == 5  # four rows ahead of the addition, and the addition's own

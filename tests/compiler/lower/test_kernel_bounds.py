"""Kernels of any size: closed forms equal counting, and no loop runs to 2^30."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.compiler.models import make, node
from tigris_pio import compile_model
from tigris_pio.compiler.lower.operators.kernel_geometry import KernelGeometry
from tigris_pio.compiler.lower.operators.pool import _count_taps
from tigris_pio.errors import TigrisError

SMALL = st.integers(1, 9)


@given(size=SMALL, count=st.integers(1, 12), kernel=SMALL, stride=SMALL, dilation=SMALL, pad=st.integers(0, 20),
       end=st.integers(0, 6))
def test_closed_forms_count_right(size, count, kernel, stride, dilation, pad, end):
    geometry = KernelGeometry((kernel, 1), (stride, 1), (dilation, 1), (pad, 0), (end, 0))
    taps = [[place * stride - pad + tap * dilation for tap in range(kernel)] for place in range(count)]
    inside = [sum(0 <= tap < size for tap in row) for row in taps]
    padded = [sum(-pad <= tap < size + end for tap in row) for row in taps]
    assert geometry.has_inner_taps((size, 1), (count, 1)) == all(inside)
    assert _count_taps(geometry, 0, size, count, 0).tolist() == inside
    assert _count_taps(geometry, 0, size, count, 1).tolist() == padded


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool", "Conv", "ConvTranspose"])
@pytest.mark.parametrize("name", ["kernel_shape", "strides", "dilations", "pads", "output_padding", "group"])
@pytest.mark.parametrize("value", [-(1 << 62), -1, 0, 1 << 16, 1 << 30, (1 << 63) - 1])
def test_absurd_numbers_are_refused_at_once(op, name, value):
    weights = {"w": np.ones((2, 2, 3, 3), np.float32)} if op.startswith("Conv") else {}
    attributes = {} if weights else {"kernel_shape": [3, 3]}
    attributes[name] = value if name == "group" else [value] * (4 if name == "pads" else 2)
    if name == "kernel_shape":  # large pads make sense of a large kernel
        attributes["pads"] = [max(0, value // 2 - 1)] * 4
    begin = time.process_time()
    try:
        compile_model(make([node(op, " ".join(["x", *weights]), "y", "culprit", **attributes)], {"x": (1, 2, 8, 8)},
                           ["y"], weights))
    except TigrisError as error:
        assert "culprit" in str(error)
    assert time.process_time() - begin < 5

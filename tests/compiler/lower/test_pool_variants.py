"""Pooling over three axes and of powers, run by the runtime, equal onnxruntime or numpy."""

from __future__ import annotations

import pytest

from tests.compiler.lower.compare import Case, case, check, kinds, noise, quantised
from tests.compiler.models import make, node, program
from tigris_pio.errors import UnsupportedError
from tigris_pio.format.enums import DType, OpKind

IMAGE, BLOCK = (2, 3, 7, 8), (2, 3, 6, 7, 8)
CASES = [
    *(case(op, BLOCK, opset=19, **attributes) for op in ("MaxPool", "AveragePool", "LpPool") for attributes in (
        {"kernel_shape": [3, 2, 1], "strides": [2, 1, 3], "pads": [1, 0, 0, 1, 1, 0]},
        {"kernel_shape": [3, 3, 3], "strides": [2, 2, 2], "ceil_mode": 1},
        {"kernel_shape": [3, 3, 3], "strides": [2, 2, 2], "auto_pad": "SAME_UPPER"},
        {"kernel_shape": [2, 2, 2], "dilations": [2, 1, 3]})),
    *(case("AveragePool", (1, 2, 5, 4, 6), kernel_shape=[3, 3, 3], pads=pads, count_include_pad=1)
      for pads in ([1] * 6, [0, 1, 0, 0, 0, 1])),
    *(case(op, shape) for op in ("GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool") for shape in ((2, 3, 7), BLOCK)),
    *(case("LpPool", IMAGE, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4, p=p, opset=18) for p in (1, 3)),
    *(case("GlobalLpPool", IMAGE, p=p) for p in (1, 3)),
]


@pytest.mark.parametrize("each", CASES, ids=lambda each: each.op)
def test_one_node(each: Case) -> None:
    each.check()


def test_int8_maximum_over_three_axes_stays_int8() -> None:
    model = quantised([node("MaxPool", "x", "m", kernel_shape=[2, 3, 2])], {"x": ((1, 2, 4, 5, 6), 0.05, 3)}, (0.05, 3))
    compiled = check(model, {"x": noise(1, 2, 4, 5, 6)})
    assert {op.dtype for op in compiled.plan.program.ops} == {DType.INT8}
    assert set(kinds(compiled)) - {OpKind.COPY, OpKind.TRANSPOSE} == {OpKind.MAX_POOL}


@pytest.mark.parametrize(("outputs", "shape", "kernel", "why"), [
    ("y i", (1, 2, 4, 4), [2, 2], "indices"), ("y", (1, 2, 4, 4, 4, 4), [2, 2, 2, 2], "spatial")])
def test_four_axes_and_indices_are_refused_by_name(outputs: str, shape: tuple[int, ...], kernel: list[int],
                                                   why: str) -> None:
    model = make([node("MaxPool", "x", outputs, "deep", kernel_shape=kernel)], {"x": shape}, outputs.split(),
                 types={"i": 7})
    with pytest.raises(UnsupportedError, match=f"deep.*{why}"):
        program(model)

"""Operators in float32 between int8 ones are named; networks that are float32 by themselves hear nothing."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import onnx
import pytest

from bench.operator_models import CASES, Case
from tests.compiler.models import Quantiser, make, node, program
from tigris_pio import compile_model
from tigris_pio.compiler.lower.islands import islands

RANDOM = np.random.default_rng(2)


def network(middle: list[onnx.NodeProto], int8: bool = True, end: bool = True) -> onnx.ModelProto:
    """A convolution from x to c, the nodes from c to m, and a convolution; int8 but for the nodes."""
    q = Quantiser()
    values = RANDOM.integers(-127, 128, (4, 4, 1, 1)).astype(np.int8)
    for name in ("w", "v"):
        if int8:
            q.constant(name, values, 0.01)
        else:
            q.weights[f"{name}_dq"] = values * np.float32(0.01)
    q.weights |= {"axis": np.array(1, np.int64), "k": np.array([2.0], np.float32)}
    q.add(node("Conv", f"{q.pair('x', 0.05, 0)} w_dq", "a0", "first"))
    q.add(node("Identity", q.pair("a0", 0.05, 0) if int8 else "a0", "c"), *middle)
    last = q.pair("m", 0.05, 0) if int8 and end else "m"
    if end:
        q.add(node("Conv", f"{last} v_dq", "b0", "last"))
        last = q.pair("b0", 0.05, 0)
    q.add(node("Identity", last, "y"))
    used = {name for item in q.nodes for name in item.input}
    return make(q.nodes, {"x": (1, 4, 4, 4)}, ["y"], {name: v for name, v in q.weights.items() if name in used})


def warnings(model: onnx.ModelProto) -> list[str]:
    return [text for text in program(model).warnings if "between int8" in text]


def test_the_nodes_of_an_island_are_named() -> None:
    middle = [node("CumSum", "c axis", "s", "sums"), node("Erf", "s", "e", "shape/erf"), node("Sin", "e", "m", "wave")]
    (text,) = warnings(network(middle))
    assert text.startswith("3 nodes compute in float32 between int8 ones: sums (CumSum), shape/erf (Erf), wave (Sin);")
    (text,) = warnings(network([node("CumSum", "c axis", "m", "sums")]))
    assert text.startswith("1 node computes in float32 between int8 ones: sums (CumSum);")


def test_long_lists_are_cut() -> None:
    names = ["c", *(f"t{index}" for index in range(11)), "m"]
    middle = [node("CumSum", f"{a} axis", b, f"sum{i}") for i, (a, b) in enumerate(pairwise(names))]
    (text,) = warnings(network(middle))
    assert "12 nodes compute" in text and "sum7 (CumSum), 4 more;" in text and "sum8" not in text


@pytest.mark.parametrize("model", [
    network([node("CumSum", "c axis", "m", "sums")], int8=False),  # float32 between a rounded input and output
    network([node("CumSum", "c axis", "m", "sums")], end=False),  # a float32 end
    network([node("Relu", "c", "m")]), network([node("Sigmoid", "c", "m")]), network([node("Transpose", "c", "m")]),
], ids=["float", "float_end", "relu", "sigmoid", "transpose"])
def test_others_hear_nothing(model: onnx.ModelProto) -> None:
    assert not warnings(model)


@pytest.mark.parametrize("case", [case for case in CASES if not case.kind], ids=lambda case: case.name)
def test_measured_operators_are_none(case: Case) -> None:
    """What `bench.operators` counts runs in int8."""
    assert not islands(compile_model(case.model()).plan.program.ops)

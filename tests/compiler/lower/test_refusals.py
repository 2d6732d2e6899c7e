"""Unsupported nodes are refused by name, all in one message, and never with a traceback."""

import re
from itertools import pairwise

import numpy as np
import onnx
import pytest

from bench.operator_models import CASES, Case
from tests.compiler.lower.compare import quantised
from tests.compiler.models import Quantiser, make, node, program
from tigris_pio import compile_model
from tigris_pio.compiler.lower import supported_operators
from tigris_pio.compiler.lower.islands import islands
from tigris_pio.compiler.lower.remedies import not_supported
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import front
from tigris_pio.errors import UnsupportedError

W = np.ones((2, 3, 3, 3), np.float32)
X = (1, 3, 8, 8)


def test_all_unsupported_nodes_at_once() -> None:
    nodes = [node("RandomNormalLike", "x", "a", "first"), node("Relu", "a", "b", "fine"),
             node("Einsum", "b", "c", "second", equation="aacd->cd"), node("RandomNormalLike", "c", "y", "third")]
    with pytest.raises(UnsupportedError) as caught:
        program(make(nodes, {"x": X}, ["y"]))
    lines = str(caught.value).splitlines()
    assert lines[0] == "test: 3 nodes cannot be compiled"
    assert [line.strip().split(":")[0] for line in lines[1:]] == [
        "first (RandomNormalLike)", "second (Einsum)", "third (RandomNormalLike)"]


def test_what_has_no_shape_hides_no_other_refusal() -> None:
    """Operators that ONNX does not know, shapes that depend on data, and kernels that lack, beside each other."""
    nodes = [node("NonZero", "x", "n", "data"), node("Cast", "n", "m", "follows", to=1),
             onnx.helper.make_node("Own", ["x"], ["o"], "own", domain="com.example"),
             onnx.helper.make_node("Biased", ["o"], ["p"], "second", domain="com.microsoft"),
             node("Conv", "x x2", "c", "conv"), node("Expand", "x s", "e", "size")]  # fmt: skip
    model = make(nodes, {"x": X, "x2": X, "s": (4,)}, ["m", "p", "c", "e"], types={"s": onnx.TensorProto.INT64})
    model.opset_import.extend(onnx.helper.make_opsetid(name, 1) for name in ("com.example", "com.microsoft"))
    with pytest.raises(UnsupportedError) as caught:
        front(model, CompileOptions())
    reasons = {name: reason for name, _, reason in caught.value.refused}
    assert reasons.keys() == {"data", "own", "second", "conv", "size"}
    del reasons["conv"]
    assert all("in the firmware" in reason or "give the file" in reason for reason in reasons.values())


@pytest.mark.parametrize("name", ["RandomNormal", "tflite.Flex", "tflite.SignalRfft", "com.microsoft.X", "a.B",
                                  "Unknown", "tflite.UNKNOWN"])
def test_what_is_not_supported_has_a_remedy(name: str) -> None:
    domain, _, operator = name.rpartition(".")
    assert re.fullmatch(r"this operator is not supported; .{20,}", not_supported(domain, operator))


@pytest.mark.parametrize(("nodes", "weights", "reason"), [
    ([node("Conv", "x x2", "y", "n")], {}, "weights are computed at run time"),
    ([node("Cast", "x", "i", "k", to=7), node("Add", "i c", "s", "n"),
      node("Cast", "s", "y", "m", to=1)], {"c": np.ones(1, np.int64)},
     "computes with int64"),
    ([node("Cast", "x", "i", "n", to=2), node("Cast", "i", "y", "m", to=1)], {}, "cannot hold all values"),
    ([node("Clip", "x", "m", "k"), node("MaxPool", "m", "y i", "n", kernel_shape=[2, 2]),
      node("Cast", "i", "z", "c", to=1)], {}, "output of indices is read"),
])
def test_reasons(nodes: list[onnx.NodeProto], weights: dict[str, np.ndarray], reason: str) -> None:
    outputs = ["y", "z"] if any("z" in item.output for item in nodes) else ["y"]
    inputs = {"x": X} | ({"x2": X} if any("x2" in item.input for item in nodes) else {})
    with pytest.raises(UnsupportedError, match=f"(?s)n \\(.*{reason}"):
        program(make(nodes, inputs, outputs, weights, opset=20))


def test_types_without_kernels() -> None:
    model = make([node("Relu", "x", "y")], {"x": X}, ["y"],
                 types={"x": onnx.TensorProto.DOUBLE, "y": onnx.TensorProto.DOUBLE})
    with pytest.raises(UnsupportedError, match=r"x \(graph input\): tensor x has type float64"):
        program(model)


def test_three_spatial_dimensions() -> None:
    model = make([node("Conv", "x w", "y", "deep")], {"x": (1, 3, 4, 4, 4)}, ["y"],
                 {"w": np.ones((2, 3, 1, 1, 1), np.float32)})
    with pytest.raises(UnsupportedError, match=r"deep .*3 spatial dimensions"):
        program(model)


def test_bias_beyond_32_bits() -> None:
    constants = {"w": (np.full((2, 3, 1, 1), 100, np.int8), np.full(2, 1e-5), 0), "b": np.array([1, 3e4], np.float32)}
    model = quantised([node("Conv", "x w b", "c", "wide")], {"x": (X, 0.001, 0)}, (0.05, 0), constants)
    with pytest.raises(UnsupportedError, match=r"wide .*sums of output channel 1 exceed 32 bits"):
        program(model)


def test_scales_of_blocks_that_are_computed() -> None:
    model = make([node("DequantizeLinear", "x s", "y", "blocks", axis=1, block_size=2)], {"x": (2, 4), "s": (2, 2)},
                 ["y"], opset=21, types={"x": onnx.TensorProto.INT8})
    with pytest.raises(UnsupportedError, match=r"blocks \(DequantizeLinear\): its scales of blocks \(s\)"):
        program(model)


def test_supported_operators_are_listed_and_exist_in_onnx() -> None:
    contracts = supported_operators()
    names = [contract.operator for contract in contracts]
    assert names == sorted(names) and len(set(names)) == len(names)
    assert {"Conv", "Gemm", "Softmax", "Concat", "Constant", "QuantizeLinear"} <= set(names)
    full = [name.rpartition(".")[::2] for name in names]
    known = {schema.domain for schema in onnx.defs.get_all_schemas()}
    assert all(onnx.defs.has(name, domain) or name == "Silu" for domain, name in full if domain in known)
    assert all(contract.summary for contract in contracts)


# Operators in float32 between int8 ones are named; networks that are float32 by themselves hear nothing.

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
    """Every operator that `bench.operators` counts runs in int8."""
    assert not islands(compile_model(case.model()).plan.program.ops)

"""What is not supported is refused by name, all of it at once, and never with a traceback."""

from __future__ import annotations

import re

import numpy as np
import onnx
import pytest

from tests.compiler.lower.compare import quantised
from tests.compiler.models import make, node, program
from tigris_pio.compiler.lower import supported_operators
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
      node("Cast", "i", "z", "c", to=1)], {}, "output of indices is used"),
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
    with pytest.raises(UnsupportedError, match=r"wide .*sums of output channel 1 leave 32 bits"):
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
    assert all(onnx.defs.has(name, domain) or name == "Silu" for domain, name in full)
    assert all(contract.summary for contract in contracts)

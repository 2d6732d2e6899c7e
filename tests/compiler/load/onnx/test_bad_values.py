"""Errors for numbers that contradict each other, or that no plan can hold, name the node."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper

from tests.compiler.models import make, node
from tigris_pio import Session, compile_model
from tigris_pio.errors import ModelError, TigrisError


def quantised(scale: float = 0.1, zero_point: object = 0, dtype: type = np.int8, weight_scale: object = 0.1,
              weight_zero: object = 0) -> onnx.ModelProto:
    weights = {
        "s": np.array(scale, np.float32), "z": np.array(zero_point, dtype), "wq": np.ones((4, 3, 3, 3), np.int8),
        "ws": np.array(weight_scale, np.float32), "wz": np.array(weight_zero, np.int8),
    }
    nodes = [
        node("QuantizeLinear", "x s z", "xq", "quant"), node("DequantizeLinear", "xq s z", "xd", "dequant"),
        node("DequantizeLinear", "wq ws wz", "wd", "wdequant"), node("Conv", "xd wd", "c", "conv"),
        node("QuantizeLinear", "c s z", "cq", "quant2"), node("DequantizeLinear", "cq s z", "y", "dequant2"),
    ]
    return make(nodes, {"x": (1, 3, 8, 8)}, ["y"], weights)


def refused(model: onnx.ModelProto, text: str) -> None:
    with pytest.raises(TigrisError, match=text):
        compile_model(model)


@pytest.mark.parametrize(("changes", "said"), [
    *(({"scale": scale}, r"node quant \(QuantizeLinear\) has scale .*must be a positive number")
      for scale in (0.0, -1.0, float("nan"), float("inf"))),
    ({"weight_scale": -1.0}, r"node wdequant \(DequantizeLinear\) has scale"),
    ({"weight_scale": np.full(5, 0.1)}, "node wdequant .*5 scales"),
    ({"zero_point": [0, 1]}, "node quant .*2 zero points"),
    ({"weight_scale": np.full(5, 0.1), "weight_zero": np.zeros(5)}, "wdequant.*5 scales along axis 1"),
    ({"dtype": np.int32}, "quant.*y_zero_point"), ({"dtype": np.float32}, "quant.*y_zero_point"),
])
def test_scales_and_zero_points(changes: dict[str, Any], said: str) -> None:
    refused(quantised(**changes), said)


def test_zero_points_of_two_types() -> None:
    model = quantised()
    model.graph.node[1].input[2] = "other"
    model.graph.initializer.append(numpy_helper.from_array(np.array(3, np.uint8), "other"))
    refused(model, "dequant.*x_zero_point has inconsistent type")


def test_zero_point_outside_its_type() -> None:
    model = quantised()
    (zero,) = (tensor for tensor in model.graph.initializer if tensor.name == "z")
    zero.ClearField("raw_data")
    zero.int32_data[:] = [300]
    refused(model, r"initializer z holds 300, which is outside int8; read by quant, dequant")


def conv(weights: tuple[int, ...] = (4, 3, 3, 3), size: tuple[int, ...] = (1, 3, 8, 8), bias: int | None = None,
         **attributes: object) -> onnx.ModelProto:
    constants = {"w": np.ones(weights, np.float32)}
    if bias is not None:
        constants["b"] = np.ones(bias, np.float32)
    return make([node("Conv", " ".join(["x", *constants]), "y", "conv", **attributes)], {"x": size}, ["y"], constants)


@pytest.mark.parametrize("model", [
    conv(pads=[-1, 0, 0, 0]), conv(pads=[1, 1]), conv(strides=[0, 1]), conv(strides=[-1, 1]), conv(dilations=[0, 1]),
    conv(group=0), conv(group=2), conv(group=-1), conv(kernel_shape=[5, 5]), conv((4, 5, 3, 3)), conv((4, 3, 3)),
    conv(bias=5), conv(size=(1, 3, 2, 2)), conv(size=(1, 3, 0, 8)), conv(auto_pad="WRONG"),
])  # fmt: skip
def test_convolutions_that_contradict_their_weights(model: onnx.ModelProto) -> None:
    refused(model, "conv")


@pytest.mark.parametrize(("op", "inputs", "weights", "attributes"), [
    ("MaxPool", "x", {}, {"kernel_shape": [2, 2], "pads": [-1, 0, 0, 0]}),
    ("MaxPool", "x", {}, {"kernel_shape": [0, 2]}),
    ("AveragePool", "x", {}, {"kernel_shape": [2, 2], "pads": [3, 3, 3, 3]}),
    ("Reshape", "x w", {"w": np.array([3, 3])}, {}),
    ("Reshape", "x w", {"w": np.array([-1, -1])}, {}),
    ("Concat", "x w", {"w": np.ones((1, 7, 3, 3), np.float32)}, {"axis": 2}),
    ("Transpose", "x", {}, {"perm": [0, 0, 1, 2]}),
    ("Gather", "x w", {"w": np.array([9])}, {"axis": 1}),
    ("BatchNormalization", "x w w w w", {"w": np.ones(7, np.float32)}, {}),
    ("Pad", "x w", {"w": np.array([0, 0, -5, 0, 0, 0, -5, 0])}, {}),
    ("Resize", "x - w", {"w": np.array([1, 1, 0, 2], np.float32)}, {}),
    ("ConvTranspose", "x w", {"w": np.ones((3, 4, 3, 3), np.float32)}, {"pads": [-1, 0, 0, 0]}),
    ("Expand", "x w", {"w": np.array([1, 3, 50000, 50000])}, {}),
    ("Tile", "x w", {"w": np.array([1, 1, 50000, 50000])}, {}),
])  # fmt: skip
def test_nodes_that_contradict_themselves(op: str, inputs: str, weights: dict[str, np.ndarray],
                                          attributes: dict[str, object]) -> None:
    size = (1, 3, 1, 1) if op == "Expand" else (1, 3, 8, 8)
    refused(make([node(op, inputs, "y", "culprit", **attributes)], {"x": size}, ["y"], weights), "culprit")


def test_sizes_that_no_plan_holds() -> None:
    refused(make([node("Relu", "x", "y")], {"x": (1, 1 << 40, 1 << 40)}, ["y"]), "graph input x.*smaller than 2 GB")
    constant = [node("ConstantOfShape", "s", "c", "filler"), node("Add", "x c", "y")]
    refused(make(constant, {"x": (1, 40000)}, ["y"], {"s": np.array([40000, 40000])}), "filler")


def test_weights_declared_larger_than_they_are() -> None:
    model = conv()
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.dims[:] = [4, 3, 30000, 30000]
    with pytest.raises(ModelError, match=r"initializer w with shape \[4, 3, 30000, 30000\]"):
        compile_model(model)


@pytest.mark.parametrize("size", [2**24 + 1, 2**31 - 1, 2**62 + 1])
@pytest.mark.parametrize("resized", [
    node("Resize", "x - c", "y"), node("Resize", "x - c", "y", mode="linear"),
    node("MaxPool", "x", "y", kernel_shape=[1, 2], strides=[1, 2], ceil_mode=1, pads=[0, 0, 0, 1]),
])
def test_sizes_that_are_equal_in_float32_are_refused_in_time(resized: onnx.NodeProto, size: int) -> None:
    """Such a size times a factor of 1 is another size."""
    model = make([resized], {"x": (size, 4, 6, 6)}, ["y"], {"c": np.array([1, 1, 1.5, 0.7], np.float32)}, opset=18)
    with pytest.raises(ModelError, match="graph input x"):
        compile_model(model)


def test_an_integer_input_is_quantised_by_its_numbers() -> None:
    """QuantizeLinear takes int32, whose stored form is not int8."""
    nodes = [node("QuantizeLinear", "x s z", "q"), node("DequantizeLinear", "q s z", "d"), node("Neg", "d", "y")]
    model = make(nodes, {"x": (1, 4)}, ["y"], {"s": np.float32(0.5), "z": np.int8(3)}, types={"x": TensorProto.INT32})
    with Session(compile_model(model)) as session:
        result = session.run({"x": np.array([[-100, -7, 0, 9]], np.int32)})["y"]
    np.testing.assert_array_equal(result, [[65.5, 7, 0, -9]])

"""Errors for models that cannot be read name the file, node or dimension."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.compiler.models import make, node, nodes
from tigris_pio import Session, compile_model
from tigris_pio.compiler.load import load_model
from tigris_pio.errors import ModelError, TigrisError, UnsupportedError, UsageError


def relu(shape: tuple[int | str, ...] = (1, 4)) -> onnx.ModelProto:
    return make([node("Relu", "x", "y")], {"x": shape}, ["y"])


def test_missing_file_and_directory(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"none\.onnx: no such file"):
        load_model(tmp_path / "none.onnx")
    with pytest.raises(ModelError, match="is a folder; give the path"):
        load_model(tmp_path)


@pytest.mark.parametrize(("data", "what"), [
    *((data, r"model\.onnx: is no ONNX model") for data in (b"", b"hello, this is text\n", bytes(range(256)) * 8)),
    (b"\x1c\0\0\0TFL3" + b"\0" * 40, "TensorFlow Lite"), (b"\x89HDF\r\n\x1a\n", "HDF5"), (b"PK\x03\x04rest", "zip"),
    (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS"),
])
def test_other_formats_are_named(tmp_path: Path, data: bytes, what: str) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    with pytest.raises(ModelError, match=what):
        load_model(path)


def test_truncated(tmp_path: Path, models_dir: Path) -> None:
    data = (models_dir / "kws_int8.onnx").read_bytes()
    path = tmp_path / "cut.onnx"
    for length in range(1, len(data), 1499):
        path.write_bytes(data[:length])
        with pytest.raises(ModelError, match="cut"):
            load_model(path)


W = {"w": np.ones(4, np.float32)}
#: Graphs from x [1, 4] to y, the opset, constants, and the message.
WRONG: list[tuple[str, int, dict[str, np.ndarray], str]] = [
    ("Add x b a; Relu a b; Relu b y", 17, {}, "cycle through add_a -> relu_b -> add_a"),
    ("Add x lost y", 17, {}, r"node add_y \(Add\) reads lost, which nothing defines"),
    ("Relu x z", 17, {}, "graph output y is not computed"),
    ("Relu x y; Tanh x y", 17, {}, "node tanh_y defines y, which node relu_y defines"),
    ("Add x w y", 17, {"w": np.zeros(5, np.float32)}, "add_y"),
    ("Relu x y", 6, {}, "opset 6 is older than 7"), ("Relu x y", 999, {}, "opset 999 is newer"),
    ("Conv x w y strides='two'", 17, {"w": np.zeros((4, 3, 3, 3), np.float32)}, "strides"),
]


@pytest.mark.parametrize(("text", "opset", "constants", "message"), WRONG)
def test_graphs_that_contradict_themselves(text: str, opset: int, constants: dict, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        load_model(make(nodes(text), {"x": (1, 4)}, ["y"], constants, opset))


def test_declared_output_shape_contradicts_the_nodes() -> None:
    model = relu()
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 5)))
    with pytest.raises(ModelError, match="relu_y"):
        load_model(model)


def test_free_batch_becomes_one() -> None:
    graph = load_model(relu(("N", 4)))
    assert graph.tensors["y"].shape == (1, 4)
    warning = 'input x: free first axis N taken as a batch of 1; set it with dims={"N": VALUE}'
    assert graph.warnings == (warning,)


def test_free_batch_without_a_name() -> None:
    model = relu((1, 4))
    model.graph.input[0].type.tensor_type.shape.dim[0].Clear()
    graph = load_model(model)
    assert graph.tensors["y"].shape == (1, 4) and "x:0" in graph.warnings[0]


def test_other_free_dimension_names_the_option() -> None:
    with pytest.raises(ModelError, match=r"width \(axis 2 of input x\).*dims={\"width\": VALUE}"):
        load_model(relu((1, 4, "width")))


def test_given_dimensions() -> None:
    graph = load_model(relu(("N", 4, "width")), {"N": 2, "width": 7})
    assert graph.tensors["y"].shape == (2, 4, 7) and not graph.warnings
    assert load_model(relu(("N", "c")), {"x:1": 9}).tensors["y"].shape == (1, 9)


@pytest.mark.parametrize("dims", [{"heigth": 3}, {"width": 0}, {"width": -2}])
def test_wrong_dim_option(dims: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="dims="):
        load_model(relu((1, 4, "width")), dims)


def test_initializer_shorter_than_its_shape() -> None:
    model = make([node("Add", "x w", "y")], {"x": (1, 4)}, ["y"], W)
    model.graph.initializer[0].raw_data = b"\0" * 8
    with pytest.raises(ModelError, match="initializer w"):
        load_model(model)


def test_unknown_operators_are_listed_together() -> None:
    model = make([node("Frob", "x", "a", "n1"), node("Relu", "a", "b", "n2"), node("Blend", "b", "c", "n3"),
                  node("NonZero", "c", "y", "n4")], {"x": (1, 4)}, ["y"])
    with pytest.raises(UnsupportedError) as caught:
        compile_model(model)
    text = str(caught.value)
    assert "3 nodes" in text and all(word in text for word in ("n1 (Frob)", "n3 (Blend)", "n4 (NonZero)"))
    assert "n2" not in text


# Errors for numbers that contradict each other, or that no plan can hold, name the node.


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


@pytest.mark.parametrize(("changes", "message"), [
    *(({"scale": scale}, r"node quant \(QuantizeLinear\) has scale .*must be a positive number")
      for scale in (0.0, -1.0, float("nan"), float("inf"))),
    ({"weight_scale": -1.0}, r"node wdequant \(DequantizeLinear\) has scale"),
    ({"weight_scale": np.full(5, 0.1)}, "node wdequant .*5 scales"),
    ({"zero_point": [0, 1]}, "node quant .*2 zero points"),
    ({"weight_scale": np.full(5, 0.1), "weight_zero": np.zeros(5)}, "wdequant.*5 scales along axis 1"),
    ({"dtype": np.int32}, "quant.*y_zero_point"), ({"dtype": np.float32}, "quant.*y_zero_point"),
])
def test_scales_and_zero_points(changes: dict[str, Any], message: str) -> None:
    refused(quantised(**changes), message)


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
    ("Transpose", "x", {}, {"perm": [0, 2]}),
    ("GroupNormalization", "x w w", {"w": np.ones(3, np.float32)}, {}),
    ("InstanceNormalization", "x w w", {"w": np.ones(2, np.float32)}, {}),
    ("PRelu", "x w", {"w": np.ones((1, 1, 3, 8, 8), np.float32)}, {}),
    ("GatherElements", "x w", {"w": np.zeros((1, 2), np.int64)}, {"axis": 1}),
    ("ScatterElements", "x w v", {"w": np.zeros((1, 2), np.int64), "v": np.ones((1, 2), np.float32)}, {"axis": 1}),
    ("CenterCropPad", "x w", {"w": np.array([4, 4])}, {}),
    ("LRN", "x", {}, {"size": 0}),
    ("Mean", "x -", {}, {}),
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
    refused(conv(size=(1 << 16, 3, 3, 3)), "conv computes a batch of 65536 images, a plan holds 65535")
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
    """float32 rounds these sizes, so a factor of 1 would change them."""
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

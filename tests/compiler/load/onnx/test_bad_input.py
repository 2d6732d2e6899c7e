"""Errors for models that cannot be read name the file, node or dimension."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.compiler.models import make, node, nodes
from tigris_pio import compile_model
from tigris_pio.compiler.load import load_model
from tigris_pio.errors import ModelError, UnsupportedError, UsageError


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


@pytest.mark.parametrize(("text", "opset", "constants", "said"), WRONG)
def test_graphs_that_contradict_themselves(text: str, opset: int, constants: dict[str, np.ndarray], said: str) -> None:
    with pytest.raises(ModelError, match=said):
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

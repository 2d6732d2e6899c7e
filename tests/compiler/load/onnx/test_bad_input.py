"""Models that cannot be read end in an error that names the file, node or dimension."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.compiler.models import make, node
from tigris_pio.compiler.load import load_model
from tigris_pio.errors import ModelError, UnsupportedError, UsageError


def saved(model: onnx.ModelProto, path: Path) -> Path:
    path.write_bytes(model.SerializeToString())
    return path


def relu(shape: tuple[int | str, ...] = (1, 4)) -> onnx.ModelProto:
    return make([node("Relu", "x", "y")], {"x": shape}, ["y"])


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"none\.onnx: no such file"):
        load_model(tmp_path / "none.onnx")


def test_directory(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is a folder; give the path"):
        load_model(tmp_path)


@pytest.mark.parametrize("data", [b"", b"hello, this is text\n", bytes(range(256)) * 8, b"\x00" * 64])
def test_no_onnx(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    with pytest.raises(ModelError, match=r"model\.onnx: is no ONNX model"):
        load_model(path)


@pytest.mark.parametrize(("data", "what"), [
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


def test_cycle() -> None:
    model = make([node("Add", "x b", "a", "first"), node("Relu", "a", "b", "second"), node("Relu", "b", "y")],
                 {"x": (1, 4)}, ["y"])
    with pytest.raises(ModelError, match="cycle through first -> second -> first"):
        load_model(model)


def test_dangling_input() -> None:
    model = make([node("Add", "x lost", "y", "sum")], {"x": (1, 4)}, ["y"])
    with pytest.raises(ModelError, match=r"node sum \(Add\) reads lost, which nothing defines"):
        load_model(model)


def test_dangling_output() -> None:
    with pytest.raises(ModelError, match="graph output z is not computed"):
        load_model(make([node("Relu", "x", "y")], {"x": (1, 4)}, ["z"]))


def test_name_defined_twice() -> None:
    model = make([node("Relu", "x", "y", "one"), node("Tanh", "x", "y", "two")], {"x": (1, 4)}, ["y"])
    with pytest.raises(ModelError, match="node two defines y, which node one defines"):
        load_model(model)


def test_shapes_that_do_not_add_up() -> None:
    model = make([node("Conv", "x w", "y", "bad_conv")], {"x": (1, 3, 8, 8)}, ["y"],
                 {"w": np.zeros((4, 5, 3, 3), np.float32)})
    with pytest.raises((ModelError, UnsupportedError), match="bad_conv"):
        from tests.compiler.models import program

        program(model)
    model = make([node("Add", "x w", "y", "bad_add")], {"x": (1, 3)}, ["y"], {"w": np.zeros((4,), np.float32)})
    with pytest.raises(ModelError, match="bad_add"):
        load_model(model)


def test_declared_output_shape_contradicts_the_nodes() -> None:
    model = relu()
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 5)))
    with pytest.raises(ModelError, match="relu_y"):
        load_model(model)


def test_free_batch_becomes_one() -> None:
    graph = load_model(relu(("N", 4)))
    assert graph.tensors["y"].shape == (1, 4)
    assert graph.warnings == ("input x: free batch dimension N taken as 1",)


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


def test_symbol_shared_by_two_inputs() -> None:
    model = make([node("Add", "a b", "y")], {"a": ("N", "k"), "b": (3, "k")}, ["y"])
    assert load_model(model, {"k": 5}).tensors["y"].shape == (3, 5)


@pytest.mark.parametrize("dims", [{"heigth": 3}, {"width": 0}, {"width": -2}])
def test_wrong_dim_option(dims: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="dims="):
        load_model(relu((1, 4, "width")), dims)


def test_missing_external_data(tmp_path: Path) -> None:
    model = make([node("MatMul", "x w", "y")], {"x": (1, 64)}, ["y"], {"w": np.ones((64, 64), np.float32)})
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    assert load_model(tmp_path / "m.onnx").weights["w"].shape == (64, 64)
    (tmp_path / "m.data").unlink()
    with pytest.raises(ModelError, match="external data"):
        load_model(tmp_path / "m.onnx")


def test_external_data_cut_short(tmp_path: Path) -> None:
    model = make([node("MatMul", "x w", "y")], {"x": (1, 64)}, ["y"], {"w": np.ones((64, 64), np.float32)})
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    (tmp_path / "m.data").write_bytes(b"\0" * 100)
    with pytest.raises(ModelError, match=r"m\.onnx"):
        load_model(tmp_path / "m.onnx")


def test_initializer_shorter_than_its_shape() -> None:
    model = make([node("Add", "x w", "y")], {"x": (1, 4)}, ["y"], {"w": np.ones(4, np.float32)})
    model.graph.initializer[0].raw_data = b"\0" * 8
    with pytest.raises(ModelError, match="initializer w"):
        load_model(model)


def test_too_old_and_too_new_opsets() -> None:
    with pytest.raises(ModelError, match="opset 6 is older than 7"):
        load_model(make([node("Relu", "x", "y")], {"x": (1, 4)}, ["y"], opset=6))
    with pytest.raises(ModelError, match="opset 999 is newer"):
        load_model(make([node("Relu", "x", "y")], {"x": (1, 4)}, ["y"], opset=999))


def test_unknown_operators_are_listed_together() -> None:
    model = make([node("Frob", "x", "a", "n1"), node("Relu", "a", "b", "n2"), node("Blend", "b", "c", "n3"),
                  node("NonZero", "c", "y", "n4")], {"x": (1, 4)}, ["y"])
    with pytest.raises(UnsupportedError) as caught:
        load_model(model)
    text = str(caught.value)
    assert "3 nodes" in text and all(word in text for word in ("n1 (Frob)", "n3 (Blend)", "n4 (NonZero)"))
    assert "n2" not in text


def test_data_dependent_shape() -> None:
    model = make([node("NonZero", "x", "y", "finder")], {"x": (1, 4)}, ["y"], types={"y": TensorProto.INT64})
    with pytest.raises(ModelError, match=r"node finder \(NonZero\) depends on data"):
        load_model(model)


def test_bad_attribute() -> None:
    model = make([node("Conv", "x w", "y", "odd", strides="two")], {"x": (1, 3, 8, 8)}, ["y"],
                 {"w": np.zeros((4, 3, 3, 3), np.float32)})
    with pytest.raises(ModelError, match="strides"):
        load_model(model)

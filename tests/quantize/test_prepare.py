"""Models as exporters write them become int8 throughout: what onnxruntime needs before is done."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.harness.command import tigris
from tests.runtime.build import ensure_library

Node = onnx.NodeProto


@pytest.fixture(scope="module", autouse=True)
def library() -> None:
    ensure_library()


def conv(source: str, target: str, name: str = "") -> Node:
    return helper.make_node("Conv", [source, "w"], [target], name, pads=[1] * 4)


def op(kind: str, sources: str, target: str, name: str = "", **attributes: Any) -> Node:
    return helper.make_node(kind, sources.split(), [target], name, **attributes)


def network(path: Path, nodes: list[Node], opset: int = 17, inputs: str = "x", version: int = 8,
            weights_are_inputs: bool = False) -> None:
    """A network whose input or inputs are [n, 3, 8, 8], with weights of the names that its nodes read."""
    rng = np.random.default_rng(0)
    shapes = {"w": (4, 3, 3, 3), "scale": (4,), "shift": (4,), "mean": (4,), "variance": (4,), "g": (4, 5), "k": ()}
    read = {name for node in nodes for name in node.input}
    values = {name: rng.uniform(0.2, 0.7, shape) - (0.45 if name in "wg" else 0) for name, shape in shapes.items()
              if name in read}  # fmt: skip
    weights = [numpy_helper.from_array(np.asarray(value, np.float32), name) for name, value in values.items()]
    info = helper.make_tensor_value_info
    given = [info(name, TensorProto.FLOAT, ["n", 3, 8, 8]) for name in inputs.split()]
    if weights_are_inputs:
        given += [info(item.name, TensorProto.FLOAT, list(item.dims)) for item in weights]
    made = [name for node in nodes for name in node.output if name not in read]
    outputs = [info(name, TensorProto.FLOAT, None) for name in made]
    model = helper.make_model(helper.make_graph(nodes, "net", given, outputs, weights),
                              opset_imports=[helper.make_opsetid("", opset)], ir_version=version)  # fmt: skip
    onnx.save(model, path)


def quantize(folder: Path, *more: str, **samples: np.ndarray) -> dict[str, Any]:
    """The command's JSON; random samples of the input x unless there are others."""
    arrays: Any = samples or {"x": np.random.default_rng(1).normal(size=(24, 3, 8, 8))}
    np.savez(folder / "x.npz", **arrays)
    done = tigris("quantize", folder / "m.onnx", "--data", folder / "x.npz", "-o", folder / "o.onnx", "--json", *more)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


BATCH_NORM = [conv("x", "c", "conv"), op("BatchNormalization", "c scale shift mean variance", "d", "norm"),
              op("Relu", "d", "y", "relu")]  # fmt: skip
NETWORKS = {
    "average and dense": ([conv("x", "c"), op("Relu", "c", "d"), op("GlobalAveragePool", "d", "e"),
                           op("Flatten", "e", "f"), op("Gemm", "f g", "y")],
                          "Conv_0 GlobalAveragePool_2 Flatten_3 Gemm_4"),
    "hard swish": ([conv("x", "c"), op("HardSwish", "c", "y")], "Conv_0 HardSwish_1"),
    "mish": ([conv("x", "c"), op("Mish", "c", "y")], "Conv_0 Mish_1"),
    "groups": ([conv("x", "c"), op("GroupNormalization", "c scale shift", "y", num_groups=2)],
               "Conv_0 GroupNormalization_1"),
    "tanh of a mean": ([conv("x", "c"), op("ReduceMean", "c", "d", axes=[2, 3], keepdims=0), op("Tanh", "d", "y")],
                       "Conv_0 ReduceMean_1 Tanh_2"),
    "arithmetic": ([conv("x", "c"), op("Sub", "c k", "d"), op("Div", "d k", "y")], "Conv_0 Sub_1 Div_2"),
    "two outputs": ([conv("x", "c"), op("Sigmoid", "c", "y"), op("LeakyRelu", "c", "z")],
                    "Conv_0 Sigmoid_1 LeakyRelu_2"),
    "softmax inside": ([conv("x", "c"), op("Softmax", "c", "d", axis=1), op("Mul", "d c", "y")],
                       "Conv_0 Softmax_1 Mul_2"),
}  # fmt: skip


@pytest.mark.parametrize("name", NETWORKS)
def test_all_runs_in_int8_under_the_names_that_the_compiler_gives(name: str, tmp_path: Path) -> None:
    nodes, names = NETWORKS[name]
    network(tmp_path / "m.onnx", nodes, 21 if name in ("mish", "groups") else 17, version=10)
    found = quantize(tmp_path)
    assert found["float_ops"] == [] and found["error"] < 0.05
    assert [layer["name"] for layer in found["layers"]] == names.split()


@pytest.mark.parametrize(("opset", "version", "weights_are_inputs"), [(7, 3, True), (13, 7, False), (21, 10, False)])
def test_old_models_and_those_whose_weights_are_inputs(opset: int, version: int, weights_are_inputs: bool,
                                                       tmp_path: Path) -> None:
    network(tmp_path / "m.onnx", BATCH_NORM, opset, version=version, weights_are_inputs=weights_are_inputs)
    found = quantize(tmp_path)
    assert [layer["name"] for layer in found["layers"]] == ["conv"] and found["float_ops"] == []
    assert found["error"] < 0.05


@pytest.mark.parametrize("name", ["norm", "d", "y"])
def test_what_is_folded_into_a_layer_names_it(name: str, tmp_path: Path) -> None:
    network(tmp_path / "m.onnx", BATCH_NORM)
    assert quantize(tmp_path, "--keep-float", name)["kept_float"] == ["conv"]


def test_two_inputs_and_a_batch(tmp_path: Path) -> None:
    network(tmp_path / "m.onnx", [op("Add", "x z", "s"), conv("s", "y")], inputs="x z")
    x, z = np.random.default_rng(1).normal(size=(2, 8, 2, 3, 8, 8))
    found = quantize(tmp_path, "--dim", "n=2", x=x, z=z)
    assert found["samples"] == {"calibration": 6, "held_out": 2} and found["float_ops"] == []
    assert "6 samples" in found["warnings"][-1]


def retyped(folder: Path, port: str, index: int, kind: int, shape: list[int] | None = None) -> None:
    """Another type, or another shape too, of an input or output of the network."""
    model = onnx.load(folder / "m.onnx")
    item = getattr(model.graph, port)[index]
    item.type.tensor_type.elem_type = kind
    if shape is not None:
        item.CopyFrom(helper.make_tensor_value_info(item.name, kind, shape))
    onnx.save(model, folder / "m.onnx")


def test_a_scalar_input_is_set_or_has_samples(tmp_path: Path) -> None:
    network(tmp_path / "m.onnx", [conv("x", "c"), op("Mul", "c z", "y")], inputs="x z")
    retyped(tmp_path, "input", 1, TensorProto.FLOAT, [])
    assert quantize(tmp_path, "--set", "z=2")["error"] < 0.05
    rng = np.random.default_rng(1)
    assert quantize(tmp_path, x=rng.normal(size=(24, 3, 8, 8)), z=rng.normal(size=24))["error"] < 0.1


def test_operators_that_cannot_be_compiled_are_named_before_anything_else(tmp_path: Path) -> None:
    network(tmp_path / "m.onnx", [conv("x", "c"), op("Det", "c", "y", "odd")])
    done = tigris("quantize", tmp_path / "m.onnx", "--data", tmp_path / "none.npz", "-o", tmp_path / "o.onnx", status=1)
    assert "odd (Det)" in done.stderr


def test_an_output_may_be_the_class_itself(tmp_path: Path) -> None:
    nodes = [conv("x", "c"), op("GlobalAveragePool", "c", "d"), op("Flatten", "d", "e"), op("ArgMax", "e", "y", axis=1)]
    network(tmp_path / "m.onnx", nodes)
    retyped(tmp_path, "output", 0, TensorProto.INT64)
    (output,) = quantize(tmp_path)["outputs"]
    assert output["agreement"] >= 0.8


def test_what_is_no_number_in_float_is_not_compared(tmp_path: Path) -> None:
    network(tmp_path / "m.onnx", [conv("x", "c"), op("Relu", "c", "d"), op("Log", "d", "y", "log")])
    found = quantize(tmp_path, "--keep-float", "log")
    assert found["error"] is not None and found["error"] < 0.5
    done = tigris("quantize", tmp_path / "m.onnx", "--data", tmp_path / "x.npz", "-o", tmp_path / "p.onnx", status=1)
    assert "--keep-float log keeps it in float" in done.stderr


def test_an_input_of_bytes_that_is_cast_stays_bytes(tmp_path: Path) -> None:
    network(tmp_path / "m.onnx", [op("Cast", "x", "f", to=TensorProto.FLOAT), conv("f", "c"), op("Relu", "c", "y")])
    retyped(tmp_path, "input", 0, TensorProto.UINT8)
    found = quantize(tmp_path, x=np.random.default_rng(1).integers(0, 256, (24, 3, 8, 8)).astype(np.uint8))
    assert found["float_ops"] == [] and found["error"] < 0.05

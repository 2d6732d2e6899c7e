"""Models as exporters write them become int8 throughout: what onnxruntime needs before is done."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from tests.compiler.models import make, nodes
from tests.harness.command import tigris
from tests.runtime.build import ensure_library


@pytest.fixture(scope="module", autouse=True)
def library() -> None:
    ensure_library()


Shape = Sequence[int | str]
IMAGE: Shape = ("n", 3, 8, 8)


def network(path: Path, text: str, opset: int = 17, version: int = 8, named: bool = True,
            weights_are_inputs: bool = False, types: Mapping[str, int] | None = None, **inputs: Shape) -> None:
    """A network whose input is x unless inputs are named, with weights of the names that its nodes read."""
    rng = np.random.default_rng(0)
    shapes = {"w": (4, 3, 3, 3), "scale": (4,), "shift": (4,), "mean": (4,), "variance": (4,), "g": (4, 5), "k": ()}
    made = nodes(text)
    read = {name for item in made for name in item.input}
    weights = {name: np.asarray(rng.uniform(0.2, 0.7, shape) - (0.45 if name in "wg" else 0), np.float32)
               for name, shape in shapes.items() if name in read}
    given: dict[str, Shape] = {"x": IMAGE, **inputs}
    given |= {name: value.shape for name, value in weights.items()} if weights_are_inputs else {}
    for item in made if not named else ():
        item.name = ""
    outputs = [name for item in made for name in item.output if name not in read]
    model = make(made, given, outputs, weights, opset, types)
    model.ir_version = version
    onnx.save(model, path)


def quantize(folder: Path, *more: str, **samples: np.ndarray) -> dict[str, Any]:
    """The command's JSON; random samples of the input x unless there are others."""
    arrays: Any = samples or {"x": np.random.default_rng(1).normal(size=(24, 3, 8, 8))}
    np.savez(folder / "x.npz", **arrays)
    done = tigris("quantize", folder / "m.onnx", "--data", folder / "x.npz", "-o", folder / "o.onnx", "--json", *more)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


CONV = "Conv x w c pads=[1,1,1,1]"
BATCH_NORM = f"{CONV}; BatchNormalization c scale shift mean variance d; Relu d y"
#: What follows the convolution, and the layers.
NETWORKS = {
    "average and dense": ("Relu c d; GlobalAveragePool d e; Flatten e f; Gemm f g y",
                          "Conv_0 GlobalAveragePool_2 Flatten_3 Gemm_4"),
    "hard swish": ("HardSwish c y", "Conv_0 HardSwish_1"), "mish": ("Mish c y", "Conv_0 Mish_1"),
    "groups": ("GroupNormalization c scale shift y num_groups=2", "Conv_0 GroupNormalization_1"),
    "tanh of a mean": ("ReduceMean c d axes=[2,3] keepdims=0; Tanh d y", "Conv_0 ReduceMean_1 Tanh_2"),
    "arithmetic": ("Sub c k d; Div d k y", "Conv_0 Sub_1 Div_2"),
    "two outputs": ("Sigmoid c y; LeakyRelu c z", "Conv_0 Sigmoid_1 LeakyRelu_2"),
    "softmax inside": ("Softmax c d axis=1; Mul d c y", "Conv_0 Softmax_1 Mul_2"),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_all_runs_in_int8_under_the_names_that_the_compiler_gives(name: str, tmp_path: Path) -> None:
    text, names = NETWORKS[name]
    opset = 21 if name in ("mish", "groups") else 17
    network(tmp_path / "m.onnx", f"{CONV}; {text}", opset, version=10, named=False)
    found = quantize(tmp_path)
    assert found["float_ops"] == [] and found["error"] < 0.05
    assert [layer["name"] for layer in found["layers"]] == names.split()


@pytest.mark.parametrize(("opset", "version", "weights_are_inputs"), [(7, 3, True), (13, 7, False), (21, 10, False)])
def test_old_models_and_those_whose_weights_are_inputs(opset: int, version: int, weights_are_inputs: bool,
                                                       tmp_path: Path) -> None:
    network(tmp_path / "m.onnx", BATCH_NORM, opset, version=version, weights_are_inputs=weights_are_inputs)
    found = quantize(tmp_path)
    assert [layer["name"] for layer in found["layers"]] == ["conv_c"] and found["float_ops"] == []
    assert found["error"] < 0.05


@pytest.mark.parametrize("name", ["batchnormalization_d", "d", "y"])
def test_what_is_folded_into_a_layer_names_it(name: str, tmp_path: Path) -> None:
    network(tmp_path / "m.onnx", BATCH_NORM)
    assert quantize(tmp_path, "--keep-float", name)["kept_float"] == ["conv_c"]


def test_two_inputs_and_a_batch(tmp_path: Path) -> None:
    network(tmp_path / "m.onnx", "Add x z s; Conv s w y pads=[1,1,1,1]", z=IMAGE)
    x, z = np.random.default_rng(1).normal(size=(2, 8, 2, 3, 8, 8))
    found = quantize(tmp_path, "--dim", "n=2", x=x, z=z)
    assert found["samples"] == {"calibration": 6, "held_out": 2} and found["float_ops"] == []
    assert "6 samples" in found["warnings"][-1]


def test_a_scalar_input_is_set_or_has_samples(tmp_path: Path) -> None:
    network(tmp_path / "m.onnx", f"{CONV}; Mul c z y", z=())
    assert quantize(tmp_path, "--set", "z=2")["error"] < 0.05
    rng = np.random.default_rng(1)
    assert quantize(tmp_path, x=rng.normal(size=(24, 3, 8, 8)), z=rng.normal(size=24))["error"] < 0.1


def test_operators_that_cannot_be_compiled_are_named_before_anything_else(tmp_path: Path) -> None:
    network(tmp_path / "m.onnx", f"{CONV}; Det c y")
    done = tigris("quantize", tmp_path / "m.onnx", "--data", tmp_path / "none.npz", "-o", tmp_path / "o.onnx", status=1)
    assert "det_y (Det)" in done.stderr


def test_an_output_may_be_the_class_itself(tmp_path: Path) -> None:
    network(tmp_path / "m.onnx", f"{CONV}; GlobalAveragePool c d; Flatten d e; ArgMax e y axis=1",
            types={"y": TensorProto.INT64})
    (output,) = quantize(tmp_path)["outputs"]
    assert output["agreement"] >= 0.8


def test_what_is_no_number_in_float_is_not_compared(tmp_path: Path) -> None:
    network(tmp_path / "m.onnx", f"{CONV}; Relu c d; Log d y")
    found = quantize(tmp_path, "--keep-float", "log_y")
    assert found["error"] is not None and found["error"] < 0.5
    done = tigris("quantize", tmp_path / "m.onnx", "--data", tmp_path / "x.npz", "-o", tmp_path / "p.onnx", status=1)
    assert "--keep-float log_y keeps it in float" in done.stderr


def test_an_input_of_bytes_that_is_cast_stays_bytes(tmp_path: Path) -> None:
    network(tmp_path / "m.onnx", "Cast x f to=1; Conv f w c pads=[1,1,1,1]; Relu c y", types={"x": TensorProto.UINT8})
    found = quantize(tmp_path, x=np.random.default_rng(1).integers(0, 256, (24, 3, 8, 8)).astype(np.uint8))
    assert found["float_ops"] == [] and found["error"] < 0.05


def test_what_onnxruntime_optimised_becomes_int8_as_well(tmp_path: Path) -> None:
    """Its fused operators are taken apart first: those that onnxruntime's quantiser leaves in float."""
    network(tmp_path / "m.onnx", f"{CONV}; Relu c d; Flatten d e; Sigmoid e f; Mul e f y")
    model = onnx.load(tmp_path / "m.onnx")
    conv, act, *others = model.graph.node
    conv.op_type, conv.domain, conv.output[0] = "FusedConv", "com.microsoft", act.output[0]
    conv.attribute.append(onnx.helper.make_attribute("activation", "Relu"))
    silu = onnx.helper.make_node("QuickGelu", ["e"], ["y"], "silu", domain="com.microsoft", alpha=1.0)
    del model.graph.node[1:]
    model.graph.node.extend([others[0], silu])
    model.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    onnx.save(model, tmp_path / "m.onnx")
    found = quantize(tmp_path)
    assert found["error"] < 0.05 and found["float_ops"] == []

"""The verdict: a layer that differs fails the model even if the outputs hide it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from onnx import TensorProto, numpy_helper

from tests.compiler.models import Quantiser, make, node
from tigris_pio.cli.main import cli
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import back, front
from tigris_pio.host import Session
from tigris_pio.verify import compare as verdict
from tigris_pio.verify.compare import random_inputs
from tigris_pio.verify.reference import open_reference

RANDOM = np.random.default_rng(8)
OPTIONS = CompileOptions()


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two small convolutions and a coarse output."""
    q = Quantiser()
    for name, source, result in (("first", "x", "c"), ("second", "c", "e")):
        weight = q.constant(name, RANDOM.integers(-127, 128, (4, 4, 1, 1)).astype(np.int8), 0.01)
        q.add(node("Conv", f"{q.pair(source, 0.03, 4)} {weight}", result, name))
    q.add(node("Sigmoid", q.pair("e", 0.05, 0), "t"), node("Identity", q.pair("t", 1 / 256, -128), "y"))
    file = tmp_path_factory.mktemp("verdict") / "small.onnx"
    onnx.save(make(q.nodes, {"x": (1, 4, 6, 6)}, ["y"], q.weights), file)
    return file


def verify(path: Path, *more: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli, ["verify", str(path), "--samples", "2", *more])
    return done.exit_code, done.output


def test_layers_that_differ_fail_and_are_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is below a rounding error, so that right layers differ while the output stays right."""
    monkeypatch.setattr(verdict, "OWN_STEPS", 0.4)
    code, text = verify(path)
    assert code == 1 and "verify: failed" in text
    assert "differs: first (conv_2d), own error 0.5" in text and "differs: second (conv_2d), own error 0.5" in text
    code, text = verify(path, "--json")
    document = json.loads(text)
    assert code == 1 and document["passed"] is False and document["first_different"] == "first"
    assert document["different"][:2] == ["first", "second"]
    assert not any(output["differs"] for output in document["outputs"])


def given_quantised() -> onnx.ModelProto:
    """The first layer quantises a graph input; the result is an output and is transposed."""
    nodes = [node("QuantizeLinear", "x s z", "q"), node("Transpose", "q", "y", perm=[0, 2, 3, 1])]
    return make(nodes, {"x": (1, 4, 6, 6)}, ["q", "y"], {"s": np.float32(0.03), "z": np.uint8(20)},
                types={"q": TensorProto.UINT8, "y": TensorProto.UINT8})


def concatenated_with_two_scales() -> onnx.ModelProto:
    """A Concat of integers with two scales, of which the tensor's annotation has only one."""
    nodes = [node("Sigmoid", "x", "a"), node("QuantizeLinear", "a s z", "p"), node("QuantizeLinear", "x t w", "q"),
             node("Concat", "p q", "y", axis=1), node("DequantizeLinear", "y t w", "d"), node("Neg", "d", "e")]
    weights = {"s": np.float32(1 / 256), "z": np.int8(-128), "t": np.float32(0.03), "w": np.int8(4)}
    return make(nodes, {"x": (1, 4, 6, 6)}, ["y", "e"], weights, types={"y": TensorProto.INT8})


def in_operator_format() -> onnx.ModelProto:
    """QLinear operators, whose expanded tensors the model does not name; float32 behind a coarse scale."""
    nodes = [node("QuantizeLinear", "x s z", "q"), node("QLinearConv", "q s z w t v r u", "c"),
             node("QLinearMatMul", "c r u m t v s z", "k"), node("DequantizeLinear", "k s z", "d"),
             node("Tanh", "d", "y")]
    weights = {"s": np.float32(0.03), "z": np.int8(4), "t": np.float32(0.01), "v": np.int8(0), "r": np.float32(0.003),
               "u": np.int8(-9), "w": RANDOM.integers(-127, 128, (4, 4, 1, 1)).astype(np.int8),
               "m": RANDOM.integers(-127, 128, (6, 5)).astype(np.int8)}
    return make(nodes, {"x": (1, 4, 6, 6)}, ["y"], weights)


def used_rounded_and_unrounded() -> onnx.ModelProto:
    """A Clip with two readers: one reads it quantised, the other in float32."""
    q = Quantiser()
    weight = q.constant("v", RANDOM.integers(-127, 128, (4, 4, 1, 1)).astype(np.int8), 0.01)
    q.add(node("Conv", f"{q.pair('x', 0.03, 4)} {weight}", "c"), node("Clip", "c low high", "k"),
          node("Tanh", "k", "b"), node("Identity", q.pair("k", 0.02, 127), "a"))
    return make(q.nodes, {"x": (1, 4, 6, 6)}, ["a", "b"], q.weights | {"low": np.float32(0), "high": np.float32(6)})


def coarse_in_int8_and_fine_in_float() -> onnx.ModelProto:
    """Half a step of int8 exceeds a thousandth of the float32 output."""
    q = Quantiser()
    for name, source, result in (("first", "x", "c"), ("second", "c", "e")):
        weight = q.constant(name, RANDOM.integers(-127, 128, (4, 4, 3, 3)).astype(np.int8), 0.01)
        q.add(node("Conv", f"{q.pair(source, 0.3, 4)} {weight}", result, pads=[1, 1, 1, 1]))
    q.add(node("Conv", f"{q.pair('e', 0.3, 4)} f", "y"))
    return make(q.nodes, {"x": (1, 4, 6, 6)}, ["y"], q.weights | {
        "f": RANDOM.standard_normal((4, 4, 1, 1)).astype(np.float32)})


def without_a_number() -> onnx.ModelProto:
    """Divisions 0 / 0 and 1 / 0: NaN and infinity in the reference."""
    q = Quantiser()
    q.add(node("Relu", q.pair("x", 0.03, 4), "r"), node("Sub", f"x_dq {q.pair('r', 0.03, -128)}", "n"),
          node("Div", "r_dq n", "y"))
    return make(q.nodes, {"x": (1, 4, 6, 6)}, ["y"], q.weights)


def fewer_boxes_than_there_can_be() -> onnx.ModelProto:
    """NonMaxSuppression: the reference returns a row per box that it found, the plan a fixed number."""
    nodes = [node("Reshape", "x shape", "b"), node("Slice", "b zero one", "s"),
             node("Transpose", "s", "t", perm=[0, 2, 1]), node("NonMaxSuppression", "b t most", "y")]
    weights = {"shape": np.array([1, 36, 4]), "zero": np.array([0, 0, 0]), "one": np.array([1, 36, 1]),
               "most": np.array([36])}
    return make(nodes, {"x": (1, 4, 6, 6)}, ["y"], weights, types={"y": TensorProto.INT64})


def not_quantised_at_its_end() -> onnx.ModelProto:
    """A Conv without QuantizeLinear behind it: int32 sums times a scale."""
    q = Quantiser()
    weight = q.constant("v", RANDOM.integers(-127, 128, (4, 4, 3, 3)).astype(np.int8), np.linspace(0.01, 0.02, 4))
    q.add(node("Conv", f"{q.pair('x', 0.03, 4)} {weight}", "y", pads=[1, 1, 1, 1]))
    return make(q.nodes, {"x": (1, 4, 6, 6)}, ["y"], q.weights)


FORMS = [given_quantised, concatenated_with_two_scales, in_operator_format, used_rounded_and_unrounded,
         coarse_in_int8_and_fine_in_float, without_a_number]


@pytest.mark.parametrize("made", [*FORMS, fewer_boxes_than_there_can_be, not_quantised_at_its_end])
def test_right_models_pass_whatever_their_form(made: Callable[[], onnx.ModelProto], tmp_path: Path) -> None:
    onnx.save(made(), tmp_path / "right.onnx")
    code, text = verify(tmp_path / "right.onnx", "--json")
    document = json.loads(text)
    assert code == 0 and document["passed"]
    for layer in (*document["layers"], *document["outputs"]):
        assert layer["cosine"] > 0.99 and (layer["steps"] or 0) <= 8, layer
        own_steps, own_relative = layer.get("own_steps") or 0, layer.get("own_relative") or 0
        assert own_steps < 0.6 and own_relative < 1e-4, layer


@pytest.mark.parametrize("made", FORMS)
def test_wrong_models_fail_whatever_their_form(made: Callable[[], onnx.ModelProto], tmp_path: Path) -> None:
    """The reference is another network: its scales and factors are 1.5 times as large."""
    model, path = made(), tmp_path / "wrong.onnx"
    plan = back(front(model, OPTIONS), OPTIONS)
    for item in model.graph.initializer:
        if item.data_type == TensorProto.FLOAT and not item.dims:
            item.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(item) * np.float32(1.5), item.name))
    onnx.save(model, path)
    with Session(plan) as session:
        samples = [random_inputs(session, seed) for seed in range(2)]
    assert not verdict.compare(plan, plan, open_reference(path, {}), samples).passed

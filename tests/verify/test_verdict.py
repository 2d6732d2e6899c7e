"""The verdict: a layer that differs fails the model even if the outputs hide it."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from onnx import TensorProto, numpy_helper

from tests.compiler.models import Quantiser, make, node
from tests.compiler.test_states import Recurrent
from tests.harness.command import tigris
from tests.harness.tiers import sampled
from tests.networks.folders import OWN
from tigris_pio import Session, compile_model
from tigris_pio.cli.main import cli
from tigris_pio.compiler.ir.program import ProgramOp
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import Front, back, front
from tigris_pio.format.enums import OpKind
from tigris_pio.verify import compare as verdict
from tigris_pio.verify.compare import Comparison, compare, random_inputs
from tigris_pio.verify.hop import compare_hop
from tigris_pio.verify.own_inputs import OwnDifference, OwnInputs
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


# compare() names the first wrong layer and measures its error; a correct plan passes.


def with_changed_weights(start: Front, name: str) -> Front:
    """The same program with the weights of operator `name` mirrored along their last axis."""
    ops = []
    for op in start.program.ops:
        blobs = dict(op.blobs)
        if op.name == name:
            blobs["weights"] = np.ascontiguousarray(blobs["weights"][..., ::-1])
        ops.append(dataclasses.replace(op, blobs=blobs))
    return dataclasses.replace(start, program=dataclasses.replace(start.program, ops=tuple(ops)))


def run(path: Path, broken: str | None = None) -> Comparison:
    start = front(path, OPTIONS)
    clean = back(start, OPTIONS)
    compiled = clean if broken is None else back(with_changed_weights(start, broken), OPTIONS)
    with Session(compiled) as session:
        samples = [random_inputs(session, seed) for seed in range(3)]
    return compare(compiled, compiled, open_reference(path, {}), samples)


MODELS = [("kws_int8", "conv2/Conv"), ("kws_fp32", "conv3/Conv"), ("resnet_int8", None), ("vww_fp32", None)]


@pytest.mark.parametrize("model,broken", sampled(MODELS, fast=("kws_int8", "kws_fp32")))
def test_every_layer_has_figures_and_the_first_wrong_one_is_named(models_dir, float_dir, model, broken):
    path = (float_dir if model.endswith("fp32") else models_dir) / f"{model}.onnx"
    comparison = run(path)
    assert comparison.passed and comparison.first_different is None
    assert all(layer.cosine > 0.9 for layer in comparison.layers)
    assert sum(layer.max_difference > 0 for layer in comparison.layers) >= len(comparison.layers) // 2
    if broken is not None:
        found = run(path, broken).first_different
        assert found is not None and found.name == broken and found.max_difference > 0


def test_bands_that_change_bytes_are_seen(models_dir):
    path = models_dir / "kws_int8.onnx"
    start = front(path, OPTIONS)
    compiled, other = back(start, OPTIONS), back(with_changed_weights(start, "fc0/Gemm"), OPTIONS)
    with Session(compiled) as session:
        samples = [random_inputs(session, seed) for seed in range(4)]
    assert not compare(compiled, other, open_reference(path, {}), samples).bands_identical


# Own errors: a layer that gets the plan's values shows its own fault only, down to one step.


def shifted(start: Front, name: str) -> Front:
    """The same program with one step added to every output element of operator `name`."""
    (op,) = (op for op in start.program.ops if op.name == name)
    params = dataclasses.replace(op.params, output_zero_point=op.params.output_zero_point + 1)
    ops = tuple(dataclasses.replace(op, params=params) if other is op else other for other in start.program.ops)
    return dataclasses.replace(start, program=dataclasses.replace(start.program, ops=ops))


def differences(model: onnx.ModelProto, start: Front) -> dict[str, OwnDifference]:
    own = OwnInputs(model, start.program)
    with Session(back(start, OPTIONS)) as session:
        return {item.tensor: item for item in own.run(session, random_inputs(session, 1))}


def test_one_step_shows_in_its_own_layer_only(models_dir):
    model = onnx.load(models_dir / "kws_int8.onnx")
    found = differences(model, shifted(front(model, OPTIONS), "conv2/Conv"))
    by_op = {item.op: item.steps for item in found.values()}
    assert 1.0 < by_op.pop("conv2/Conv") < 1.6
    assert max(by_op.values()) <= 0.6


def test_rows_that_nothing_needs_are_left_out():
    q = Quantiser()
    q.add(node("MaxPool", q.pair("x", 0.02, 3), "p", kernel_shape=[1, 1]))
    q.add(node("AveragePool", q.pair("p", 0.02, 3), "a", kernel_shape=[1, 1], strides=[5, 5]))
    q.add(node("Identity", q.pair("a", 0.02, 3), "y"))
    start = front(model := make(q.nodes, {"x": [1, 2, 8, 8]}, ["y"], q.weights), OPTIONS)
    with Session(back(start, OPTIONS)) as session:
        stored = {"x": np.full(session.inputs[0].stored_shape, 40, np.int8)}
        _, trace = session.run_raw_traced(stored)
    assert any((array == 0).any() for array in trace.values())  # rows 6 and 7 of the first pool
    assert all(item.steps <= 0.51 for item in differences(model, start).values())


# verify carries states: onnxruntime gets the plan's states before each step, and new states are compared.


def compared(made: Recurrent, path: Path, skewed: bool = False) -> Comparison:
    onnx.save(made.model(), path)
    options = CompileOptions(states=tuple(made.ties().items()))
    start = front(path, options)
    whole = back(start, options)
    if skewed:
        ops = tuple(_exchanged(start.program.ops))
        start = dataclasses.replace(start, program=dataclasses.replace(start.program, ops=ops))
    compiled = back(start, options)
    with Session(compiled) as session:
        samples = [random_inputs(session, seed) for seed in range(4)]
    return compare(compiled, whole, open_reference(path, {}, {}, options.states), samples)


def _exchanged(ops: tuple[ProgramOp, ...]) -> list[ProgramOp]:
    """The first COMMIT stores the model's input instead of the new state."""
    first = next(op for op in ops if op.kind is OpKind.COMMIT)
    changed = dataclasses.replace(first, operands=(dataclasses.replace(first.operands[0], tensor="x"),))
    return [changed if op is first else op for op in ops]


@pytest.mark.parametrize("quantised", [False, True], ids=["float32", "int8"])
@pytest.mark.parametrize("seed", sampled(range(3), fast=1))
def test_right_models_pass(seed: int, quantised: bool, tmp_path: Path) -> None:
    found = compared(Recurrent(seed, quantised), tmp_path / "m.onnx")
    assert found.passed, found.different
    assert {layer.kind for layer in found.outputs} == {"output", "state"}


def test_a_wrong_state_differs(tmp_path: Path) -> None:
    """The swapped tensor has the state's size, so that the plan is valid."""
    made = next(made for seed in range(40) if (made := Recurrent(seed, False)).heights["s0"] == made.heights["x"]
                and not any(node.output[0] == "n0" and node.input[0] == "x" for node in made.quantiser.nodes))
    found = compared(made, tmp_path / "m.onnx", skewed=True)
    assert "s0" in [layer.name for layer in found.different]


def test_the_command_takes_states_and_their_first_values(tmp_path: Path) -> None:
    """The reference gets the same first values."""
    made = Recurrent(5, quantised=True)
    onnx.save(made.model(), tmp_path / "m.onnx")
    ties = [word for new, held in made.ties().items() for word in ("--state", f"{new}={held}", "--set", f"{held}=0.5")]
    document = json.loads(tigris("verify", tmp_path / "m.onnx", *ties, "--json").stdout)
    assert document["passed"] and document["samples"] == 8


# `tigris verify --hop`: runs on overlapping windows must equal runs on whole windows.

SWW = OWN / "sww_int8.onnx"


def test_a_network_is_verified_on_overlapping_windows() -> None:
    done = tigris("verify", SWW, "-m", "8K", "--hop", "2", "--samples", "3")
    assert "3 runs on overlapping windows against whole ones, from run 15 on: identical" in done.stdout
    document = json.loads(tigris("verify", SWW, "-m", "8K", "--hop", "2", "--samples", "2", "--json").stdout)
    assert document["passed"] and document["hop"] == {"runs": 2, "first": 15, "different": []}


def test_a_session_that_loses_its_states_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The states are reset before run 17."""
    hop, whole = compile_model(SWW, hop=2), compile_model(SWW)
    run, calls = Session.run, []

    def forgetful(session: Session, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        if session.state:
            calls.append(1)
            if len(calls) == 17:
                session.reset()
        return run(session, inputs)

    assert compare_hop(hop, whole, 4, 0).passed
    monkeypatch.setattr(Session, "run", forgetful)
    found = compare_hop(hop, whole, 4, 0)
    assert not found.passed and found.first == 15 and 17 in found.different and 15 not in found.different

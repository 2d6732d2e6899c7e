"""LSTM, GRU and RNN against onnxruntime and, where that has no such option, against ONNX's formulas in numpy."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.compiler.lower import compare
from tests.compiler.models import make, node, ort
from tests.harness.tiers import examples
from tigris_pio import compile_model
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.errors import UnsupportedError
from tigris_pio.format.enums import DType, OpKind, Strategy

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}


def network(op: str, *, steps: int = 5, batch: int = 1, inputs: int = 3, units: int = 4, seed: int = 0,
            given: str = "", outputs: str = "y h c", x: str = "x", **attributes: Any) -> onnx.ModelProto:
    """One layer; `given`: letters of what else it has: b(ias), h(idden), c(ell), p(eepholes), as inputs: H, C."""
    rng = np.random.default_rng(seed)
    count = DIRECTIONS[attributes.get("direction", "forward")]
    rows = GATES[op] * units
    state = (batch, count, units) if attributes.get("layout") else (count, batch, units)
    weights = {"w": rng.normal(0, 0.6, (count, rows, inputs)), "r": rng.normal(0, 0.6, (count, rows, units))}
    shapes = {x: (batch, steps, inputs) if attributes.get("layout") else (steps, batch, inputs)}
    names = [x, "w", "r", "-", "-", "-", "-", "-"]
    for letter, place, shape in (("b", 3, (count, 2 * rows)), ("h", 5, state), ("c", 6, state),
                                 ("p", 7, (count, 3 * units))):
        if letter in given.lower() and (op == "LSTM" or place < 6):
            names[place] = letter + "0"
            if letter.upper() in given:
                shapes[letter + "0"] = shape
            else:
                weights[letter + "0"] = rng.normal(0, 0.6, shape)
    results = outputs.split()[: 3 if op == "LSTM" else 2]
    while names[-1] == "-":
        names.pop()
    proto = node(op, " ".join(names), " ".join(results), "layer", hidden_size=units, **attributes)
    for place, name in enumerate(proto.output):
        proto.output[place] = "" if name == "-" else name
    return make([proto], shapes, [name for name in results if name != "-"],
                {name: value.astype(np.float32) for name, value in weights.items()}, opset=14)


def feeds(model: onnx.ModelProto, seed: int = 1) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {value.name: rng.normal(0, 1, [dim.dim_value for dim in value.type.tensor_type.shape.dim]).astype(np.float32)
            for value in model.graph.input}


def check(model: onnx.ModelProto, expected: Mapping[str, np.ndarray] | None = None) -> Compiled:
    return compare.check(model, feeds(model), expected, rtol=2e-5, atol=2e-6)


OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("LSTM", {"outputs": "- - c", "given": "bHC"}), ("LSTM", {"outputs": "- h c", "direction": "bidirectional"}),
    ("GRU", {"linear_before_reset": 0, "given": "b"}), ("GRU", {"linear_before_reset": 1, "given": "b"}),
    ("LSTM", {"given": "bhcp"}), ("LSTM", {"given": "bhcp", "clip": 0.3, "direction": "reverse"}),
    ("LSTM", {"given": "bhcp", "direction": "bidirectional"}), ("LSTM", {"given": "b", "input_forget": 1}),
    ("GRU", {"given": "b", "clip": 0.2}),
    # Activations of each direction have their own numbers.
    ("LSTM", {"direction": "bidirectional", "given": "b", "activation_alpha": [0.25, 0.05], "activation_beta": [0.45],
              "activations": ["HardSigmoid", "Tanh", "Relu", "Sigmoid", "LeakyRelu", "Tanh"]}),
    # A step at a time, or two.
    *((op, {"steps": steps, "given": "bHC", "units": 7}) for op in GATES for steps in (1, 2)),
]


@pytest.mark.parametrize(("op", "options"), OPTIONS)
def test_options(op: str, options: dict[str, Any]) -> None:
    check(network(op, **options))


ACTIVATIONS: dict[str, dict[str, list[float]]] = {
    "Relu": {}, "Tanh": {}, "Sigmoid": {}, "Affine": {"activation_alpha": [0.7], "activation_beta": [0.1]},
    "LeakyRelu": {"activation_alpha": [0.3]}, "ThresholdedRelu": {"activation_alpha": [0.4]},
    "ScaledTanh": {"activation_alpha": [1.2], "activation_beta": [0.6]},
    "HardSigmoid": {"activation_alpha": [0.3], "activation_beta": [0.4]}, "Elu": {"activation_alpha": [0.8]},
    "Softsign": {}, "Softplus": {},
}


def formula(name: str, x: np.ndarray) -> np.ndarray:
    alpha, beta = (ACTIVATIONS[name].get(f"activation_{key}", [0.0])[0] for key in ("alpha", "beta"))
    return {
        "Relu": np.maximum(x, 0), "Tanh": np.tanh(x), "Sigmoid": 1 / (1 + np.exp(-x)), "Affine": alpha * x + beta,
        "LeakyRelu": np.where(x < 0, alpha * x, x), "ThresholdedRelu": np.where(x < alpha, 0, x),
        "ScaledTanh": alpha * np.tanh(beta * x), "HardSigmoid": np.clip(alpha * x + beta, 0, 1),
        "Elu": np.where(x < 0, alpha * np.expm1(x), x), "Softsign": x / (1 + np.abs(x)),
        "Softplus": np.logaddexp(0, x),
    }[name]


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_every_activation(name: str) -> None:
    """onnxruntime approximates some and reads its own defaults for others, so the formula decides."""
    model = network("RNN", activations=[name], steps=6, **ACTIVATIONS[name])
    weights = {item.name: onnx.numpy_helper.to_array(item)[0].astype(np.float64) for item in model.graph.initializer}
    x, state, states = feeds(model)["x"].astype(np.float64), np.zeros((1, 4)), []
    for step in x:
        state = formula(name, step @ weights["w"].T + state @ weights["r"].T)
        states.append(state)
    expected = {"y": np.stack(states)[:, np.newaxis], "h": states[-1][np.newaxis]}
    check(model, {name: array.astype(np.float32) for name, array in expected.items()})


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize("op", GATES)
def test_batch_first(op: str, direction: str) -> None:
    """onnxruntime has no layout 1: it is the other layout with axes exchanged."""
    first = network(op, layout=1, given="bhc", batch=2, direction=direction)
    other = network(op, given="bhc", batch=2, direction=direction)
    for mine, theirs in zip(first.graph.initializer, other.graph.initializer, strict=True):
        array = onnx.numpy_helper.to_array(mine)
        turned = array.transpose(1, 0, 2) if mine.name in ("h0", "c0") else array
        theirs.CopyFrom(onnx.numpy_helper.from_array(np.ascontiguousarray(turned), mine.name))
    expected = ort(other, {"x": feeds(first)["x"].transpose(1, 0, 2)})
    axes = {"y": (2, 0, 1, 3), "h": (1, 0, 2), "c": (1, 0, 2)}
    check(first, {name: array.transpose(axes[name]) for name, array in expected.items()})


@settings(max_examples=examples(12, 60), deadline=None)
@given(st.sampled_from(sorted(GATES)), st.sampled_from(sorted(DIRECTIONS)), st.integers(1, 9), st.integers(1, 3),
       st.integers(1, 17), st.integers(1, 9), st.sampled_from(["y h c", "y", "- h", "- h c"]),
       st.sampled_from(["", "bhc", "bHC"]))
def test_any_sizes(op: str, direction: str, steps: int, batch: int, inputs: int, units: int, outputs: str,
                   given: str) -> None:
    check(network(op, direction=direction, steps=steps, batch=batch, inputs=inputs, units=units, outputs=outputs,
                  given=given, seed=steps * 100 + inputs))


def between_convolutions(op: str, outputs: str) -> onnx.ModelProto:
    """[1, 16, 96] -> Conv1D -> layer along time -> Conv1D, or a fully connected layer of the last state."""
    layer = network(op, steps=96, inputs=24, units=20, outputs=outputs, given="b", x="s")
    rng = np.random.default_rng(4)
    nodes = [node("Conv", "x k", "f", pads=[1, 1]), node("Transpose", "f", "s", perm=[2, 0, 1]), *layer.graph.node]
    weights = {item.name: onnx.numpy_helper.to_array(item) for item in layer.graph.initializer}
    weights["k"] = rng.normal(0, 0.2, (24, 16, 3)).astype(np.float32)
    if "y" in outputs:
        weights |= {"m": rng.normal(0, 0.2, (5, 20, 3)).astype(np.float32), "one": np.array([1])}
        nodes += [node("Squeeze", "y one", "q"), node("Transpose", "q", "t", perm=[1, 2, 0]), node("Conv", "t m", "z")]
    else:
        weights |= {"m": rng.normal(0, 0.2, (20, 3)).astype(np.float32), "one": np.array([0])}
        nodes += [node("Squeeze", "h one", "q"), node("MatMul", "q m", "z")]
    return make(nodes, {"x": (1, 16, 96)}, ["z"], weights)


@pytest.mark.parametrize(("op", "outputs"), [("LSTM", "y"), ("GRU", "- h"), ("RNN", "y")])
def test_a_forward_layer_rolls_between_others(op: str, outputs: str) -> None:
    """Its sequence is never stored: the input and a few rows are enough, without slow memory or a step taken twice."""
    model = between_convolutions(op, outputs)
    inputs = feeds(model)
    ample = compile_model(model)
    input_bytes = 16 * 96 * 4
    fast = input_bytes + 5 * 96 * 4 * ("y" in outputs) + 2048
    small = compile_model(model, fast=fast, chip="cortex-m4")
    (stage,) = [item for item in small.plan.stages
                if any(small.plan.program.ops[at].kind is OpKind.RECURRENT for at in range(item.first_op, item.end_op))]
    assert stage.strategy in (Strategy.ROLLING, Strategy.CHAIN) and stage.bands > 1
    assert small.report["compute"]["recomputed_macs"] == 0
    got = compare.outputs(small, inputs)["z"]
    assert got.tobytes() == compare.outputs(ample, inputs)["z"].tobytes()
    np.testing.assert_allclose(got, ort(model, inputs)["z"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("op", "axis"), [("LSTM", None), ("GRU", 1), ("RNN", None), ("LSTM", 1)])
def test_int8_weights_stay_int8(op: str, axis: int | None) -> None:
    model = network(op, direction="bidirectional" if axis is None else "forward", given="bHC", inputs=8, units=8)
    rng = np.random.default_rng(0)
    weights = {item.name: onnx.numpy_helper.to_array(item) for item in model.graph.initializer}
    nodes = []
    for name in "wr":
        shape = weights[name].shape
        weights[f"{name}q"] = rng.integers(-127, 128, shape).astype(np.int8)
        weights[f"{name}s"] = rng.uniform(0.003, 0.008, () if axis is None else shape[axis]).astype(np.float32)
        weights[f"{name}z"] = np.zeros(weights[f"{name}s"].shape, np.int8)
        del weights[name]
        attributes = {} if axis is None else {"axis": axis}
        nodes.append(node("DequantizeLinear", f"{name}q {name}s {name}z", name, **attributes))
    shapes = {value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in model.graph.input}
    quantised = make([*nodes, *model.graph.node], shapes, [value.name for value in model.graph.output], weights)
    plan = check(quantised)
    ops = [item for item in plan.plan.program.ops if item.kind is OpKind.RECURRENT]
    assert ops and all(item.dtype is DType.INT8 and item.blobs["input_weights"].dtype == np.int8 for item in ops)


@pytest.mark.parametrize(("names", "words"), [(["Sine"], "activation sine"),
                                              (["Tanh", "Tanh"], "activations of size 2 instead of 1")])
def test_refusals_name_node_and_reason(names: list[str], words: str) -> None:
    with pytest.raises(UnsupportedError, match=rf"layer \(RNN\): {words}"):
        compile_model(network("RNN", activations=names))


def test_sequences_that_end_early_are_refused() -> None:
    model = network("RNN", steps=5, batch=2, given="b")
    model.graph.node[0].input.append("l")
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([5, 5], np.int32), "l"))
    check(model)
    model.graph.initializer[-1].CopyFrom(onnx.numpy_helper.from_array(np.array([5, 4], np.int32), "l"))
    with pytest.raises(UnsupportedError, match="its sequence_lens l are not all 5"):
        compile_model(model)


def test_weights_computed_at_run_time_are_refused() -> None:
    model = network("GRU")
    model.graph.initializer.pop(0)
    model.graph.input.append(onnx.helper.make_tensor_value_info("w", 1, (1, 12, 3)))
    with pytest.raises(UnsupportedError, match="its weights w are computed at run time"):
        compile_model(model)


@pytest.mark.parametrize(("op", "start", "end"), [("LSTM", 4, 9), ("GRU", 0, 3), ("RNN", 8, 9), ("LSTM", 3, 5)])
def test_steps_that_nobody_reads_are_taken_all_the_same(op: str, start: int, end: int) -> None:
    layer = network(op, steps=9, outputs="y", given="b")
    weights = {item.name: onnx.numpy_helper.to_array(item) for item in layer.graph.initializer}
    weights |= {"s": np.array([start]), "e": np.array([end]), "a": np.array([0])}
    check(make([*layer.graph.node, node("Slice", "y s e a", "z")], {"x": (9, 1, 3)}, ["z"], weights, opset=14))

"""Details of passes that small graphs do not show."""

from __future__ import annotations

import itertools

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from tests.compiler.lower.compare import check, kinds, noise
from tests.compiler.models import Quantiser, make, node, nodes, normal
from tests.compiler.normalise.test_passes import after, ops
from tigris_pio.compiler.normalise import batchnorm_fold, clip_to_relu6, constant_fold, qdq_fold, silu_decompose
from tigris_pio.format.enums import DType, OpKind

RANDOM = np.random.default_rng(31)


# BatchNormalization.


def normalisation(count: int, variance: float) -> dict[str, np.ndarray]:
    return {"g": noise(count), "b": noise(count), "m": noise(count),
            "v": (np.abs(noise(count)) * np.float32(variance)).astype(np.float32)}


@pytest.mark.parametrize("epsilon", ["", " epsilon=0.001"])
@pytest.mark.parametrize("variance", [1e-4, 0.0])
@pytest.mark.parametrize("first", ["Conv x w a", "Tanh x a"])
def test_batchnorm_uses_its_own_epsilon(epsilon: str, variance: float, first: str) -> None:
    """Keras' default is 1e-3, ONNX's 1e-5; it dominates small variances."""
    weights = normalisation(3, variance) | ({"w": noise(3, 3, 3, 3)} if first[0] == "C" else {})
    model = make(nodes(f"{first}; BatchNormalization a g b m v y{epsilon}"), {"x": (1, 3, 6, 6)}, ["y"], weights)
    assert len(normal(model).nodes) == (1 if first[0] == "C" else 2)
    check(model, {"x": noise(1, 3, 6, 6)}, rtol=1e-3, little=False)


@pytest.mark.parametrize("per_channel", [False, True])
def test_batchnorm_stays_behind_quantised_weights(per_channel: bool) -> None:
    """Weights in int8 cannot take a factor, so the Conv keeps them."""
    q = Quantiser()
    scale = (np.abs(noise(4)) * 0.01 + 0.002) if per_channel else 0.004
    weight = q.constant("w", RANDOM.integers(-127, 128, (4, 3, 3, 3)).astype(np.int8), scale)
    q.weights |= normalisation(4, 1.0)
    q.add(node("Conv", f"{q.pair('x', 0.02, 3)} {weight}", "a"), node("BatchNormalization", "a g b m v", "n"))
    q.add(node("Identity", q.pair("n", 0.1, 4), "y"))
    model = make(q.nodes, {"x": (1, 3, 6, 6)}, ["y"], q.weights)
    graph, folded = after(model, constant_fold, qdq_fold, batchnorm_fold)
    assert folded == 0 and ops(graph)[:2] == ["Conv", "BatchNormalization"]
    assert graph.weights[weight].dtype == np.int8
    check(model, {"x": noise(1, 3, 6, 6)}, atol=0.1001)


# QuantizeLinear and DequantizeLinear.


def test_an_output_that_is_also_quantised_stays_unrounded() -> None:
    q = Quantiser()
    q.add(node("Tanh", "x", "t"), node("Neg", q.pair("t", 0.1, 3), "y"))
    model = make(q.nodes, {"x": (1, 40)}, ["y", "t"], q.weights)
    check(model, {"x": noise(1, 40)}, atol=1e-6)


@pytest.mark.parametrize("again", [True, False])
@pytest.mark.parametrize("text", [
    "Concat a a wc axis=1", "Slice b zero nine wc", "Split b > wc rest axis=0 num_outputs=2", "Transpose c wc",
    "Gather a turned wc axis=1", "Unsqueeze a zero u; Squeeze u zero s; Concat s a wc axis=1", "Add b b wc",
])
def test_weights_computed_from_constants_stay_integers(text: str, again: bool) -> None:
    """Exporters join and cut the weights of recurrent layers, and quantize_static quantises every step."""
    shapes = {"a": (9, 4), "b": (18, 8), "c": (8, 9)}
    q = Quantiser()
    made = list(nodes(text))
    for name, shape in shapes.items():
        own = q.constant(name, RANDOM.integers(-127, 128, shape).astype(np.int8), 0.01)
        for item in made:
            item.input[:] = [own if read == name else read for read in item.input]
    q.weights |= {"zero": np.array([0]), "nine": np.array([9]), "turned": np.array([3, 1, 0, 2, 2, 1, 0, 3])}
    q.add(*made)
    weights = q.pair("wc", 0.02, 1) if again else "wc"
    q.add(node("MatMul", f"{q.pair('x', 0.02, 3)} {weights}", "m"), node("Identity", q.pair("m", 0.1, 4), "y"))
    model = make(q.nodes, {"x": (5, 18 if "Add" in text else 9)}, ["y"], q.weights, 18)
    plan = check(model, {"x": noise(*model_shape(model))}, atol=0.1001, little=False).plan
    is_computed = "Add" in text and not again
    assert is_computed or not any(op.dtype is DType.FLOAT32 for op in plan.program.ops[1:-1])


def model_shape(model: onnx.ModelProto) -> list[int]:
    return [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]


@pytest.mark.parametrize("perm", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("axis", range(-3, 3))
def test_scales_follow_their_axis_through_a_transpose(perm: tuple[int, ...], axis: int) -> None:
    """All permutations of three axes, two of which are not their own inverse, and negative axes."""
    q = Quantiser()
    shape = (2, 3, 4)
    values = RANDOM.integers(-127, 128, shape).astype(np.int8)
    weight = q.constant("w", values, np.linspace(0.01, 0.2, shape[axis]), axis)
    q.add(node("Transpose", weight, "t", perm=perm), node("Mul", "x t", "y"))
    moved = tuple(shape[index] for index in perm)
    model = make(q.nodes, {"x": moved}, ["y"], q.weights)
    graph, _ = after(model, constant_fold, qdq_fold)
    assert ops(graph) == ["Mul"]
    quantisation = graph.tensors["t"].quantisation
    assert quantisation is not None and quantisation.axis == perm.index(axis % 3)
    check(model, {"x": noise(*moved)}, rtol=1e-6)


@pytest.mark.parametrize(("op", "shape", "axis"), [("Conv", (4, 3, 3, 3), -4), ("Gemm", (3, 4), -1),
                                                   ("MatMul", (3, 4), -1)])
def test_scales_of_weights_along_an_axis_counted_from_the_end(op: str, shape: tuple[int, ...], axis: int) -> None:
    q = Quantiser()
    weight = q.constant("w", RANDOM.integers(-127, 128, shape).astype(np.int8), np.linspace(0.002, 0.02, 4), axis)
    source = (1, 3, 6, 6) if op == "Conv" else (2, 3)
    q.add(node(op, f"{q.pair('x', 0.02, 3)} {weight}", "a"), node("Identity", q.pair("a", 0.02, 4), "y"))
    lowered = check(make(q.nodes, {"x": source}, ["y"], q.weights), {"x": noise(*source)}, atol=0.0201).plan.program
    assert len(lowered.ops) == 1 and len(lowered.ops[0].blobs["multiplier"]) == 4 and not lowered.warnings


# Activations.

ACTIVATIONS = {"relu": ("Relu", 0.0, None), "relu6": ("Clip", 0.0, 6.0), "narrow": ("Clip", -1.0, 1.0),
               "low": ("Clip", -2.0, None), "high": ("Clip", None, 0.5), "apart": ("Clip", 2.0, 3.0)}


def two_activations(first: str, second: str, quantised: bool) -> onnx.ModelProto:
    q = Quantiser()
    q.weights["w"] = noise(4, 3, 1, 1)
    last = f"{q.pair('x', 0.03, 2)} {q.constant('k', RANDOM.integers(-127, 128, (4, 3, 1, 1)).astype(np.int8), 0.02)}"
    if not quantised:
        last, q.nodes, q.weights = "x w", [], {"w": q.weights["w"]}
    q.add(node("Conv", last, "c"))
    last = "c"
    for index, name in enumerate((first, second)):
        op, low, high = ACTIVATIONS[name]
        bounds = []
        for side, value in (("lo", low), ("hi", high)):
            if op == "Clip" and value is not None:
                q.weights[f"{side}{index}"] = np.array(value, np.float32)
            bounds.append(f"{side}{index}" if value is not None else "-")
        q.add(node(op, f"{last} {' '.join(bounds)}" if op == "Clip" else last, f"a{index}"))
        last = f"a{index}"
    if quantised:
        q.add(node("Identity", q.pair(last, 0.03, -10), "y"))
        last = "y"
    return make(q.nodes, {"x": (1, 3, 5, 5)}, [last], q.weights)


@pytest.mark.parametrize("quantised", [False, True])
@pytest.mark.parametrize(("first", "second"), list(itertools.permutations(ACTIVATIONS, 2)))
def test_two_activations_in_a_row(first: str, second: str, quantised: bool) -> None:
    """The bounds of both apply, in order, in one operator if a range remains."""
    compiled = check(two_activations(first, second, quantised), {"x": noise(1, 3, 5, 5) * 3}, rtol=1e-4,
                     atol=0.0301 if quantised else 1e-4, little=False)
    assert "apart" in (first, second) or kinds(compiled) == [OpKind.CONV_2D]


@pytest.mark.parametrize("dtype", [np.int64, np.int32])
def test_integer_clips_are_left_to_shape_fold(dtype: type) -> None:
    """Their bounds belong to shapes, and stay inputs until they are folded."""
    kind = TensorProto.INT64 if dtype is np.int64 else TensorProto.INT32
    text = f"Shape x s; Cast s i to={kind}; Clip i lo hi c; Cast c l to={TensorProto.INT64}; Expand k l y; Neg x z"
    weights = {"lo": np.array(2, dtype), "hi": np.array(4, dtype), "k": noise(1, 1, 1)}
    model = make(nodes(text), {"x": ("N", 3, 9)}, ["y", "z"], weights, types={"y": 1})
    graph, folded = after(model, clip_to_relu6)
    assert folded == 0 and len(next(item for item in graph.nodes if item.op == "Clip").inputs) == 3
    check(model, {"x": noise(1, 3, 9)})


# Scales.


@pytest.mark.parametrize("second", [(0.02, 3), (0.1, 3), (0.02, 4)])
def test_a_concatenation_gets_its_parts_common_scale(second: tuple[float, int]) -> None:
    q = Quantiser()
    parts = [q.pair("a", 0.02, 3), q.pair("b", *second)]
    q.add(node("Concat", " ".join(parts), "c", axis=1), node("Tanh", "c", "y"))
    shape = (1, 2, 4, 4)
    graph, _ = after(make(q.nodes, {"a": shape, "b": shape}, ["y"], q.weights), constant_fold, qdq_fold)
    assert (graph.tensors["c"].quantisation is None) == (second != (0.02, 3))


def test_the_gate_of_a_swish_has_tensorflow_lites_scale() -> None:
    """Scale 1/256 and zero point -128, as every int8 sigmoid."""
    q = Quantiser()
    q.add(node("Swish", q.pair("x", 0.02, 3), "s"), node("Identity", q.pair("s", 0.05, 3), "y"))
    model = make(q.nodes, {"x": (1, 4)}, ["y"], q.weights, opset=24)
    graph, _ = after(model, constant_fold, qdq_fold, silu_decompose)
    gate = next(item.outputs[0] for item in graph.nodes if item.op == "Sigmoid")
    quantisation = graph.tensors[gate].quantisation
    assert quantisation is not None
    assert (float(quantisation.scale), int(quantisation.zero_point)) == (1 / 256, -128)


@pytest.mark.parametrize("often", [0.05, 0.1])
def test_integers_with_two_annotations_are_recoded_for_the_rarer_one(often: float) -> None:
    weights = {"z": np.array(0, np.int8), "r": np.array([4, 6]),
               **{f"s{i}": np.array(often if i else 0.15 - often, np.float32) for i in range(3)}}
    read = "; ".join(f"DequantizeLinear m s{i} z d{i}; Tanh d{i} y{i}" for i in range(3))
    model = make(nodes(f"Reshape x r m; {read}"), {"x": (6, 4)}, ["y0", "y1", "y2"], weights,
                 types={"x": TensorProto.INT8})
    graph, _ = after(model, constant_fold, qdq_fold)
    assert ops(graph).count("TigrisRecode") == 1

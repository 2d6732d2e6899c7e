"""Each pass on small graphs: the remaining operators, and onnxruntime's results."""

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from tests.compiler.lower.compare import check, kinds, noise
from tests.compiler.models import Quantiser, make, node, nodes, normal
from tigris_pio.compiler.ir.graph import Graph
from tigris_pio.compiler.load import load_model
from tigris_pio.compiler.normalise.activation_fuse import PASS as activation_fuse
from tigris_pio.compiler.normalise.batchnorm_fold import PASS as batchnorm_fold
from tigris_pio.compiler.normalise.constant_fold import PASS as constant_fold
from tigris_pio.compiler.normalise.output_transpose_trim import PASS as output_transpose_trim
from tigris_pio.compiler.normalise.qdq_fold import PASS as qdq_fold
from tigris_pio.compiler.normalise.rules import (
    clip_to_relu6,
    concat_axis,
    conv1d_relabel,
    depthwise_relabel,
    reduce_mean_to_pool,
    resize_scales,
    silu_decompose,
)
from tigris_pio.compiler.normalise.shape_fold import PASS as shape_fold
from tigris_pio.compiler.passes import Pass
from tigris_pio.errors import ModelError
from tigris_pio.format.enums import DType, OpKind

RANDOM = np.random.default_rng(3)


def after(model: onnx.ModelProto, *steps: Pass[Graph]) -> tuple[Graph, int]:
    """The graph after these passes, and the number of nodes that the last one folded."""
    graph, folded = load_model(model), 0
    for step in steps:
        graph, folded = step.run(graph)
    return graph, folded


def ops(graph: Graph) -> list[str]:
    return [item.op for item in graph.nodes]


@dataclasses.dataclass(frozen=True)
class Case:
    """A graph from x, in the notation of `nodes`, and the operators that remain after the passes."""

    text: str
    left: str
    shape: Sequence[int | str]
    passes: Sequence[Pass[Graph]]
    constants: Mapping[str, object]
    opset: int
    outputs: Sequence[str]
    attributes: Mapping[str, object]  #: attributes of the last operator, some or all

    def model(self) -> onnx.ModelProto:
        weights = {name: np.asarray(value if not isinstance(value, float) else np.float32(value))
                   for name, value in self.constants.items()}
        return make(nodes(self.text), {"x": self.shape}, self.outputs, weights, self.opset)


def case(text: str, left: str, shape: Sequence[int | str], *passes: Pass[Graph], opset: int = 13,
         outputs: str = "y", attributes: Mapping[str, object] | None = None, **constants: object) -> Case:
    return Case(text, left, shape, passes, constants, opset, outputs.split(), attributes or {})


FOLDED, IMAGE = (constant_fold, qdq_fold), (1, 3, 6, 6)
ROUNDED = {"s": 0.1, "z": np.int8(0)}
NORMAL = {name: np.abs(noise(3)) + 1 for name in "gbmv"}
REAL = np.array([1, 1, 2, 3], np.float32)
TRIM = output_transpose_trim
CASES = [
    case("Neg k n; Mul n w m; Add x m y", "Add", (1, 4), constant_fold, k=noise(4), w=noise(4)),
    case("Unsqueeze w u axes=[1,2]; Mul x u y", "Mul", (1, 4, 2, 2), constant_fold, opset=9, w=noise(4)),
    case("DequantizeLinear w s z d; MatMul x d y", "DequantizeLinear MatMul", (1, 4), constant_fold, **ROUNDED,
         w=np.ones((4, 4), np.int8)),
    # All pairs share one scale and one zero point, which are removed with the last reader.
    case("QuantizeLinear x s z q; DequantizeLinear q s z d; Tanh d t; QuantizeLinear t s z r; "
         "DequantizeLinear r s z e; Tanh e y", "Tanh Tanh", (1, 4), *FOLDED, **ROUNDED),
    # onnxruntime duplicates DequantizeLinear for each reader.
    case("QuantizeLinear x s z q; DequantizeLinear q s z d; DequantizeLinear q s z e; Tanh d a; Abs e b; Add a b y",
         "Tanh Abs Add", (1, 4), *FOLDED, **ROUNDED),
    # A reader of real numbers keeps the value unrounded.
    case("Tanh x t; QuantizeLinear t s z q; DequantizeLinear q s z d; Add d t y", "Tanh QuantizeLinear Add", (1, 4),
         *FOLDED, **ROUNDED),
    *(case(f"Conv x w{bias} a; BatchNormalization a g b m v y", "Conv", IMAGE, constant_fold, batchnorm_fold,
           w=noise(3, 3, 3, 3), **NORMAL, **({"c": noise(3)} if bias else {})) for bias in ("", " c")),
    case("Conv x w a; BatchNormalization a g b m v n; Add a n y", "Conv BatchNormalization Add", IMAGE, constant_fold,
         batchnorm_fold, w=noise(3, 3, 1, 1), **NORMAL),
    case("Conv x w a; BatchNormalization a g b m v n; Conv n w y", "Conv Conv", IMAGE, constant_fold, batchnorm_fold,
         w=noise(3, 3, 1, 1), **NORMAL),  # weights that another layer reads
    *(case(f"Conv x w y group={group}", left, shape, depthwise_relabel, conv1d_relabel, w=noise(*weights))
      for shape, weights, group, left in (
        ((1, 4, 6, 6), (4, 1, 3, 3), 4, "DepthwiseConv"), ((1, 4, 6, 6), (8, 1, 3, 3), 4, "DepthwiseConv"),
        ((1, 4, 6, 6), (4, 2, 3, 3), 2, "Conv"), ((1, 1, 6, 6), (4, 1, 3, 3), 1, "Conv"),
        ((1, 4, 9), (4, 4, 3), 1, "Conv1D"), ((1, 4, 9), (4, 1, 3), 4, "DepthwiseConv"))),
    case("Clip x y min=0.0 max=6.0", "Relu6", (1, 4), constant_fold, clip_to_relu6, opset=7),
    *(case(text, left, (1, 4), constant_fold, clip_to_relu6, **bounds) for text, left, bounds in (
        ("Clip x a b y", "Relu6", {"a": 0.0, "b": 6.0}), ("Clip x a y", "Relu", {"a": 0.0}),
        ("Clip x a b y", "Clip", {"a": -1.0, "b": 1.0}), ("Clip x - b y", "Clip", {"b": 6.0}))),
    *(case(f"ReduceMean x y axes={axes} keepdims={keep}", left, (1, 4, 5, 6), constant_fold, reduce_mean_to_pool)
      for axes, keep, left in (("[2,3]", 1, "GlobalAveragePool"), ("[-1,-2]", 0, "GlobalAveragePool Reshape"),
                               ("[1]", 1, "ReduceMean"), ("[1,2]", 1, "ReduceMean"), ("[3]", 1, "ReduceMean"))),
    # torch.onnx exports x.view(x.size(0), -1) so.
    case("Shape x s; Gather s o n axis=0; Unsqueeze n a u; Concat u k t axis=0; Reshape x t y", "Reshape",
         ("N", 3, 4, 5), constant_fold, shape_fold, attributes={"shape": (1, 60)}, o=np.array(0), a=np.array([0]),
         k=np.array([-1])),
    *(case(text, left, (1, 2, 4, 5), constant_fold, shape_fold, resize_scales, opset=opset, s=constant,
           attributes={"scales": (1.0, 1.0, 2.0, 3.0)})
      for text, left, opset, constant in (
        ("Resize x - s y", "Resize", 13, REAL), ("Resize x - - s y", "Resize", 13, np.array([1, 2, 8, 15])),
        ("Upsample x s y", "Upsample", 9, REAL))),
    # Permutations before an output become one, in their order.
    *(case(text, "Relu", (1, 2, 3, 4), TRIM) for text in (
        "Relu x r; Transpose r y perm=[0,2,3,1]",
        "Relu x r; Transpose r s perm=[0,2,3,1]; Transpose s y perm=[0,3,1,2]",
        "Relu x r; Transpose r s perm=[3,0,2,1]; Transpose s t; Transpose t y perm=[1,0,3,2]")),
    case("Relu x r; Transpose r y perm=[0,2,1]; Tanh y z", "Relu Transpose Tanh", (1, 2, 3), TRIM, outputs="y z"),
    case("Relu x r; Transpose r y perm=[0,2,1]", "Relu Transpose", (1, 2, 3), TRIM, outputs="r y"),
    case("Conv x w c; Relu c y", "Conv", IMAGE, activation_fuse, w=noise(2, 3, 1, 1),
         attributes={"activation_min": 0.0, "activation_max": math.inf}),
    case("Conv x w c; Relu c y; Tanh c z", "Conv Relu Tanh", IMAGE, activation_fuse, outputs="y z",
         w=noise(2, 3, 1, 1)),
    case("Conv x w c; Relu c y", "Conv Relu", IMAGE, activation_fuse, outputs="y c", w=noise(2, 3, 1, 1)),
]


@pytest.mark.parametrize("each", CASES, ids=lambda each: each.text)
def test_remaining_operators(each: Case) -> None:
    model = each.model()
    graph, _ = after(model, *each.passes)
    assert ops(graph) == each.left.split() and each.attributes.items() <= graph.nodes[-1].attributes.items()
    assert set(graph.weights) <= {name for item in graph.nodes for name in item.inputs}
    x = noise(*(1 if size == "N" else int(size) for size in each.shape))
    check(model, {"x": x}, rtol=1e-4, little=False)


@pytest.mark.parametrize(("axis", "stored"), [(0, 0), (1, 3), (2, 1), (3, 2), (-1, 2), (-3, 3)])
def test_concat_axis(axis: int, stored: int) -> None:
    graph, _ = after(make([node("Concat", "x x", "y", axis=axis)], {"x": (1, 2, 3, 4)}, ["y"]), concat_axis)
    assert graph.nodes[0].attributes == {"axis": axis % 4, "stored_axis": stored}


def test_a_trimmed_output_keeps_its_shape() -> None:
    model = make(nodes("Relu x r; Transpose r y perm=[0,2,3,1]"), {"x": (1, 2, 3, 4)}, ["y"])
    graph, _ = after(model, TRIM)
    assert graph.tensors["y"].shape == (1, 2, 3, 4) and graph.output_permutations == {"y": (0, 2, 3, 1)}
    assert kinds(check(model, {"x": noise(1, 2, 3, 4)})) == [OpKind.UNARY]


@pytest.mark.parametrize("unsigned", [False, True])
def test_qdq_fold_annotates_tensors(unsigned: bool) -> None:
    q = Quantiser(unsigned)
    q.add(node("Relu", q.pair("x", 0.5, 3), "r"), node("Identity", q.pair("r", 0.25, -7), "y"))
    graph, folded = after(make(q.nodes, {"x": (1, 4)}, ["y"], q.weights), *FOLDED)
    assert ops(graph) == ["Relu", "Identity"] and folded == 4 and not graph.weights
    for name, scale, zero in (("x", 0.5, 3), ("r", 0.25, -7), ("y", 0.25, -7)):
        tensor = graph.tensors[name]
        assert tensor.dtype == np.int8 and tensor.quantisation is not None
        assert (float(tensor.quantisation.scale), int(tensor.quantisation.zero_point)) == (scale, zero)
    assert graph.io_dtypes == {"x": np.float32, "y": np.float32}


def test_qdq_fold_weights_per_channel_and_uint8() -> None:
    values = RANDOM.integers(0, 256, (4, 3, 1, 1)).astype(np.uint8)
    constants = {"w": values, "s": np.array([0.1, 0.2, 0.3, 0.4], np.float32), "z": np.full(4, 128, np.uint8)}
    model = make(nodes("DequantizeLinear w s z d axis=0; Conv x d y"), {"x": (1, 3, 2, 2)}, ["y"], constants)
    graph, _ = after(model, *FOLDED)
    np.testing.assert_array_equal(graph.weights["d"], values.astype(int) - 128)
    quantisation = graph.tensors["d"].quantisation
    assert quantisation is not None and quantisation.axis == 0 and not quantisation.zero_point.any()


@pytest.mark.parametrize(("text", "pair", "same"), [
    # Exporters omit pairs around pooling and reshaping, although the values are quantised.
    ("MaxPool x_dq p kernel_shape=[2,2]; Flatten p f; Relu f y", None, "x p f y"),
    # Quantisation moves before operators that only move values.
    ("Tanh x_dq t; Transpose t u perm=[0,2,1,3]", ("u", 0.01, 0), "t u")])
def test_qdq_fold_annotates_behind_operators_that_move_values(text: str, pair: tuple[str, float, int] | None,
                                                             same: str) -> None:
    q = Quantiser()
    q.pair("x", 0.1, 5)
    q.add(*nodes(text))
    if pair:
        q.add(node("Identity", q.pair(*pair), "y"))
    graph, _ = after(make(q.nodes, {"x": (1, 2, 4, 4)}, ["y"], q.weights), *FOLDED)
    first, *others = (graph.tensors[name].quantisation for name in same.split())
    assert first is not None and all(other == first for other in others)


@pytest.mark.parametrize(("scale", "axis"), [(0.0, 0), (-0.1, 0), (math.nan, 0), (math.inf, 0), ([1.0] * 5, 0)])
def test_qdq_fold_refuses_invalid_scales(scale: float | list[float], axis: int) -> None:
    constants = {"w": np.zeros((4, 3), np.int8), "s": np.array(scale, np.float32), "z": np.zeros_like(scale, np.int8)}
    last = [node("DequantizeLinear", "w s z", "d", "scaler", axis=axis), node("MatMul", "x d", "y")]
    with pytest.raises(ModelError, match="node scaler"):
        normal(make(last, {"x": (1, 4)}, ["y"], constants))


@pytest.mark.parametrize("alpha", [None, 1.7])
def test_silu_decompose(alpha: float | None) -> None:
    attributes = {} if alpha is None else {"alpha": alpha}
    model = make([node("Swish", "x", "y", **attributes)], {"x": (1, 4)}, ["y"], opset=24)
    graph, folded = after(model, constant_fold, silu_decompose)
    assert ops(graph) == ([] if alpha is None else ["Mul"]) + ["Sigmoid", "Mul"] and folded == 1
    x = noise(1, 4)
    check(model, {"x": x}, {"y": x / (1 + np.exp(np.float32(-(alpha or 1.0)) * x))})


def test_silu_between_quantised_tensors_keeps_int8() -> None:
    q = Quantiser()
    q.add(node("Swish", q.pair("x", 0.05, 5), "s"), node("Identity", q.pair("s", 0.05, -60), "y"))
    x = np.linspace(-6, 6, 64, dtype=np.float32).reshape(1, 64)
    model = make(q.nodes, {"x": (1, 64)}, ["y"], q.weights, opset=24)
    assert kinds(check(model, {"x": x}, {"y": x / (1 + np.exp(-x))}, rtol=0, atol=0.1)) == [OpKind.LOOKUP]


@pytest.mark.parametrize("scale", [0.05, 0.1])
def test_a_transpose_to_another_scale_stays(scale: float) -> None:
    q = Quantiser()
    q.add(node("Relu", q.pair("x", 0.05, 3), "r"), node("Transpose", q.pair("r", 0.05, 3), "t", perm=[0, 2, 1]))
    model = make(q.nodes, {"x": (1, 2, 3)}, [q.pair("t", scale, 3)], q.weights)
    graph, folded = after(model, *FOLDED, TRIM)
    assert folded == (scale == 0.05) == ("Transpose" not in ops(graph))


@pytest.mark.parametrize(("second", "expected"), [(0.05, ["Conv"]), (0.03, ["Conv", "TigrisTable"])])
def test_activation_fuse_not_across_another_quantisation(second: float, expected: list[str]) -> None:
    """Conv is rounded to one scale, then Relu to another; both roundings remain."""
    q = Quantiser()
    weight = q.constant("w", np.ones((2, 3, 1, 1), np.int8), np.ones(2) * 0.1)
    q.add(node("Conv", f"{q.pair('x', 0.1, 0)} {weight}", "c"))
    q.add(node("Relu", q.pair("c", 0.05, -3), "r"), node("Identity", q.pair("r", second, -3), "y"))
    model = make(q.nodes, {"x": (1, 3, 4, 4)}, ["y"], q.weights)
    assert ops(after(model, *FOLDED, activation_fuse)[0])[:2] == [*expected, "Identity"][:2]


# Details of passes that small graphs do not show.

# BatchNormalization.


def normalisation(count: int, variance: float) -> dict[str, np.ndarray]:
    return {"g": noise(count), "b": noise(count), "m": noise(count),
            "v": (np.abs(noise(count)) * np.float32(variance)).astype(np.float32)}


@pytest.mark.parametrize("epsilon", ["", " epsilon=0.001"])
@pytest.mark.parametrize("variance", [1e-4, 0.0])
@pytest.mark.parametrize("first", ["Conv x w a", "Tanh x a"])
def test_batchnorm_uses_its_own_epsilon(epsilon: str, variance: float, first: str) -> None:
    """The default is 1e-3 in Keras and 1e-5 in ONNX; epsilon dominates small variances."""
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

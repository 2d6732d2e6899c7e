"""Each pass on a small graph with the expected result."""

from __future__ import annotations

import math

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from tests.compiler.lower.program_interpreter import run
from tests.compiler.models import Quantiser, make, node, normal, ort, program
from tigris_pio.compiler.ir.graph import Graph
from tigris_pio.compiler.load import load_model
from tigris_pio.compiler.normalise import (
    activation_fuse,
    batchnorm_fold,
    clip_to_relu6,
    concat_axis,
    constant_fold,
    conv1d_relabel,
    depthwise_relabel,
    output_transpose_trim,
    qdq_fold,
    reduce_mean_to_pool,
    resize_scales,
    shape_fold,
    silu_decompose,
)
from tigris_pio.errors import ModelError

RANDOM = np.random.default_rng(3)


def noise(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def after(model: onnx.ModelProto, *modules: object) -> tuple[Graph, int]:
    """The graph after these passes, and what the last one folded."""
    graph, folded = load_model(model), 0
    for module in modules:
        result = module.PASS.run(graph)  # type: ignore[attr-defined]
        graph, folded = result.graph, result.folded
    return graph, folded


def ops(graph: Graph) -> list[str]:
    return [item.op for item in graph.nodes]


def test_constant_fold() -> None:
    nodes = [helper.make_node("Constant", [], ["k"], value=numpy_helper.from_array(noise(4))), node("Neg", "k", "n"),
             node("Mul", "n w", "m"), node("Add", "x m", "y")]
    graph, folded = after(make(nodes, {"x": (1, 4)}, ["y"], {"w": noise(4)}), constant_fold)
    assert ops(graph) == ["Add"] and folded == 3
    assert set(graph.weights) == {"m"} and graph.tensors["m"].shape == (4,)


def test_constant_fold_follows_the_models_opset() -> None:
    """Unsqueeze took its axes as an attribute up to opset 12."""
    model = make([node("Unsqueeze", "w", "u", axes=[1, 2]), node("Mul", "x u", "y")], {"x": (1, 4, 2, 2)}, ["y"],
                 {"w": noise(4)}, opset=9)
    graph, folded = after(model, constant_fold)
    assert ops(graph) == ["Mul"] and folded == 1 and graph.tensors["u"].shape == (4, 1, 1)


def test_constant_fold_keeps_quantised_constants() -> None:
    q = Quantiser()
    weight = q.constant("w", np.ones((4, 4), np.int8), 0.1)
    q.add(node("MatMul", f"x {weight}", "y"))
    graph, folded = after(make(q.nodes, {"x": (1, 4)}, ["y"], q.weights), constant_fold)
    assert ops(graph) == ["DequantizeLinear", "MatMul"] and folded == 0


def quantised_relu(unsigned: bool) -> onnx.ModelProto:
    q = Quantiser(unsigned)
    q.add(node("Relu", q.pair("x", 0.5, 3), "r"), node("Identity", q.pair("r", 0.25, -7), "y"))
    return make(q.nodes, {"x": (1, 4)}, ["y"], q.weights)


@pytest.mark.parametrize("unsigned", [False, True])
def test_qdq_fold_annotates_tensors(unsigned: bool) -> None:
    graph, folded = after(quantised_relu(unsigned), constant_fold, qdq_fold)
    assert ops(graph) == ["Relu", "Identity"] and folded == 4
    for name, scale, zero in (("x", 0.5, 3), ("r", 0.25, -7), ("y", 0.25, -7)):
        tensor = graph.tensors[name]
        assert tensor.dtype == np.int8 and tensor.quantisation is not None
        assert (float(tensor.quantisation.scale), int(tensor.quantisation.zero_point)) == (scale, zero)
    assert not graph.weights
    assert graph.io_dtypes == {"x": np.float32, "y": np.float32}


def test_qdq_fold_shared_scale_constants() -> None:
    """One scale and one zero point constant for all pairs: they go with the last reader, not the first."""
    nodes, last = [], "x"
    for index in range(3):
        nodes += [node("QuantizeLinear", f"{last} s z", f"q{index}"),
                  node("DequantizeLinear", f"q{index} s z", f"d{index}"), node("Tanh", f"d{index}", f"t{index}")]
        last = f"t{index}"
    constants = {"s": np.array(0.1, np.float32), "z": np.array(0, np.int8)}
    graph, _ = after(make(nodes, {"x": (1, 4)}, [last], constants), constant_fold, qdq_fold)
    assert ops(graph) == ["Tanh"] * 3 and not graph.weights
    assert graph.tensors["t2"].quantisation is None


def test_qdq_fold_one_dequantize_a_reader() -> None:
    """onnxruntime duplicates DequantizeLinear for each reader."""
    constants = {"s": np.array(0.1, np.float32), "z": np.array(0, np.int8)}
    nodes = [node("QuantizeLinear", "x s z", "q"), node("DequantizeLinear", "q s z", "d1"),
             node("DequantizeLinear", "q s z", "d2"), node("Tanh", "d1", "a"), node("Abs", "d2", "b"),
             node("Add", "a b", "y")]
    graph, _ = after(make(nodes, {"x": (1, 4)}, ["y"], constants), constant_fold, qdq_fold)
    assert [item.inputs[0] for item in graph.nodes if item.op != "Add"] == ["x", "x"]


def test_qdq_fold_weights_per_channel_and_uint8() -> None:
    values = RANDOM.integers(0, 256, (4, 3, 1, 1)).astype(np.uint8)
    constants = {"w": values, "s": np.array([0.1, 0.2, 0.3, 0.4], np.float32), "z": np.full(4, 128, np.uint8)}
    nodes = [node("DequantizeLinear", "w s z", "d", axis=0), node("Conv", "x d", "y")]
    graph, _ = after(make(nodes, {"x": (1, 3, 2, 2)}, ["y"], constants), constant_fold, qdq_fold)
    np.testing.assert_array_equal(graph.weights["d"], values.astype(int) - 128)
    quantisation = graph.tensors["d"].quantisation
    assert quantisation is not None and quantisation.axis == 0 and not quantisation.zero_point.any()


def test_qdq_fold_float_reader_keeps_the_value_unrounded() -> None:
    constants = {"s": np.array(0.1, np.float32), "z": np.array(0, np.int8)}
    nodes = [node("Tanh", "x", "t"), node("QuantizeLinear", "t s z", "q"), node("DequantizeLinear", "q s z", "d"),
             node("Add", "d t", "y")]
    graph, _ = after(make(nodes, {"x": (1, 4)}, ["y"], constants), constant_fold, qdq_fold)
    assert ops(graph) == ["Tanh", "QuantizeLinear", "Add"]
    assert graph.tensors["t"].quantisation is None and graph.tensors["q"].quantisation is not None


def test_qdq_fold_spreads_through_operators_that_keep_values() -> None:
    """Exporters leave pairs out around pooling and reshaping; the values are quantised all the same."""
    q = Quantiser()
    source = q.pair("x", 0.1, 5)
    q.add(node("MaxPool", source, "p", kernel_shape=[2, 2]), node("Flatten", "p", "f"), node("Relu", "f", "y"))
    graph, _ = after(make(q.nodes, {"x": (1, 2, 4, 4)}, ["y"], q.weights), constant_fold, qdq_fold)
    assert all(graph.tensors[name].quantisation == graph.tensors["x"].quantisation for name in ("p", "f", "y"))


def test_qdq_fold_moves_quantisation_before_reshaping() -> None:
    q = Quantiser()
    q.add(node("Tanh", q.pair("x", 0.1, 5), "t"), node("Transpose", "t", "u", perm=[0, 2, 1]))
    q.add(node("Identity", q.pair("u", 0.01, 0), "y"))
    graph, _ = after(make(q.nodes, {"x": (1, 2, 4)}, ["y"], q.weights), constant_fold, qdq_fold)
    assert graph.tensors["t"].quantisation == graph.tensors["u"].quantisation != graph.tensors["x"].quantisation


def test_qdq_fold_transposes_quantised_constants() -> None:
    q = Quantiser()
    values = RANDOM.integers(-9, 9, (4, 3)).astype(np.int8)
    weight = q.constant("w", values, np.array([0.1, 0.2, 0.3, 0.4]))
    q.add(node("Transpose", weight, "t", perm=[1, 0]), node("MatMul", "x t", "y"))
    graph, _ = after(make(q.nodes, {"x": (1, 3)}, ["y"], q.weights), constant_fold, qdq_fold)
    np.testing.assert_array_equal(graph.weights["t"], values.T)
    quantisation = graph.tensors["t"].quantisation
    assert quantisation is not None and quantisation.axis == 1


@pytest.mark.parametrize("scale", [0.0, -0.1, math.nan, math.inf])
def test_qdq_fold_refuses_scales_that_are_none(scale: float) -> None:
    constants = {"s": np.array(scale, np.float32), "z": np.array(0, np.int8)}
    nodes = [node("QuantizeLinear", "x s z", "q", "rounder"), node("DequantizeLinear", "q s z", "y")]
    with pytest.raises(ModelError, match="node rounder"):
        normal(make(nodes, {"x": (1, 4)}, ["y"], constants))


def test_qdq_fold_refuses_scales_that_do_not_fit_the_axis() -> None:
    constants = {"w": np.zeros((4, 3), np.int8), "s": np.ones(5, np.float32), "z": np.zeros(5, np.int8)}
    nodes = [node("DequantizeLinear", "w s z", "d", "scaler", axis=0), node("MatMul", "x d", "y")]
    with pytest.raises(ModelError, match="scaler"):
        normal(make(nodes, {"x": (1, 4)}, ["y"], constants))


@pytest.mark.parametrize("bias", [False, True])
def test_batchnorm_fold(bias: bool) -> None:
    constants = {"w": noise(4, 3, 3, 3), "g": noise(4), "b": noise(4), "m": noise(4), "v": np.abs(noise(4)) + 1}
    constants |= {"c": noise(4)} if bias else {}
    nodes = [node("Conv", "x w c" if bias else "x w", "a"), node("BatchNormalization", "a g b m v", "y")]
    model = make(nodes, {"x": (1, 3, 6, 6)}, ["y"], constants)
    graph, folded = after(model, constant_fold, batchnorm_fold)
    assert ops(graph) == ["Conv"] and folded == 1 and graph.nodes[0].outputs == ("y",)
    inputs = {"x": noise(1, 3, 6, 6)}
    np.testing.assert_allclose(run(program(model), inputs)["y"], ort(model, inputs)["y"], rtol=1e-4, atol=1e-5)


def test_batchnorm_stays_when_the_conv_has_another_reader() -> None:
    constants = {"w": noise(4, 3, 3, 3), "g": noise(4), "b": noise(4), "m": noise(4), "v": np.abs(noise(4)) + 1}
    nodes = [node("Conv", "x w", "a"), node("BatchNormalization", "a g b m v", "n"), node("Add", "a n", "y")]
    graph, folded = after(make(nodes, {"x": (1, 3, 6, 6)}, ["y"], constants), constant_fold, batchnorm_fold)
    assert ops(graph) == ["Conv", "BatchNormalization", "Add"] and folded == 0


def test_batchnorm_fold_leaves_shared_weights_to_the_other_conv() -> None:
    constants = {"w": noise(3, 3, 1, 1), "g": noise(3), "b": noise(3), "m": noise(3), "v": np.abs(noise(3)) + 1}
    nodes = [node("Conv", "x w", "a"), node("BatchNormalization", "a g b m v", "n"), node("Conv", "n w", "y")]
    model = make(nodes, {"x": (1, 3, 4, 4)}, ["y"], constants)
    inputs = {"x": noise(1, 3, 4, 4)}
    np.testing.assert_allclose(run(program(model), inputs)["y"], ort(model, inputs)["y"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("alpha", [None, 1.7])
def test_silu_decompose(alpha: float | None) -> None:
    attributes = {} if alpha is None else {"alpha": alpha}
    model = make([node("Swish", "x", "y", **attributes)], {"x": (1, 4)}, ["y"], opset=24)
    graph, folded = after(model, constant_fold, silu_decompose)
    assert ops(graph) == ([] if alpha is None else ["Mul"]) + ["Sigmoid", "Mul"] and folded == 1
    x = noise(1, 4)
    expected = x / (1 + np.exp(-(alpha or 1.0) * x))
    np.testing.assert_allclose(run(program(model), {"x": x})["y"], expected, rtol=1e-5)


def test_silu_between_quantised_tensors_keeps_int8() -> None:
    q = Quantiser()
    q.add(node("Swish", q.pair("x", 0.05, 5), "s"), node("Identity", q.pair("s", 0.05, -60), "y"))
    model = make(q.nodes, {"x": (1, 64)}, ["y"], q.weights, opset=24)
    lowered = program(model)
    assert [op.kind.name for op in lowered.ops] == ["LOOKUP"]
    x = np.linspace(-6, 6, 64, dtype=np.float32).reshape(1, 64)
    assert np.abs(run(lowered, {"x": x})["y"] - x / (1 + np.exp(-x))).max() < 0.1


def test_relabelling() -> None:
    for shape, weights, group, expected in (
        ((1, 4, 6, 6), (4, 1, 3, 3), 4, "DepthwiseConv"), ((1, 4, 6, 6), (8, 1, 3, 3), 4, "DepthwiseConv"),
        ((1, 4, 6, 6), (4, 2, 3, 3), 2, "Conv"), ((1, 1, 6, 6), (4, 1, 3, 3), 1, "Conv"),
        ((1, 4, 9), (4, 4, 3), 1, "Conv1D"), ((1, 4, 9), (4, 1, 3), 4, "DepthwiseConv"),
    ):
        model = make([node("Conv", "x w", "y", group=group)], {"x": shape}, ["y"], {"w": noise(*weights)})
        graph, _ = after(model, depthwise_relabel, conv1d_relabel)
        assert ops(graph) == [expected], shape


@pytest.mark.parametrize(("low", "high", "op"), [(0.0, 6.0, "Relu6"), (0.0, None, "Relu"), (-1.0, 1.0, "Clip"),
                                                 (None, 6.0, "Clip")])
@pytest.mark.parametrize("opset", [7, 13])
def test_clip_to_relu6(low: float | None, high: float | None, op: str, opset: int) -> None:
    if opset == 7:
        bounds = {name: value for name, value in (("min", low), ("max", high)) if value is not None}
        model = make([node("Clip", "x", "y", **bounds)], {"x": (1, 4)}, ["y"], opset=7)
    else:
        constants = {name: np.array(value, np.float32) for name, value in (("lo", low), ("hi", high))
                     if value is not None}
        model = make([node("Clip", f"x {'lo' if low is not None else '-'} {'hi' if high is not None else '-'}", "y")],
                     {"x": (1, 4)}, ["y"], constants)
    graph, folded = after(model, constant_fold, clip_to_relu6)
    assert ops(graph) == [op] and folded == 1 and len(graph.nodes[0].inputs) == 1


@pytest.mark.parametrize(("axes", "keepdims", "expected"), [
    ((2, 3), 1, ["GlobalAveragePool"]), ((-1, -2), 0, ["GlobalAveragePool", "Reshape"]), ((1,), 1, ["ReduceMean"]),
    ((3,), 1, ["ReduceMean"]),
])
def test_reduce_mean_to_pool(axes: tuple[int, ...], keepdims: int, expected: list[str]) -> None:
    model = make([node("ReduceMean", "x", "y", axes=axes, keepdims=keepdims)], {"x": (1, 4, 5, 6)}, ["y"], opset=13)
    graph, _ = after(model, constant_fold, reduce_mean_to_pool)
    assert ops(graph) == expected


def test_shape_fold() -> None:
    """What torch.onnx makes of x.view(x.size(0), -1)."""
    nodes = [node("Shape", "x", "s"), node("Gather", "s zero", "n", axis=0), node("Unsqueeze", "n axis0", "u"),
             node("Concat", "u minus", "t", axis=0), node("Reshape", "x t", "y")]
    constants = {"zero": np.array(0), "axis0": np.array([0]), "minus": np.array([-1])}
    graph, folded = after(make(nodes, {"x": ("N", 3, 4, 5)}, ["y"], constants), constant_fold, shape_fold)
    assert ops(graph) == ["Reshape"] and folded == 5
    assert graph.nodes[0].attributes == {"shape": (1, 60)} and graph.nodes[0].inputs == ("x",)
    assert not graph.weights


@pytest.mark.parametrize("how", ["scales", "sizes", "upsample"])
def test_resize_scales(how: str) -> None:
    if how == "scales":
        nodes, constants = [node("Resize", "x - s", "y")], {"s": np.array([1, 1, 2, 3], np.float32)}
    elif how == "sizes":
        nodes, constants = [node("Resize", "x - - s", "y")], {"s": np.array([1, 2, 8, 15])}
    else:
        nodes, constants = [node("Upsample", "x s", "y")], {"s": np.array([1, 1, 2, 3], np.float32)}
    model = make(nodes, {"x": (1, 2, 4, 5)}, ["y"], constants, opset=9 if how == "upsample" else 17)
    graph, folded = after(model, constant_fold, shape_fold, resize_scales)
    assert folded == 1 and graph.nodes[0].inputs == ("x",)
    assert graph.nodes[0].attributes["scales"] == (1.0, 1.0, 2.0, 3.0) and not graph.weights


@pytest.mark.parametrize(("axis", "stored"), [(0, 0), (1, 3), (2, 1), (3, 2), (-1, 2), (-3, 3)])
def test_concat_axis(axis: int, stored: int) -> None:
    model = make([node("Concat", "x x", "y", axis=axis)], {"x": (1, 2, 3, 4)}, ["y"])
    graph, _ = after(model, concat_axis)
    assert graph.nodes[0].attributes == {"axis": axis % 4, "stored_axis": stored}


def test_output_transpose_trim() -> None:
    model = make([node("Relu", "x", "r"), node("Transpose", "r", "y", perm=[0, 2, 3, 1])], {"x": (1, 2, 3, 4)}, ["y"])
    graph, folded = after(model, output_transpose_trim)
    assert ops(graph) == ["Relu"] and folded == 1 and graph.outputs == ("y",)
    assert graph.tensors["y"].shape == (1, 2, 3, 4) and graph.output_permutations == {"y": (0, 2, 3, 1)}
    x = noise(1, 2, 3, 4)
    lowered = program(model)
    assert [op.kind.name for op in lowered.ops] == ["UNARY"] and lowered.outputs[0].shape == (1, 3, 4, 2)
    np.testing.assert_array_equal(run(lowered, {"x": x})["y"], np.maximum(x, 0).transpose(0, 2, 3, 1))


@pytest.mark.parametrize(
    "perms", [[(0, 2, 3, 1), (0, 3, 1, 2)], [(0, 2, 3, 1), (0, 2, 3, 1)], [(3, 0, 2, 1), None, (1, 0, 3, 2)]]
)
def test_all_transposes_before_an_output_are_trimmed(perms: list[tuple[int, ...] | None]) -> None:
    """Their permutations become one, in their order."""
    nodes, last = [node("Relu", "x", "t0")], "t0"
    for i, perm in enumerate(perms):
        name = "y" if i + 1 == len(perms) else f"t{i + 1}"
        nodes.append(node("Transpose", last, name, **({} if perm is None else {"perm": list(perm)})))
        last = name
    model = make(nodes, {"x": (1, 2, 3, 4)}, ["y"])
    graph, folded = after(model, output_transpose_trim)
    assert ops(graph) == ["Relu"] and folded == len(perms)
    x = noise(1, 2, 3, 4)
    expected = np.maximum(x, 0)
    for perm in perms:
        expected = expected.transpose(perm)
    lowered = program(model)
    assert [op.kind.name for op in lowered.ops] == ["UNARY"] and lowered.outputs[0].shape == expected.shape
    np.testing.assert_array_equal(run(lowered, {"x": x})["y"], expected)


def test_output_transpose_stays_when_it_has_readers() -> None:
    nodes = [node("Relu", "x", "r"), node("Transpose", "r", "y", perm=[0, 2, 1]), node("Tanh", "y", "z")]
    graph, folded = after(make(nodes, {"x": (1, 2, 3)}, ["y", "z"]), output_transpose_trim)
    assert folded == 0 and "Transpose" in ops(graph)


def test_a_transposed_output_stays() -> None:
    """Both layouts are asked for."""
    nodes = [node("Relu", "x", "r"), node("Transpose", "r", "y", perm=[0, 2, 1])]
    model = make(nodes, {"x": (1, 2, 3)}, ["r", "y"])
    graph, folded = after(model, output_transpose_trim)
    assert folded == 0 and ops(graph) == ["Relu", "Transpose"]
    x = noise(1, 2, 3)
    results = run(program(model), {"x": x})
    np.testing.assert_array_equal(results["r"], np.maximum(x, 0))
    np.testing.assert_array_equal(results["y"], np.maximum(x, 0).transpose(0, 2, 1))


@pytest.mark.parametrize("scale", [0.05, 0.1])
def test_a_transpose_to_other_scales_stays(scale: float) -> None:
    q = Quantiser()
    q.add(node("Relu", q.pair("x", 0.05, 3), "r"), node("Transpose", q.pair("r", 0.05, 3), "t", perm=[0, 2, 1]))
    model = make(q.nodes, {"x": (1, 2, 3)}, [q.pair("t", scale, 3)], q.weights)
    graph, folded = after(model, constant_fold, qdq_fold, output_transpose_trim)
    assert folded == (scale == 0.05) == ("Transpose" not in ops(graph))


def conv_relu(*extra: onnx.NodeProto, outputs: tuple[str, ...] = ("y",)) -> onnx.ModelProto:
    nodes = [node("Conv", "x w", "c"), node("Relu", "c", "y"), *extra]
    return make(nodes, {"x": (1, 3, 4, 4)}, outputs, {"w": noise(2, 3, 1, 1)})


def test_activation_fuse() -> None:
    graph, folded = after(conv_relu(), activation_fuse)
    assert ops(graph) == ["Conv"] and folded == 1
    attributes = graph.nodes[0].attributes
    assert (attributes["activation_min"], attributes["activation_max"]) == (0.0, math.inf)


def test_activation_fuse_not_when_the_unclamped_value_is_read() -> None:
    assert after(conv_relu(node("Tanh", "c", "z"), outputs=("y", "z")), activation_fuse)[1] == 0
    assert after(conv_relu(outputs=("y", "c")), activation_fuse)[1] == 0


def test_activation_fuse_not_across_another_quantisation() -> None:
    """Conv rounded to one scale, then Relu to another: both roundings count."""
    for second, expected in ((0.05, 1), (0.03, 0)):
        q = Quantiser()
        weight = q.constant("w", np.ones((2, 3, 1, 1), np.int8), np.ones(2) * 0.1)
        q.add(node("Conv", f"{q.pair('x', 0.1, 0)} {weight}", "c"))
        q.add(node("Relu", q.pair("c", 0.05, -3), "r"), node("Identity", q.pair("r", second, -3), "y"))
        model = make(q.nodes, {"x": (1, 3, 4, 4)}, ["y"], q.weights)
        assert after(model, constant_fold, qdq_fold, activation_fuse)[1] == expected

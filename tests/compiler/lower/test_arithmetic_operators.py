"""Arithmetic operators, compiled and run by the runtime, equal onnxruntime; with much memory and with little."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper

from tests.compiler.models import make, node, ort
from tests.runtime import references
from tigris_pio import Session, compile_model
from tigris_pio.errors import BudgetError
from tigris_pio.format.enums import OpKind

RANDOM = np.random.default_rng(11)
REDUCTIONS = ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
              "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"]


def noise(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def check(model: onnx.ModelProto, inputs: Mapping[str, np.ndarray], rtol: float = 1e-5) -> None:
    """Ample memory against onnxruntime, scarce memory against ample."""
    ample = compile_model(model)
    results = Session(ample).run(inputs)
    for name, value in ort(model, inputs).items():
        assert results[name].dtype == value.dtype
        np.testing.assert_allclose(results[name], value, rtol=rtol, atol=1e-5)
    try:
        scarce = compile_model(model, fast=max(256, ample.plan.fast_bytes // 2), slow="16M")
    except BudgetError:
        return
    for name, value in Session(scarce).run(inputs).items():
        assert value.tobytes() == results[name].tobytes()


@pytest.mark.parametrize("op", REDUCTIONS)
@settings(max_examples=12)
@given(data=st.data())
def test_reductions(op: str, data: Any) -> None:
    rank = data.draw(st.integers(1, 5))
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=rank, max_size=rank)))
    axes = data.draw(st.lists(st.sampled_from(range(rank)), unique=True, min_size=1))
    x = np.abs(noise(*shape)) + np.float32(0.1)
    model = make([node(op, "x axes", "y", keepdims=data.draw(st.integers(0, 1)))], {"x": shape}, ["y"],
                 {"axes": np.array(axes)}, opset=18)
    check(model, {"x": x})


@pytest.mark.parametrize("axes", [[1], [2, 3], [1, 2, 3], [3]])
def test_reductions_after_a_convolution_read_its_layout(axes: list[int]) -> None:
    model = make([node("Conv", "x w", "c"), node("ReduceMax", "c a", "y")], {"x": (1, 3, 12, 9)}, ["y"],
                 {"w": noise(5, 3, 3, 3), "a": np.array(axes)}, opset=18)
    check(model, {"x": noise(1, 3, 12, 9)})


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_positions(op: str, last: int, axis: int) -> None:
    graph = helper.make_graph(
        [node(op, "x", "y", axis=axis, keepdims=0, select_last_index=last)], "arg",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, (2, 3, 4))],
        [helper.make_tensor_value_info("y", onnx.TensorProto.INT64, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    check(model, {"x": RANDOM.integers(-2, 3, (2, 3, 4)).astype(np.float32)})


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin", "CumSum", "CumProd", "Hardmax", "TopK"])
def test_the_order_of_a_flattened_map_is_the_models(op: str) -> None:
    """Its channels are stored last, and the elements are counted row by row of each channel."""
    layers = {
        "CumSum": [node(op, "f a", "y")], "CumProd": [node(op, "f a", "y")], "Hardmax": [node(op, "f", "y", axis=1)],
        "TopK": [helper.make_node(op, ["f", "a"], ["v", "i"], axis=1), node("Cast", "i", "y", to=1)],
    }.get(op, [node(op, "f", "i", axis=1, keepdims=0), node("Cast", "i", "y", to=1)])  # fmt: skip
    weights = {"w": noise(5, 3, 3, 3)} | ({"a": np.array([1])} if "a" in layers[0].input else {})
    model = make([node("Conv", "x w", "c"), node("Flatten", "c", "f"), *layers], {"x": (1, 3, 6, 5)}, ["y"], weights,
                 opset=26 if op == "CumProd" else 18)
    inputs = {"x": noise(1, 3, 6, 5)}
    if op != "CumProd":  # onnxruntime has none
        check(model, inputs)
        return
    convolution = make([node("Conv", "x w", "c"), node("Flatten", "c", "f")], {"x": (1, 3, 6, 5)}, ["f"],
                       {"w": weights["w"]})
    with Session(compile_model(model)) as session:
        np.testing.assert_allclose(session.run(inputs)["y"], np.cumprod(ort(convolution, inputs)["f"], 1), rtol=1e-4)


PRODUCTS: list[tuple[Sequence[int], Sequence[int]]] = [
    ((3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)), ((2, 1, 3, 4), (3, 4, 5)),
    ((1, 2, 3, 4), (3, 1, 4, 5)), ((5, 3, 4), (4, 2)), ((2, 3, 2, 3, 4), (3, 1, 4, 2)),
]


@pytest.mark.parametrize(("first", "second"), PRODUCTS)
@pytest.mark.parametrize("constant", [None, 0, 1])
def test_matmul(first: Sequence[int], second: Sequence[int], constant: int | None) -> None:
    arrays = {"a": noise(*first), "b": noise(*second)}
    fixed = {} if constant is None else {"ab"[constant]: arrays["ab"[constant]]}
    free = {name: array for name, array in arrays.items() if name not in fixed}
    model = make([node("MatMul", "a b", "y")], {name: array.shape for name, array in free.items()}, ["y"], fixed)
    check(model, free)


@pytest.mark.parametrize("attributes", [{}, {"transA": 1}, {"transB": 1}, {"transA": 1, "transB": 1, "alpha": 0.5},
                                        {"alpha": -2.0, "beta": 0.25}])
@pytest.mark.parametrize("bias", [None, (), (5,), (3, 1), (3, 5)])
def test_gemm_of_activations(attributes: dict[str, Any], bias: tuple[int, ...] | None) -> None:
    inputs = {"a": noise(4, 3) if attributes.get("transA") else noise(3, 4),
              "b": noise(5, 4) if attributes.get("transB") else noise(4, 5)}
    if bias is not None:
        inputs["c"] = noise(*bias)
    model = make([node("Gemm", " ".join(inputs), "y", **attributes)], {n: a.shape for n, a in inputs.items()}, ["y"])
    check(model, inputs)


@pytest.mark.thorough
def test_attention_of_a_transformer() -> None:
    """Projections, heads as a Reshape and a Transpose, scores, Softmax, and back."""
    constants = {"wq": noise(8, 8), "wk": noise(8, 8), "wv": noise(8, 8), "s": np.array([1, 6, 2, 4]),
                 "d": np.array(2.0, np.float32), "f": np.array([1, 6, 8]), "g": noise(8), "b": noise(8)}
    nodes = [node("LayerNormalization", "x g b", "n", axis=-1)]
    for name in "qkv":
        nodes += [node("MatMul", f"n w{name}", f"{name}0"), node("Reshape", f"{name}0 s", f"{name}1")]
    nodes += [
        node("Transpose", "q1", "q", perm=[0, 2, 1, 3]), node("Transpose", "k1", "k", perm=[0, 2, 3, 1]),
        node("Transpose", "v1", "v", perm=[0, 2, 1, 3]), node("MatMul", "q k", "e"), node("Div", "e d", "o"),
        node("Softmax", "o", "p", axis=-1), node("MatMul", "p v", "r"), node("Transpose", "r", "t", perm=[0, 2, 1, 3]),
        node("Reshape", "t f", "z"), node("Add", "z x", "y"),
    ]
    check(make(nodes, {"x": (1, 6, 8)}, ["y"], constants), {"x": noise(1, 6, 8)})


NORMALISATIONS = [
    ("LayerNormalization", "x s b", {"axis": -1}, (2, 3, 4), {"s": (4,), "b": (4,)}, 17),
    ("LayerNormalization", "x s", {"axis": 1, "epsilon": 0.1}, (2, 3, 4), {"s": (3, 4)}, 17),
    ("InstanceNormalization", "x s b", {}, (2, 3, 4, 5), {"s": (3,), "b": (3,)}, 13),
    ("GroupNormalization", "x s b", {"num_groups": 2}, (2, 4, 3, 5), {"s": (4,), "b": (4,)}, 21),
    ("LpNormalization", "x", {"axis": 1, "p": 1}, (2, 3, 4), {}, 13),
    ("LpNormalization", "x", {"axis": 1, "p": 2}, (2, 3, 4), {}, 13),
    ("MeanVarianceNormalization", "x", {}, (2, 3, 4, 5), {}, 13),
    ("LRN", "x", {"size": 3, "alpha": 0.1}, (2, 6, 4, 5), {}, 13),
    ("LogSoftmax", "x", {"axis": 1}, (2, 3, 4), {}, 13),
    ("LogSoftmax", "x", {"axis": 1}, (2, 3, 4), {}, 11),
    ("Hardmax", "x", {"axis": 1}, (2, 3, 4), {}, 13),
    ("Hardmax", "x", {"axis": 1}, (2, 3, 4), {}, 11),
]


@pytest.mark.parametrize(("op", "names", "attributes", "shape", "constants", "opset"), NORMALISATIONS)
@pytest.mark.parametrize("after_conv", [False, True])
def test_normalisations(op: str, names: str, attributes: dict[str, Any], shape: tuple[int, ...],
                        constants: dict[str, tuple[int, ...]], opset: int, after_conv: bool) -> None:
    weights = {name: noise(*size) for name, size in constants.items()}
    nodes = [node(op, names, "y", **attributes)]
    if after_conv and len(shape) == 4:
        weights["w"] = noise(shape[1], shape[1], 1, 1)
        nodes = [node("Conv", "i w", "x"), *nodes]
    free = "i" if len(nodes) > 1 else "x"
    check(make(nodes, {free: shape}, ["y"], weights, opset=opset), {free: noise(*shape)}, rtol=1e-4)


def test_logic_in_a_graph() -> None:
    """A mask computed, combined and used; truth values never leave the model."""
    nodes = [node("Greater", "x z", "g"), node("Less", "x o", "l"), node("And", "g l", "a"), node("Not", "a", "n"),
             node("Or", "n g", "r"), node("Where", "r x z", "w"), node("Cast", "a", "f", to=1), node("Mul", "w f", "y")]
    bounds = {"z": np.zeros((), np.float32), "o": np.ones((1, 3, 1, 1), np.float32)}
    check(make(nodes, {"x": (1, 3, 5, 4)}, ["y"], bounds), {"x": noise(1, 3, 5, 4)})


@pytest.mark.parametrize("dtype", ["UINT8", "INT8", "BOOL", "INT16"])
def test_small_inputs_are_cast(dtype: str) -> None:
    kind = getattr(onnx.TensorProto, dtype)
    graph = helper.make_graph(
        [node("Cast", "x", "f", to=1), node("Mul", "f c", "y")], "cast",
        [helper.make_tensor_value_info("x", kind, (1, 3, 4, 5))],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, (1, 3, 4, 5))],
        [onnx.numpy_helper.from_array(np.array(0.1, np.float32), "c")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    numpy_type = helper.tensor_dtype_to_np_dtype(kind)
    check(model, {"x": RANDOM.integers(0, 100, (1, 3, 4, 5)).astype(numpy_type)})


@pytest.mark.parametrize("op", ["Max", "Min", "Mean", "Sum"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_any_number_of_inputs(op: str, count: int) -> None:
    arrays = {f"x{index}": noise(*((2, 3, 4) if index % 2 == 0 else (3, 1))) for index in range(count)}
    model = make([node(op, " ".join(arrays), "y")], {name: array.shape for name, array in arrays.items()}, ["y"])
    check(model, arrays)


@pytest.mark.parametrize("op", ["Add", "Div", "Pow", "PRelu", "Max"])
@settings(max_examples=15)
@given(data=st.data())
def test_broadcasting(op: str, data: Any) -> None:
    rank = data.draw(st.integers(1, 6))
    shape = data.draw(st.lists(st.integers(1, 3), min_size=rank, max_size=rank))
    masks = [data.draw(st.lists(st.booleans(), min_size=rank, max_size=rank)) for _ in "ab"]
    masks[0] = [False] * rank if op == "PRelu" else masks[0]
    shapes = [tuple(1 if drop else size for size, drop in zip(shape, mask, strict=True)) for mask in masks]
    arrays = {name: np.abs(noise(*own)) + np.float32(0.5) for name, own in zip("ab", shapes, strict=True)}
    arrays["a"] = noise(*shapes[0]) if op == "PRelu" else arrays["a"]
    check(make([node(op, "a b", "y")], {name: array.shape for name, array in arrays.items()}, ["y"]), arrays)


def test_int8_product_of_activations_is_tensorflow_lites() -> None:
    """Between quantised tensors MatMul stays in int8: exact sums, one requantisation."""
    scales, zeros = {"a": 0.05, "b": 0.02, "y": 0.1}, {"a": 3, "b": -7, "y": 11}
    constants: dict[str, np.ndarray] = {}
    for name, scale in scales.items():
        constants |= {f"{name}s": np.array(scale, np.float32), f"{name}z": np.array(zeros[name], np.int8)}
    nodes = []
    for name in "ab":
        nodes += [node("QuantizeLinear", f"{name} {name}s {name}z", f"{name}q"),
                  node("DequantizeLinear", f"{name}q {name}s {name}z", f"{name}d")]
    nodes += [node("MatMul", "ad bd", "m"), node("QuantizeLinear", "m ys yz", "yq"),
              node("DequantizeLinear", "yq ys yz", "y")]
    plan = compile_model(make(nodes, {"a": (2, 3, 5), "b": (2, 5, 4)}, ["y"], constants))
    assert [op.kind for op in plan.plan.program.ops] == [OpKind.MAT_MUL]
    a, b = (RANDOM.integers(-128, 128, shape).astype(np.int8) for shape in ((1, 2, 3, 5), (1, 2, 5, 4)))
    session = Session(plan)
    stored = {io.name: array.reshape(io.stored_shape) for io, array in zip(session.inputs, (a, b), strict=True)}
    got = session.run_raw(stored)["y"]
    sums = (a.astype(np.int64) - zeros["a"]) @ (b.astype(np.int64) - zeros["b"])
    real = np.float32(scales["a"]).astype(np.float64) * np.float32(scales["b"]) / np.float32(scales["y"])
    multiplier, shift = references.quantised_multiplier(float(real))
    expected = np.clip(references.requantise(sums, multiplier, shift) + zeros["y"], -128, 127)
    np.testing.assert_array_equal(got.reshape(expected.shape), expected)

"""A bias written as Add joins its layer: one int8 layer with TensorFlow Lite's arithmetic, or one in float32."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from tests.compiler.lower.program_interpreter import run
from tests.compiler.models import Quantiser, make, node, ort, program
from tigris_pio import Session, compile_model
from tigris_pio.format.enums import DType, OpKind

RANDOM = np.random.default_rng(5)
Shape = tuple[int, ...]


def noise(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def dense(relu: bool, swapped: bool, shape: Shape, form: str) -> onnx.ModelProto:
    """What tf2onnx makes of FULLY_CONNECTED; `form` "Gemm" is the same as one operator with a bias."""
    q = Quantiser()
    source = q.pair("x", 0.03, -4)
    weight = q.constant("w", RANDOM.integers(-127, 128, (12, 7)).astype(np.int8), 0.004)
    bias = q.constant("b", RANDOM.integers(-3000, 3000, 7).astype(np.int32), np.float32(0.03) * np.float32(0.004))
    if form == "Gemm":
        q.add(node("Gemm", f"{source} {weight} {bias}", "a", "layer"))
    else:
        q.add(node("MatMul", f"{source} {weight}", "m", "layer"))
        q.add(node("Add", f"{bias} m" if swapped else f"m {bias}", "a"))
    if relu:
        q.add(node("Relu", "a", "r"))
    q.add(node("Identity", q.pair("r" if relu else "a", 0.05, -20), "y"))
    return make(q.nodes, {"x": shape}, ["y"], q.weights)


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("shape", [(1, 12), (5, 12), (1, 4, 12)])
def test_an_int8_layer_is_one_operator(relu: bool, swapped: bool, shape: Shape) -> None:
    state = RANDOM.bit_generator.state
    lowered = program(dense(relu, swapped, shape, "MatMul"))
    assert [(op.kind, op.dtype) for op in lowered.ops] == [(OpKind.FULLY_CONNECTED, DType.INT8)]
    assert not lowered.warnings
    inputs = {"x": noise(*shape)}
    got = run(lowered, inputs)["y"]
    RANDOM.bit_generator.state = state
    model = dense(relu, swapped, shape, "MatMul")
    assert np.abs(got - ort(model, inputs)["y"]).max() <= 0.05 + 1e-4
    if len(shape) == 2:
        RANDOM.bit_generator.state = state
        gemm = program(dense(relu, swapped, shape, "Gemm"))
        for name in ("weights", "bias", "multiplier", "shift"):
            np.testing.assert_array_equal(lowered.ops[0].blobs[name], gemm.ops[0].blobs[name])
        assert lowered.ops[0].params == gemm.ops[0].params


LAYERS = {
    "MatMul": ((3, 6), (6, 4), (4,)), "MatMul_3d": ((2, 3, 6), (6, 4), (1, 1, 4)), "Gemm": ((3, 6), (6, 4), (1, 4)),
    "Conv": ((1, 3, 5, 5), (4, 3, 3, 3), (4, 1, 1)), "ConvTranspose": ((1, 3, 5, 5), (3, 4, 2, 2), (1, 4, 1, 1)),
    "Conv_1d": ((1, 3, 9), (4, 3, 3), (4, 1)), "Conv_depthwise": ((1, 4, 5, 5), (4, 1, 3, 3), (4, 1, 1)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_float_layers(name: str) -> None:
    shape, weights, bias = LAYERS[name]
    group = {"group": 4} if "depthwise" in name else {}
    nodes = [node(name.split("_", maxsplit=1)[0], "x w", "m", **group), node("Add", "m b", "y")]
    model = make(nodes, {"x": shape}, ["y"], {"w": noise(*weights), "b": noise(*bias)})
    lowered, inputs = program(model), {"x": noise(*shape)}
    assert len(lowered.ops) - sum(op.kind == OpKind.TRANSPOSE for op in lowered.ops) == 1
    np.testing.assert_allclose(run(lowered, inputs)["y"], ort(model, inputs)["y"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("shape", "weights", "bias"), [
    ((3, 6), (6, 4), (3, 1)),  # a number a row
    ((3, 6), (6, 4), (3, 4)), ((3, 6), (6, 4), (2, 3, 4)),
    ((2, 3, 6), (6,), (3,)),  # the last axis is none of output channels
    ((2, 3, 6), (2, 6, 4), (4,)),  # a matrix for each image
], ids=str)
def test_other_constants_stay(shape: Shape, weights: Shape, bias: Shape) -> None:
    model = make([node("MatMul", "x w", "m"), node("Add", "m b", "y")], {"x": shape}, ["y"],
                 {"w": noise(*weights), "b": noise(*bias)})
    compiled, inputs = compile_model(model), {"x": noise(*shape)}
    assert OpKind.ADD in [op.kind for op in compiled.plan.program.ops]
    with Session(compiled.data) as session:
        np.testing.assert_allclose(session.run(inputs)["y"], ort(model, inputs)["y"], rtol=1e-4, atol=1e-5)


def test_products_that_others_see_stay() -> None:
    """Read by another node, an output of the model, or clamped before the Add."""
    weights = {"w": noise(6, 4), "b": noise(4)}
    for nodes, outputs in (
        ([node("MatMul", "x w", "m"), node("Add", "m b", "a"), node("Mul", "m a", "y")], ["y"]),
        ([node("MatMul", "x w", "m"), node("Add", "m b", "y")], ["y", "m"]),
        ([node("MatMul", "x w", "m"), node("Relu", "m", "r"), node("Add", "r b", "y")], ["y"]),
    ):
        used = {name: value for name, value in weights.items() if any(name in item.input for item in nodes)}
        model = make(nodes, {"x": (2, 6)}, outputs, used)
        lowered, inputs = program(model), {"x": noise(2, 6)}
        assert OpKind.ADD in [op.kind for op in lowered.ops]
        got, expected = run(lowered, inputs), ort(model, inputs)
        for name in outputs:
            np.testing.assert_allclose(got[name], expected[name], rtol=1e-4, atol=1e-5)


def test_a_rounding_between_stays() -> None:
    q = Quantiser()
    weight = q.constant("w", RANDOM.integers(-127, 128, (12, 7)).astype(np.int8), 0.004)
    q.add(node("MatMul", f"{q.pair('x', 0.03, -4)} {weight}", "m"))
    bias = q.constant("b", RANDOM.integers(-127, 128, 7).astype(np.int8), 0.01)
    q.add(node("Add", f"{q.pair('m', 0.1, 0)} {bias}", "a"), node("Identity", q.pair("a", 0.1, 3), "y"))
    lowered = program(make(q.nodes, {"x": (2, 12)}, ["y"], q.weights))
    assert [op.kind for op in lowered.ops] == [OpKind.FULLY_CONNECTED, OpKind.ADD]


TAILS: dict[str, list[str]] = {
    "Sub": ["Sub m b t"], "turned_Sub": ["Sub b m t"], "Mul": ["Mul m b t"], "Div": ["Div m b t"],
    "a_number": ["Mul m n t"], "Mul_and_Add": ["Mul m b u", "Add u c t"], "Add_and_Mul": ["Add m c u", "Mul b u t"],
    "two_Adds": ["Add m b u", "Add c u t"], "BatchNormalization": ["BatchNormalization m p c c p t"],
}
NETS: dict[str, tuple[Shape, Shape, str, Shape]] = {  # input, weights, operator, and a channel's constant
    "Conv": ((1, 3, 5, 5), (4, 3, 3, 3), "Conv", (4, 1, 1)), "Conv_1d": ((1, 3, 9), (4, 3, 3), "Conv", (4, 1)),
    "depthwise": ((1, 4, 5, 5), (4, 1, 3, 3), "Conv", (4, 1, 1)), "MatMul": ((3, 6), (6, 4), "MatMul", (4,)),
    "ConvTranspose": ((1, 3, 5, 5), (3, 4, 2, 2), "ConvTranspose", (4, 1, 1)),
    "Gemm": ((3, 6), (4, 6), "Gemm", (4,)), "Gemm_biased": ((3, 6), (4, 6), "Gemm", (4,)),
}


def layer_and_tail(net: str, tail: str, int8: bool) -> onnx.ModelProto:
    shape, weights, op, column = NETS[net]
    random = np.random.default_rng(3)
    q = Quantiser()
    attributes: dict[str, object] = {"group": 4} if net == "depthwise" else {"transB": 1} if op == "Gemm" else {}
    source, weight = "x", "w"
    q.weights = {"p": random.uniform(0.5, 2, 4).astype(np.float32), "n": np.array(-0.7, np.float32)}
    q.weights["b"] = (random.uniform(0.5, 2, 4) * [1, -1, 1, -1]).astype(np.float32).reshape(column)
    q.weights["c"] = random.standard_normal(4).astype(np.float32)
    if not any("BatchNormalization" in line for line in TAILS[tail]):
        q.weights["c"] = q.weights["c"].reshape(column)
    values = random.integers(-127, 128, weights)
    if int8:
        source, weight = q.pair("x", 0.03, -4), q.constant("w", values.astype(np.int8), 0.004)
    else:
        q.weights["w"] = (values * 0.004).astype(np.float32)
    if net == "Gemm_biased":
        q.weights["a"] = random.standard_normal(4).astype(np.float32)
        weight += " a"
    q.add(node(op, f"{source} {weight}", "m", **attributes))
    for line in TAILS[tail]:
        name, *inputs, result = line.split()
        q.add(node(name, " ".join(inputs), result))
    q.add(node("Identity", q.pair("t", 0.05, -20) if int8 else "t", "y"))
    used = {name for item in q.nodes for name in item.input}
    return make(q.nodes, {"x": shape}, ["y"], {name: value for name, value in q.weights.items() if name in used})


@pytest.mark.parametrize("int8", [False, True])
@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("net", NETS)
def test_arithmetic_with_constants_joins_its_layer(net: str, tail: str, int8: bool) -> None:
    """One operator, beside those that bring tensors into another order, and what the model says."""
    if net in ("MatMul", "Gemm", "Gemm_biased") and tail == "BatchNormalization":
        tail = "Mul_and_Add" if net == "MatMul" else tail
    model = layer_and_tail(net, tail, int8)
    lowered, inputs = program(model), {"x": noise(*NETS[net][0])}
    kinds = {op.kind for op in lowered.ops} - {OpKind.TRANSPOSE}
    assert len(kinds) == 1 and kinds <= {OpKind.CONV_2D, OpKind.DEPTHWISE_CONV_2D, OpKind.TRANSPOSE_CONV,
                                         OpKind.FULLY_CONNECTED}
    assert all(op.dtype == (DType.INT8 if int8 else DType.FLOAT32) for op in lowered.ops)
    got, expected = run(lowered, inputs)["y"], ort(model, inputs)["y"]
    if int8:
        assert np.abs(got - expected).max() <= 0.05 + 1e-4
    else:
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize(("shape", "to", "bias"), [
    ((6, 12), (2, 3, 7), (7,)), ((6, 12), (1, 6, 1, 7), (1, 7)), ((2, 3, 12), (6, 7), (7,)),
])
def test_a_reshape_may_stand_between(shape: Shape, to: Shape, bias: Shape, relu: bool) -> None:
    """As converters write layers over more than two axes."""
    q = Quantiser()
    random = np.random.default_rng(4)
    weight = q.constant("w", random.integers(-127, 128, (12, 7)).astype(np.int8), 0.004)
    q.weights |= {"b": random.standard_normal(bias).astype(np.float32), "to": np.array(to, np.int64)}
    q.add(node("MatMul", f"{q.pair('x', 0.03, -4)} {weight}", "m"), node("Reshape", "m to", "r"),
          node("Add", "r b", "a"))
    if relu:
        q.add(node("Relu", "a", "a2"))
    q.add(node("Identity", q.pair("a2" if relu else "a", 0.05, -20), "y"))
    model = make(q.nodes, {"x": shape}, ["y"], q.weights)
    lowered, inputs = program(model), {"x": noise(*shape)}
    assert {op.dtype for op in lowered.ops} == {DType.INT8}
    assert [op.kind for op in lowered.ops if op.kind != OpKind.LOOKUP] == [OpKind.FULLY_CONNECTED]
    assert np.abs(run(lowered, inputs)["y"] - ort(model, inputs)["y"]).max() <= 0.05 + 1e-4


def test_what_cannot_be_folded_stays() -> None:
    """Weights of integers without a negative; channels that a factor of zero wipes out; weights that others read."""
    for factor, low, shared in ((-1.5, -128, False), (0.0, -127, False), (2.0, -127, True)):
        q = Quantiser()
        values = np.full((6, 4), low, np.int8)
        weight, source = q.constant("w", values, 0.01), q.pair("x", 0.03, 0)
        q.weights["f"] = np.full(4, factor, np.float32)
        q.add(node("MatMul", f"{source} {weight}", "m"), node("Mul", "m f", "t"))
        if shared:
            q.add(node("MatMul", f"{source} {weight}", "m2"), node("Add", "t m2", "t2"))
        q.add(node("Identity", q.pair("t2" if shared else "t", 0.05, 0), "y"))
        model = make(q.nodes, {"x": (2, 6)}, ["y"], q.weights)
        lowered, inputs = program(model), {"x": noise(2, 6)}
        assert len([op for op in lowered.ops if op.kind not in (OpKind.QUANTIZE, OpKind.DEQUANTIZE)]) > 1
        assert np.abs(run(lowered, inputs)["y"] - ort(model, inputs)["y"]).max() <= 0.05 + 1e-4

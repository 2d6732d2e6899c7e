"""Quantised operators: within one step of onnxruntime, exact where no rounding differs, and of the
intended kernels."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from tests.compiler.lower.program_interpreter import run
from tests.compiler.models import Quantiser, make, node, ort, program
from tigris_pio import Session, compile_model
from tigris_pio.compiler.ir.program import Program
from tigris_pio.format.enums import DType, OpKind

RANDOM = np.random.default_rng(11)
Shape = tuple[int, ...]


def noise(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def check(model: onnx.ModelProto, shapes: dict[str, Shape], scale: float, steps: float = 1.0) -> Program:
    """Compares with onnxruntime; `scale` is the output's, `steps` the largest difference in units of it."""
    inputs = {name: noise(*shape) for name, shape in shapes.items()}
    lowered = program(model)
    got, expected = run(lowered, inputs), ort(model, inputs)
    for name, value in expected.items():
        assert got[name].shape == value.shape and got[name].dtype == value.dtype
        difference = np.abs(got[name].astype(np.float64) - value) / scale
        assert difference.max() <= steps + 1e-3, difference.max()
    return lowered


def kinds(lowered: Program) -> list[OpKind]:
    return [op.kind for op in lowered.ops]


@pytest.mark.parametrize("unsigned", [False, True])
@pytest.mark.parametrize("activation", [None, "Relu", "Clip"])
@pytest.mark.parametrize(("shape", "weights", "attributes"), [
    ((1, 3, 8, 7), (6, 3, 3, 3), {"pads": [0, 1, 2, 1], "strides": [2, 1]}),
    ((1, 6, 8, 7), (6, 1, 3, 3), {"group": 6, "pads": [1, 1, 1, 1]}),
    ((1, 6, 8, 7), (4, 3, 3, 3), {"group": 2, "dilations": [2, 1]}),
    ((2, 3, 8, 7), (4, 3, 1, 1), {}),
    ((1, 4, 16), (8, 4, 5), {"pads": [2, 2]}),
])
def test_conv(unsigned: bool, activation: str | None, shape: Shape, weights: Shape,
              attributes: dict[str, object]) -> None:
    q = Quantiser(unsigned)
    scales = np.abs(noise(weights[0])) * 0.01 + 0.002
    source = q.pair("x", 0.02, 3)
    weight = q.constant("w", RANDOM.integers(-127, 128, weights).astype(np.int8), scales)
    bias = q.constant("b", RANDOM.integers(-3000, 3000, weights[0]).astype(np.int32), np.float32(0.02) * scales)
    q.add(node("Conv", f"{source} {weight} {bias}", "c", **attributes))
    last = "c"
    if activation:
        q.weights |= {"lo": np.array(0, np.float32), "hi": np.array(6, np.float32)} if activation == "Clip" else {}
        q.add(node(activation, "c lo hi" if activation == "Clip" else "c", "a"))
        last = "a"
    out = q.pair(last, 0.05, -10)
    q.add(node("Identity", out, "y"))
    lowered = check(make(q.nodes, {"x": shape}, ["y"], q.weights), {"x": shape}, 0.05)
    assert len(lowered.ops) == 1 and lowered.ops[0].dtype == DType.INT8
    params = lowered.ops[0].params
    low, high = {None: (-128, 127), "Relu": (-10, 127), "Clip": (-10, 110)}[activation]
    assert (params.activation_min, params.activation_max) == (low, high)


@pytest.mark.parametrize("axis", [None, 0])
@pytest.mark.parametrize("bias", ["int32", "float", "none"])
def test_gemm(axis: int | None, bias: str) -> None:
    q = Quantiser()
    scale = np.float32(0.004) if axis is None else (np.abs(noise(5)) * 0.01 + 0.001).astype(np.float32)
    source = q.pair("x", 0.03, -4)
    weight = q.constant("w", RANDOM.integers(-127, 128, (5, 12)).astype(np.int8), scale)
    names = f"{source} {weight}"
    if bias == "int32":
        names += " " + q.constant("b", RANDOM.integers(-999, 999, 5).astype(np.int32), np.float32(0.03) * scale)
    elif bias == "float":
        q.weights["b"] = noise(5) * np.float32(0.2)
        names += " b"
    q.add(node("Gemm", names, "g", transB=1))
    q.add(node("Identity", q.pair("g", 0.06, 7), "y"))
    lowered = check(make(q.nodes, {"x": (1, 12)}, ["y"], q.weights), {"x": (1, 12)}, 0.06)
    assert kinds(lowered) == [OpKind.FULLY_CONNECTED]
    assert lowered.ops[0].params.requantise_step == (0 if axis is None else 1)


def test_matmul_with_per_column_scales_and_transposed_constant() -> None:
    """torch exports Linear as DequantizeLinear -> Transpose -> MatMul."""
    q = Quantiser()
    source = q.pair("x", 0.03, 5)
    weight = q.constant("w", RANDOM.integers(-127, 128, (6, 10)).astype(np.int8), np.full(6, 0.01))
    q.add(node("Transpose", weight, "wt", perm=[1, 0]), node("MatMul", f"{source} wt", "m"))
    q.add(node("Identity", q.pair("m", 0.1, 0), "y"))
    lowered = check(make(q.nodes, {"x": (3, 10)}, ["y"], q.weights), {"x": (3, 10)}, 0.1)
    assert kinds(lowered) == [OpKind.FULLY_CONNECTED]
    assert lowered.ops[0].params.rows == 3


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul"])
@pytest.mark.parametrize("shapes", [((1, 3, 4, 5), (1, 3, 4, 5)), ((1, 3, 4, 5), (1, 3, 1, 1)),
                                    ((3, 1, 1), (1, 3, 4, 5))])
@pytest.mark.parametrize("relu", [False, True])
def test_binary(op: str, shapes: tuple[Shape, Shape], relu: bool) -> None:
    q = Quantiser()
    first, second = q.pair("a", 0.02, 3), q.pair("b", 0.011, -20)
    q.add(node(op, f"{first} {second}", "s"))
    if relu:
        q.add(node("Relu", "s", "r"))
    q.add(node("Identity", q.pair("r" if relu else "s", 0.04, -6), "y"))
    named = {"a": shapes[0], "b": shapes[1]}
    lowered = check(make(q.nodes, named, ["y"], q.weights), named, 0.04)
    assert kinds(lowered) == [OpKind[op.upper()]]
    assert lowered.ops[0].params.activation_min == (-6 if relu else -128)


@pytest.mark.parametrize(("op", "first"), [("Add", False), ("Add", True), ("Sub", False), ("Sub", True),
                                           ("Mul", False), ("Mul", True), ("Div", False)])
@pytest.mark.parametrize("shape", [(), (3, 1, 1), (1, 1, 4, 5)])
def test_binary_with_a_float_constant(op: str, first: bool, shape: Shape) -> None:
    q = Quantiser()
    source = q.pair("x", 0.02, 3)
    q.weights["c"] = noise(*shape) + np.float32(1.5)
    q.add(node(op, f"c {source}" if first else f"{source} c", "s"))
    q.add(node("Identity", q.pair("s", 0.05, -6), "y"))
    lowered = check(make(q.nodes, {"x": (1, 3, 4, 5)}, ["y"], q.weights), {"x": (1, 3, 4, 5)}, 0.05)
    if shape != (1, 1, 4, 5):
        assert len(lowered.ops) == 1 and lowered.ops[0].dtype == DType.INT8


def test_add_of_a_quantised_constant() -> None:
    q = Quantiser()
    source = q.pair("x", 0.02, 3)
    constant = q.constant("c", RANDOM.integers(-127, 128, (1, 3, 4, 5)).astype(np.int8), 0.01)
    q.add(node("Add", f"{source} {constant}", "s"), node("Identity", q.pair("s", 0.03, 0), "y"))
    lowered = check(make(q.nodes, {"x": (1, 3, 4, 5)}, ["y"], q.weights), {"x": (1, 3, 4, 5)}, 0.03)
    assert kinds(lowered) == [OpKind.ADD]
    constants = [tensor for tensor in lowered.tensors.values() if tensor.constant is not None]
    assert [(tensor.dtype, tensor.constant.shape) for tensor in constants] == [(DType.INT8, (1, 4, 5, 3))]


@pytest.mark.parametrize("activation", [
    node("Relu", "x_dq", "s"), node("LeakyRelu", "x_dq", "s", alpha=0.1), node("Sigmoid", "x_dq", "s"),
    node("Tanh", "x_dq", "s"), node("HardSwish", "x_dq", "s"), node("HardSigmoid", "x_dq", "s"),
    node("Exp", "x_dq", "s"), node("Elu", "x_dq", "s"), node("Selu", "x_dq", "s"), node("Softplus", "x_dq", "s"),
    node("Abs", "x_dq", "s"), node("Neg", "x_dq", "s"), node("Erf", "x_dq", "s"), node("Softsign", "x_dq", "s"),
    node("Celu", "x_dq", "s", alpha=2.0), node("ThresholdedRelu", "x_dq", "s", alpha=0.5), node("Floor", "x_dq", "s"),
], ids=lambda item: item.op_type)
def test_unary_is_one_table(activation: onnx.NodeProto) -> None:
    q = Quantiser()
    q.pair("x", 0.0213, 3)  # whose multiples are no whole numbers, at which Floor would be undecided
    q.add(activation)
    q.add(node("Identity", q.pair("s", 0.03, -20), "y"))
    lowered = check(make(q.nodes, {"x": (1, 3, 4, 5)}, ["y"], q.weights), {"x": (1, 3, 4, 5)}, 0.03)
    assert kinds(lowered) == [OpKind.LOOKUP]


@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize("attributes", [{"kernel_shape": [2, 2], "strides": [2, 2]},
                                        {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]},
                                        {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1}])
def test_average_pool(same: bool, attributes: dict[str, object]) -> None:
    q = Quantiser()
    source = q.pair("x", 0.02, 3)
    q.add(node("AveragePool", source, "p", **attributes))
    q.add(node("Identity", q.pair("p", 0.02 if same else 0.013, 3 if same else -5), "y"))
    lowered = check(make(q.nodes, {"x": (1, 3, 6, 6)}, ["y"], q.weights), {"x": (1, 3, 6, 6)}, 0.02 if same else 0.013)
    assert kinds(lowered) == [OpKind.AVERAGE_POOL]
    assert lowered.ops[0].params.rescale == (0 if same else 1)


def test_max_pool_to_another_scale_is_converted_afterwards() -> None:
    q = Quantiser()
    source = q.pair("x", 0.02, 3)
    q.add(node("MaxPool", source, "p", kernel_shape=[2, 2]), node("Identity", q.pair("p", 0.03, -5), "y"))
    lowered = check(make(q.nodes, {"x": (1, 3, 6, 6)}, ["y"], q.weights), {"x": (1, 3, 6, 6)}, 0.03)
    assert kinds(lowered) == [OpKind.MAX_POOL, OpKind.LOOKUP]


@pytest.mark.parametrize("target", [(1 / 256, -128), (1 / 200, -100)])
def test_softmax(target: tuple[float, int]) -> None:
    q = Quantiser()
    source = q.pair("x", 0.05, 3)
    q.add(node("Softmax", source, "p"), node("Identity", q.pair("p", *target), "y"))
    lowered = check(make(q.nodes, {"x": (4, 10)}, ["y"], q.weights), {"x": (4, 10)}, target[0])
    assert kinds(lowered) == [OpKind.SOFTMAX] + ([OpKind.LOOKUP] if target[1] != -128 else [])


def test_softmax_with_float_output_runs_in_float() -> None:
    q = Quantiser()
    q.add(node("Softmax", q.pair("x", 0.05, 3), "y"))
    lowered = check(make(q.nodes, {"x": (1, 10)}, ["y"], q.weights), {"x": (1, 10)}, 1.0, 1e-5)
    assert kinds(lowered) == [OpKind.DEQUANTIZE, OpKind.SOFTMAX]


@pytest.mark.parametrize("same", [True, False])
def test_concat(same: bool) -> None:
    q = Quantiser()
    first, second = q.pair("a", 0.02, 3), q.pair("b", 0.02 if same else 0.03, 3)
    q.add(node("Concat", f"{first} {second}", "c", axis=1), node("Identity", q.pair("c", 0.02, 3), "y"))
    shapes = {"a": (1, 3, 4, 4), "b": (1, 2, 4, 4)}
    lowered = check(make(q.nodes, shapes, ["y"], q.weights), shapes, 0.02)
    assert kinds(lowered) == [OpKind.CONCAT] if same else [OpKind.LOOKUP, OpKind.CONCAT]


def test_float_island_between_quantised_operators() -> None:
    """An operator whose output nobody quantises computes in float32; its neighbours stay int8."""
    q = Quantiser()
    source, other = q.pair("x", 0.02, 3), q.pair("w", 0.02, 0)
    q.add(node("Sigmoid", source, "s"), node("Mul", f"s {other}", "m"), node("Identity", q.pair("m", 0.02, 0), "y"))
    shapes = {"x": (1, 3, 4, 5), "w": (1, 3, 4, 5)}
    lowered = check(make(q.nodes, shapes, ["y"], q.weights), shapes, 0.02)
    assert kinds(lowered) == [OpKind.DEQUANTIZE, OpKind.UNARY, OpKind.DEQUANTIZE, OpKind.MUL, OpKind.QUANTIZE]


def test_value_needed_rounded_and_unrounded() -> None:
    """Two pairs with different scales behind one Relu: it is computed in float and quantised twice."""
    q = Quantiser()
    source = q.pair("x", 0.02, 3)
    q.add(node("Tanh", source, "s"))
    q.weights |= {"f": np.array(0.01, np.float32), "g": np.array(0.02, np.float32), "z": np.array(0, np.int8)}
    q.add(node("QuantizeLinear", "s f z", "s1"), node("DequantizeLinear", "s1 f z", "y"),
          node("QuantizeLinear", "s g z", "s2"), node("DequantizeLinear", "s2 g z", "w"))
    lowered = check(make(q.nodes, {"x": (1, 8)}, ["y", "w"], q.weights), {"x": (1, 8)}, 0.01)
    assert sorted(kinds(lowered)) == sorted([OpKind.DEQUANTIZE, OpKind.UNARY, OpKind.QUANTIZE, OpKind.QUANTIZE])


@pytest.mark.parametrize("unsigned", [False, True])
def test_integer_input_and_output(unsigned: bool) -> None:
    """A model that takes and gives integers keeps its types at the border."""
    dtype = np.uint8 if unsigned else np.int8
    zero = np.array(120 if unsigned else -8, dtype)
    weights = {"s": np.array(0.02, np.float32), "z": zero, "t": np.array(0.03, np.float32)}
    kind = onnx.TensorProto.UINT8 if unsigned else onnx.TensorProto.INT8
    model = make(
        [node("DequantizeLinear", "x s z", "d"), node("Tanh", "d", "h"), node("QuantizeLinear", "h t z", "y")],
        {"x": (1, 3, 4, 4)}, ["y"], weights, types={"x": kind, "y": kind},
    )
    info = np.iinfo(dtype)
    inputs = {"x": RANDOM.integers(info.min, info.max + 1, (1, 3, 4, 4)).astype(dtype)}
    lowered = program(model)
    got, expected = run(lowered, inputs)["y"], ort(model, inputs)["y"]
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got.astype(int), expected.astype(int), atol=1)
    assert [io.dtype for io in (*lowered.inputs, *lowered.outputs)] == [DType.UINT8 if unsigned else DType.INT8] * 2
    assert kinds(lowered) == [OpKind.LOOKUP]


def test_asymmetric_weights_of_a_transposed_convolution_are_quantised_again() -> None:
    q = Quantiser(True)
    source = q.pair("x", 0.02, 3)
    q.weights |= {"w_q": RANDOM.integers(0, 256, (3, 4, 3, 3)).astype(np.uint8), "w_s": np.array(0.01, np.float32),
                  "w_z": np.array(97, np.uint8)}
    q.add(node("DequantizeLinear", "w_q w_s w_z", "w"), node("ConvTranspose", f"{source} w", "c"))
    q.add(node("Identity", q.pair("c", 0.2, 0), "y"))
    lowered = check(make(q.nodes, {"x": (1, 3, 6, 6)}, ["y"], q.weights), {"x": (1, 3, 6, 6)}, 0.2, 2.0)
    assert kinds(lowered) == [OpKind.TRANSPOSE_CONV]
    assert any("asymmetric" in warning for warning in lowered.warnings)


def test_dead_channels_get_multiplier_zero() -> None:
    """Scales far below 2^-32 of the output's: the channel is its bias's rounding to zero."""
    q = Quantiser()
    source = q.pair("x", 0.02, 3)
    scales = np.array([0.01, 9e-12], np.float32)
    weight = q.constant("w", np.full((2, 1, 1, 1), 100, np.int8), scales)
    bias = q.constant("b", np.array([10, 2**31 - 1], np.int32), np.float32(0.02) * scales)
    q.add(node("Conv", f"{source} {weight} {bias}", "c"), node("Identity", q.pair("c", 0.05, 4), "y"))
    lowered = check(make(q.nodes, {"x": (1, 1, 4, 4)}, ["y"], q.weights), {"x": (1, 1, 4, 4)}, 0.05)
    assert lowered.ops[0].blobs["multiplier"][1] == 0 and lowered.ops[0].blobs["shift"][1] == 0


def test_flatten_and_reshape_between_pairs_are_free() -> None:
    q = Quantiser()
    source = q.pair("x", 0.02, 3)
    weight = q.constant("w", RANDOM.integers(-127, 128, (4, 3, 3, 3)).astype(np.int8), np.full(4, 0.005))
    q.add(node("Conv", f"{source} {weight}", "c"))
    conv = q.pair("c", 0.05, 0)
    q.add(node("Flatten", conv, "f"))
    flat = q.pair("f", 0.05, 0)
    matrix = q.constant("m", RANDOM.integers(-127, 128, (5, 64)).astype(np.int8), 0.003)
    q.add(node("Gemm", f"{flat} {matrix}", "g", transB=1), node("Identity", q.pair("g", 0.1, 0), "y"))
    lowered = check(make(q.nodes, {"x": (1, 3, 6, 6)}, ["y"], q.weights), {"x": (1, 3, 6, 6)}, 0.1)
    assert kinds(lowered) == [OpKind.CONV_2D, OpKind.FULLY_CONNECTED]


JUMPS = [node("Round", "x_dq", "t"), node("Floor", "x_dq", "t"), node("Ceil", "x_dq", "t"),
         node("Shrink", "x_dq", "t", lambd=0.5), node("Shrink", "x_dq", "t", lambd=1.2, bias=0.7),
         node("ThresholdedRelu", "x_dq", "t", alpha=0.5)]


@pytest.mark.parametrize("scale", [0.02, 0.1, 0.3, 0.7])
@pytest.mark.parametrize("jump", JUMPS, ids=lambda jump: jump.op_type)
def test_steps_lie_where_real_values_in_float32_put_them(jump: onnx.NodeProto, scale: float) -> None:
    """0.1 times 5 is 0.5 in float32 and more than that in double; Round makes 0 of the one and 1 of the other."""
    q = Quantiser()
    nodes = [node("DequantizeLinear", "x s z", "x_dq"), jump]
    last = q.pair("t", 0.05, 3)
    model = make([*nodes, *q.nodes, node("Identity", last, "y")], {"x": (1, 256)}, ["y"],
                 q.weights | {"s": np.float32(scale), "z": np.int8(-7)}, types={"x": onnx.TensorProto.INT8})
    x = {"x": np.arange(-128, 128).astype(np.int8)[np.newaxis]}
    with Session(compile_model(model)) as session:
        np.testing.assert_allclose(session.run(x)["y"], ort(model, x)["y"], atol=0.051)

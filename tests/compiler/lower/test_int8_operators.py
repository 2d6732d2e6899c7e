"""Quantised operators: within one step of onnxruntime, exact where no rounding differs, and of the
intended kernels.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper

from tests.compiler.lower.compare import Constant, Shape, check, kinds, noise, outputs, quantised
from tests.compiler.models import Quantiser, make, node, ort
from tests.harness.tiers import examples
from tigris_pio import compile_model
from tigris_pio.compiler.ir.program import Program
from tigris_pio.format.enums import DType, OpKind

RANDOM = np.random.default_rng(11)
IMAGE = (1, 3, 4, 5)
X, A, B = (0.02, 3), (0.02, 3), (0.011, -20)  # scales and zero points


def integers(*shape: int) -> np.ndarray:
    return RANDOM.integers(-127, 128, shape).astype(np.int8)


def compared(nodes: Sequence[onnx.NodeProto], inputs: Mapping[str, tuple[Shape, float, int]], out: tuple[float, int],
             constants: Mapping[str, Constant] | None = None, unsigned: bool = False) -> tuple[Program, list[OpKind]]:
    """The program, and its operators' kinds, of nodes whose results are within a step of onnxruntime's."""
    compiled = check(quantised(nodes, inputs, out, constants, unsigned),
                     {name: noise(*shape) for name, (shape, *_) in inputs.items()}, rtol=0, atol=1.001 * out[0])
    return compiled.plan.program, kinds(compiled)


@pytest.mark.parametrize(("shape", "weights", "attributes", "activation", "unsigned"), [
    ((1, 3, 8, 7), (6, 3, 3, 3), {"pads": [0, 1, 2, 1], "strides": [2, 1]}, "Relu", False),
    ((1, 3, 8, 7), (6, 3, 3, 3), {"pads": [0, 1, 2, 1], "strides": [2, 1]}, "", True),
    ((1, 6, 8, 7), (6, 1, 3, 3), {"group": 6, "pads": [1, 1, 1, 1]}, "Clip", True),
    ((1, 6, 8, 7), (4, 3, 3, 3), {"group": 2, "dilations": [2, 1]}, "", False),
    ((2, 3, 8, 7), (4, 3, 1, 1), {}, "Clip", False),
    ((1, 4, 16), (8, 4, 5), {"pads": [2, 2]}, "Relu", True),
])
def test_conv(shape: Shape, weights: Shape, attributes: dict[str, object], activation: str, unsigned: bool) -> None:
    scales = np.abs(noise(weights[0])) * 0.01 + 0.002
    constants: dict[str, Constant] = {"w": (integers(*weights), scales, 0),
                                      "b": (RANDOM.integers(-3000, 3000, weights[0]).astype(np.int32),
                                            np.float32(0.02) * scales, 0)}
    constants |= {"lo": np.float32(0), "hi": np.float32(6)} if activation == "Clip" else {}
    nodes = [node("Conv", "x w b", "c", **attributes)]
    nodes += [node(activation, "c lo hi" if activation == "Clip" else "c", "a")] if activation else []
    found, _ = compared(nodes, {"x": (shape, *X)}, (0.05, -10), constants, unsigned=unsigned)
    (op,) = found.ops
    assert op.dtype == DType.INT8
    low, high = {"": (-128, 127), "Relu": (-10, 127), "Clip": (-10, 110)}[activation]
    assert (op.params.activation_min, op.params.activation_max) == (low, high)


@pytest.mark.parametrize(("per_channel", "bias"), [(False, "int32"), (True, "int32"), (True, "float"), (False, "")])
def test_gemm(per_channel: bool, bias: str) -> None:
    scale = (np.abs(noise(5)) * 0.01 + 0.001).astype(np.float32) if per_channel else np.float32(0.004)
    constants: dict[str, Constant] = {"w": (integers(5, 12), scale, 0)}
    if bias:
        whole = (RANDOM.integers(-999, 999, 5).astype(np.int32), np.float32(0.03) * scale, 0)
        constants["b"] = whole if bias == "int32" else noise(5) * np.float32(0.2)
    found, kind = compared([node("Gemm", "x w b" if bias else "x w", "g", transB=1)], {"x": ((1, 12), 0.03, -4)},
                           (0.06, 7), constants)
    assert kind == [OpKind.FULLY_CONNECTED] and found.ops[0].params.requantise_step == per_channel


def test_matmul_with_per_column_scales_and_transposed_constant() -> None:
    """torch exports Linear as DequantizeLinear -> Transpose -> MatMul."""
    nodes = [node("Transpose", "w", "wt", perm=[1, 0]), node("MatMul", "x wt", "m")]
    found, kind = compared(nodes, {"x": ((3, 10), 0.03, 5)}, (0.1, 0), {"w": (integers(6, 10), np.full(6, 0.01), 0)})
    assert kind == [OpKind.FULLY_CONNECTED] and found.ops[0].params.rows == 3


@pytest.mark.parametrize(("op", "names", "shape"), [
    ("Add", "x c", ()), ("Add", "c x", (3, 1, 1)), ("Sub", "x c", (3, 1, 1)), ("Sub", "c x", ()),
    ("Mul", "x c", (3, 1, 1)), ("Mul", "c x", (1, 1, 4, 5)), ("Div", "x c", ()), ("Div", "x c", (3, 1, 1)),
])
def test_binary_with_a_float_constant(op: str, names: str, shape: Shape) -> None:
    found, _ = compared([node(op, names, "s")], {"x": (IMAGE, *X)}, (0.05, -6), {"c": noise(*shape) + np.float32(1.5)})
    assert shape == (1, 1, 4, 5) or [op.dtype for op in found.ops] == [DType.INT8]


def test_add_of_a_quantised_constant() -> None:
    found, kind = compared([node("Add", "x c", "s")], {"x": (IMAGE, *X)}, (0.03, 0), {"c": (integers(*IMAGE), 0.01, 0)})
    assert kind == [OpKind.ADD]
    constants = [tensor for tensor in found.tensors.values() if tensor.constant is not None]
    assert [(tensor.dtype, tensor.constant.shape) for tensor in constants] == [(DType.INT8, (1, 4, 5, 3))]


WINDOW = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}


@pytest.mark.parametrize(("op", "shapes", "attributes", "out", "found"), [
    *(("AveragePool", {"x": ((1, 3, 6, 6), *X)}, WINDOW | more, out, [OpKind.AVERAGE_POOL])
      for more, out in (({}, X), ({}, (0.013, -5)), ({"count_include_pad": 1}, X))),
    *((op, {"a": (first, *A), "b": (second, *B)}, {}, (0.04, -6), [OpKind[op.upper()]])
      for op, first, second in (("Add", IMAGE, (1, 3, 1, 1)), ("Sub", (3, 1, 1), IMAGE), ("Mul", IMAGE, (1, 3, 1, 1)))),
    *((op, {"x": (IMAGE, *X)}, {}, (0.03, -20), [OpKind.LOOKUP]) for op in ("Relu", "Sigmoid", "Elu", "Erf")),
    ("MaxPool", {"x": ((1, 3, 6, 6), *X)}, {"kernel_shape": [2, 2]}, (0.03, -5), [OpKind.MAX_POOL, OpKind.LOOKUP]),
    ("Softmax", {"x": ((4, 10), 0.05, 3)}, {}, (1 / 256, -128), [OpKind.SOFTMAX]),
    ("Softmax", {"x": ((4, 10), 0.05, 3)}, {}, (1 / 200, -100), [OpKind.SOFTMAX, OpKind.LOOKUP]),
    ("Concat", {"a": ((1, 3, 4, 4), *X), "b": ((1, 2, 4, 4), *X)}, {"axis": 1}, X, [OpKind.CONCAT]),
    ("Concat", {"a": ((1, 3, 4, 4), *X), "b": ((1, 2, 4, 4), 0.03, 3)}, {"axis": 1}, X,
     [OpKind.LOOKUP, OpKind.CONCAT]),
])
def test_one_node(op: str, shapes: dict[str, tuple[Shape, float, int]],
                  attributes: dict[str, object], out: tuple[float, int], found: list[OpKind]) -> None:
    assert compared([node(op, " ".join(shapes), "r", **attributes)], shapes, out)[1] == found


def test_softmax_with_float_output_runs_in_float() -> None:
    q = Quantiser()
    q.add(node("Softmax", q.pair("x", 0.05, 3), "y"))
    compiled = check(make(q.nodes, {"x": (1, 10)}, ["y"], q.weights), {"x": noise(1, 10)})
    assert kinds(compiled) == [OpKind.DEQUANTIZE, OpKind.SOFTMAX]


def test_float_island_between_quantised_operators() -> None:
    """An operator whose output nobody quantises computes in float32; its neighbours stay int8."""
    _, kind = compared([node("Sigmoid", "x", "s"), node("Mul", "s v", "m")],
                       {"x": (IMAGE, *X), "v": (IMAGE, 0.02, 0)}, (0.02, 0))
    assert sorted(kind) == sorted([OpKind.DEQUANTIZE, OpKind.UNARY, OpKind.DEQUANTIZE, OpKind.MUL, OpKind.QUANTIZE])


def test_value_needed_rounded_and_unrounded() -> None:
    """Two pairs with different scales behind one Tanh: a table each."""
    q = Quantiser()
    q.add(node("Tanh", q.pair("x", 0.02, 3), "s"))
    q.weights |= {"f": np.array(0.01, np.float32), "g": np.array(0.02, np.float32), "z": np.array(0, np.int8)}
    q.add(node("QuantizeLinear", "s f z", "s1"), node("DequantizeLinear", "s1 f z", "y"),
          node("QuantizeLinear", "s g z", "s2"), node("DequantizeLinear", "s2 g z", "w"))
    compiled = check(make(q.nodes, {"x": (1, 8)}, ["y", "w"], q.weights), {"x": noise(1, 8)}, rtol=0, atol=0.01001)
    assert kinds(compiled) == [OpKind.LOOKUP, OpKind.LOOKUP]


def test_asymmetric_weights_of_a_transposed_convolution_are_quantised_again() -> None:
    q = Quantiser(True)
    source = q.pair("x", 0.02, 3)
    q.weights |= {"w_q": RANDOM.integers(0, 256, (3, 4, 3, 3)).astype(np.uint8), "w_s": np.array(0.01, np.float32),
                  "w_z": np.array(97, np.uint8)}
    q.add(node("DequantizeLinear", "w_q w_s w_z", "w"), node("ConvTranspose", f"{source} w", "c"))
    q.add(node("Identity", q.pair("c", 0.2, 0), "y"))
    compiled = check(make(q.nodes, {"x": (1, 3, 6, 6)}, ["y"], q.weights), {"x": noise(1, 3, 6, 6)}, rtol=0, atol=0.401)
    assert kinds(compiled) == [OpKind.TRANSPOSE_CONV]
    assert any("asymmetric" in warning for warning in compiled.plan.program.warnings)


def test_dead_channels_get_multiplier_zero() -> None:
    """Scales far below 2^-32 of the output's: the channel is its bias's rounding to zero."""
    scales = np.array([0.01, 9e-12], np.float32)
    constants = {"w": (np.full((2, 1, 1, 1), 100, np.int8), scales, 0),
                 "b": (np.array([10, 2**31 - 1], np.int32), np.float32(0.02) * scales, 0)}
    found, _ = compared([node("Conv", "x w b", "c")], {"x": ((1, 1, 4, 4), *X)}, (0.05, 4), constants)
    assert found.ops[0].blobs["multiplier"][1] == 0 and found.ops[0].blobs["shift"][1] == 0


def test_flatten_and_reshape_between_pairs_are_free() -> None:
    q = Quantiser()
    source = q.pair("x", 0.02, 3)
    q.add(node("Conv", f"{source} {q.constant('w', integers(4, 3, 3, 3), np.full(4, 0.005))}", "c"))
    q.add(node("Flatten", q.pair("c", 0.05, 0), "f"))
    flat, matrix = q.pair("f", 0.05, 0), q.constant("m", integers(5, 64), 0.003)
    q.add(node("Gemm", f"{flat} {matrix}", "g", transB=1), node("Identity", q.pair("g", 0.1, 0), "y"))
    compiled = check(make(q.nodes, {"x": (1, 3, 6, 6)}, ["y"], q.weights), {"x": noise(1, 3, 6, 6)}, rtol=0,
                     atol=0.1001)
    assert kinds(compiled) == [OpKind.CONV_2D, OpKind.FULLY_CONNECTED]


@pytest.mark.parametrize("scale", [0.1, 0.3, 0.7])
@pytest.mark.parametrize(("op", "attributes"), [
    ("Round", {}), ("Floor", {}), ("Ceil", {}), ("Shrink", {"lambd": 0.5}), ("Shrink", {"lambd": 1.2, "bias": 0.7}),
    ("ThresholdedRelu", {"alpha": 0.5})])
def test_steps_lie_where_real_values_in_float32_put_them(op: str, attributes: dict[str, object], scale: float) -> None:
    """0.1 times 5 is 0.5 in float32 and more than that in double; Round makes 0 of the one and 1 of the other."""
    q = Quantiser()
    nodes = [node("DequantizeLinear", "x s z", "x_dq"), node(op, "x_dq", "t", **attributes)]
    last = q.pair("t", 0.05, 3)
    model = make([*nodes, *q.nodes, node("Identity", last, "y")], {"x": (1, 256)}, ["y"],
                 q.weights | {"s": np.float32(scale), "z": np.int8(-7)}, types={"x": onnx.TensorProto.INT8})
    x = {"x": np.arange(-128, 128).astype(np.int8)[np.newaxis]}
    np.testing.assert_allclose(outputs(compile_model(model), x)["y"], ort(model, x)["y"], atol=0.051)


# LayerNormalization and its relatives in int8: one operator, within a step of the exact value, whatever the bands.

INPUT_SCALE, INPUT_ZERO = 0.04, 11


def exact(op: str, x: np.ndarray, axes: tuple[int, ...], epsilon: float) -> np.ndarray:
    """Standardised along `axes`, float64."""
    centred = x if op == "RMSNormalization" else x - x.mean(axes, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(centred / np.sqrt((centred**2).mean(axes, keepdims=True) + epsilon))


def model(op: str, shape: Shape, factor: np.ndarray, offset: np.ndarray, scale: float, zero: int,
          **attributes: object) -> onnx.ModelProto:
    terms = {"factor": factor.astype(np.float32), "offset": offset.astype(np.float32)}
    if op == "RMSNormalization":
        del terms["offset"]
    made = quantised([node(op, " ".join(["x", *terms]), "n", **attributes)], {"x": (shape, INPUT_SCALE, INPUT_ZERO)},
                     (scale, zero), terms, opset=23)
    made.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, shape))
    made.ir_version = 10
    return made


def values(shape: Shape, kind: str) -> np.ndarray:
    """int8 inputs: anything, the ends of the range, all but the same, all the same."""
    random = np.random.default_rng(7)
    q = random.integers(-128, 128, shape)
    if kind == "ends":
        q = random.choice([-128, 127], shape)
    elif kind == "one":
        q = np.full(shape, 40)
        q.reshape(-1)[:: max(2, q.size // 3)] = 41
    elif kind == "same":
        q = np.full(shape, -128)
    return ((q - INPUT_ZERO) * np.float32(INPUT_SCALE)).astype(np.float32)


CASES: dict[str, tuple[str, Shape, tuple[int, ...], dict[str, object]]] = {
    "layer": ("LayerNormalization", (1, 7, 32), (2,), {}),
    "layer_one_row": ("LayerNormalization", (3, 33), (1,), {}),
    "layer_long": ("LayerNormalization", (2, 1500), (1,), {"epsilon": 1e-3}),
    "layer_two_axes": ("LayerNormalization", (2, 3, 4, 5), (2, 3), {"axis": 2}),
    "layer_image": ("LayerNormalization", (1, 3, 4, 5), (1, 2, 3), {"axis": 1}),
    "layer_single": ("LayerNormalization", (4, 1), (1,), {}),
    "layer_no_epsilon": ("LayerNormalization", (1, 9, 16), (2,), {"epsilon": 0.0}),
    "layer_large_epsilon": ("LayerNormalization", (1, 9, 16), (2,), {"epsilon": 30.0}),
    "rms": ("RMSNormalization", (1, 7, 24), (2,), {"axis": -1, "epsilon": 1e-5}),
    "instance": ("InstanceNormalization", (2, 5, 6, 7), (2, 3), {}),
    "instance_1d": ("InstanceNormalization", (1, 6, 40), (2,), {}),
    "instance_wide": ("InstanceNormalization", (1, 1, 300, 300), (2, 3), {}),
    "group": ("GroupNormalization", (2, 6, 5, 4), (2, 3, 4), {"num_groups": 3}),
    "group_all": ("GroupNormalization", (1, 6, 5, 4), (2, 3, 4), {"num_groups": 1}),
}


@pytest.mark.parametrize("kind", ["any", "ends", "one", "same"])
@pytest.mark.parametrize("name", CASES)
def test_within_one_step(name: str, kind: str) -> None:
    """Half a step is what rounding takes of it."""
    op, shape, axes, attributes = CASES[name]
    random = np.random.default_rng(3)
    terms = shape[axes[0] :] if op in ("LayerNormalization", "RMSNormalization") else (shape[1],)
    factor, offset = random.uniform(-1.5, 1.5, terms), random.uniform(-1, 1, terms) * (op != "RMSNormalization")
    compiled = compile_model(model(op, shape, factor, offset, 0.03, -20, **attributes))
    assert set(kinds(compiled)) - {OpKind.TRANSPOSE} == {OpKind.NORMALISE} and not compiled.report["warnings"]
    x = values(shape, kind)
    split = x.astype(np.float64)
    if op == "GroupNormalization":
        split = split.reshape(shape[0], int(str(attributes["num_groups"])), -1, *shape[2:])
    result = exact(op, split, axes, float(str(attributes.get("epsilon", 1e-5)))).reshape(shape)
    column = terms if len(axes) + axes[0] == len(shape) and op[0] in "LR" else (-1, *(1,) * (len(shape) - 2))
    result = result * factor.astype(np.float32).reshape(column) + offset.astype(np.float32).reshape(column)
    steps = np.clip(result / np.float32(0.03) - 20, -128, 127) + 20
    assert np.abs(outputs(compiled, {"x": x})["y"] / np.float32(0.03) - steps).max() <= 0.55


@settings(max_examples=examples(15, 40), deadline=None)
@given(st.integers(1, 300), st.floats(1e-3, 2.0), st.floats(1e-3, 50.0), st.floats(0.0, 0.1), st.integers(-128, 127))
def test_any_scales(length: int, scale: float, largest: float, epsilon: float, zero: int) -> None:
    random = np.random.default_rng(length)
    factor, offset = random.uniform(-largest, largest, length), random.uniform(-largest, largest, length)
    compiled = compile_model(model("LayerNormalization", (3, length), factor, offset, scale, zero, epsilon=epsilon))
    x = values((3, length), "any")
    result = exact("", x.astype(np.float64), (1,), epsilon) * factor.astype(np.float32) + offset.astype(np.float32)
    steps = np.clip(result / np.float32(scale) + zero, -128, 127) - zero
    assert np.abs(outputs(compiled, {"x": x})["y"] / np.float32(scale) - steps).max() <= 0.6


def test_factors_that_are_computed_stay_float() -> None:
    nodes = [node("ReduceMax", "x axes", "m", keepdims=0), node("LayerNormalization", "x m", "n")]
    made = quantised(nodes, {"x": ((1, 4, 8), 0.05, 0)}, (0.05, 0), {"axes": np.array([0, 1])}, opset=18)
    assert OpKind.NORMALISE not in kinds(compile_model(made))

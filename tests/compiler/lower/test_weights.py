"""Weights: exact sums with zero points, warnings that give the loss of precision in numbers, and no NaN or infinity."""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from tests.compiler.lower.compare import Shape, check, outputs
from tests.compiler.models import Quantiser, make, node, ort, program
from tests.runtime import references
from tests.tflite.compare import plans
from tests.tflite.writer import RELU6, SAME, VALID, Operator, Tensor, constant, write
from tigris_pio import compile_model
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import Front, front
from tigris_pio.errors import ModelError
from tigris_pio.format.enums import DType, OpKind

RANDOM = np.random.default_rng(23)
LOSS = re.compile(r"by up to ([\d.]+) and on average ([\d.]+) of their steps, outputs by some ([\d.]+) steps and at "
                  r"worst (\d+);")


def layer(op: str, weights: np.ndarray, scale: np.ndarray | float, zero: np.ndarray | int, axis: int = 0,
          quantised_output: bool = True) -> onnx.ModelProto:
    """A layer between int8 tensors; weights of any type, scales and zero points."""
    q = Quantiser()
    source = q.pair("x", 0.02, 3)
    q.weights |= {"w_q": weights, "w_s": np.asarray(scale, np.float32), "w_z": np.asarray(zero, weights.dtype)}
    axes = {"axis": axis} if np.ndim(scale) else {}
    q.add(node("DequantizeLinear", "w_q w_s w_z", "w", **axes), node(op, f"{source} w", "c", "layer"))
    shape = (1, 16) if op in ("Gemm", "MatMul") else (1, 16, 5, 5)
    if quantised_output:
        q.add(node("Identity", q.pair("c", 0.2, -3), "y"))
        return make(q.nodes, {"x": shape}, ["y"], q.weights)
    return make(q.nodes, {"x": shape}, ["c"], q.weights)


def integers(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    low = 0 if dtype == "uint8" else -128
    return RANDOM.integers(low, low + 256, shape).astype(dtype)


def losses(lowered: Program) -> tuple[float, ...]:
    (warning,) = lowered.warnings
    found = LOSS.search(warning)
    assert found is not None and warning.startswith("node layer: weights w "), warning
    return tuple(map(float, found.groups()))


@pytest.mark.parametrize(("dtype", "zero"), [("uint8", 200), ("uint8", 90), ("int8", 20), ("int8", -128)])
def test_the_loss_of_asymmetric_weights_is_said(dtype: str, zero: int) -> None:
    """The loss is given in steps of the weights, computed here from their definition, and of the output, measured."""
    values = integers((16, 8, 1, 1), dtype)
    model = layer("ConvTranspose", values, 0.01, zero)
    lowered = program(model)
    largest, mean, usual, worst = losses(lowered)
    real = np.moveaxis(values.astype(np.float64) - zero, 1, 0).reshape(8, -1)
    scales = np.abs(real).max(axis=1, keepdims=True) / 127
    fits = (real.min(axis=1, keepdims=True) >= -128) & (real.max(axis=1, keepdims=True) <= 127)
    expected = np.where(fits, 0, np.abs(np.rint(real / scales) * scales - real))
    assert abs(largest - expected.max()) < 0.02 and abs(mean - expected.mean()) < 0.01
    inputs = {"x": RANDOM.uniform(-2.5, 2.4, (1, 16, 5, 5)).astype(np.float32)}
    lowered_output, exact = outputs(compile_model(model), inputs)["y"], ort(model, inputs)["y"]
    inside = np.abs(exact / 0.2 - 3) < 124
    steps = np.abs(lowered_output - exact)[inside] / 0.2
    assert 0 < usual < 3 and steps.max() <= worst + 1


def test_the_loss_of_weights_scaled_along_an_inner_axis_is_said() -> None:
    values = integers((8, 16, 1, 1), "int8")
    lowered = program(layer("Conv", values, np.linspace(0.001, 0.02, 16), np.zeros(16), axis=1))
    largest, mean, usual, worst = losses(lowered)
    assert "8 of 8 output channels" in lowered.warnings[0] and 0 < mean < largest and usual < worst


@pytest.mark.parametrize(("op", "shape"), [("Conv", (8, 16, 1, 1)), ("Gemm", (16, 8)), ("MatMul", (16, 8)),
                                           ("ConvTranspose", (16, 8, 1, 1))])
def test_int8_weights_in_float_are_said(op: str, shape: tuple[int, ...]) -> None:
    lowered = program(layer(op, integers(shape, "int8"), 0.01, 3, quantised_output=False))
    assert [op.dtype for op in lowered.ops if op.name == "layer"] == [DType.FLOAT32]
    (warning,) = lowered.warnings
    assert warning.startswith("node layer: runs in float32 although its weights are int8, because c is not quantised")
    assert "QuantizeLinear and DequantizeLinear there" in warning
    assert not program(layer(op, integers(shape, "int8"), 0.01, 0)).warnings


WINDOWS = {"pads": [1, 0, 2, 1], "strides": [2, 1], "dilations": [1, 2]}


@pytest.mark.parametrize("bias", ["int32", "float", ""])
@pytest.mark.parametrize(("op", "shape", "given", "attributes"), [
    ("Conv", (6, 4, 3, 3), (2, 4, 9, 8), WINDOWS), ("Conv", (6, 4, 1, 1), (1, 4, 5, 3), {}),
    ("Conv", (6, 4, 1, 3), (1, 4, 5, 6), {"auto_pad": "SAME_UPPER"}), ("Gemm", (6, 36), (1, 36), {"transB": 1}),
    ("Gemm", (36, 6), (5, 36), {"alpha": 0.5}), ("MatMul", (12, 6), (2, 3, 12), {})])
def test_results_that_nobody_quantised_are_sums_times_scales(op: str, shape: tuple[int, ...], given: tuple[int, ...],
                                                             attributes: dict[str, Any], bias: str) -> None:
    q, axis = Quantiser(), 0 if op == "Conv" or "transB" in attributes else len(shape) - 1
    scales = np.linspace(0.005, 0.02, 6)
    names = [q.pair("x", 0.05, -20), q.constant("w", integers(shape, "int8"), scales, axis)]
    if bias == "int32" and op != "MatMul":
        names.append(q.constant("b", np.arange(-300, 300, 100, dtype=np.int32),
                                (np.float32(0.05) * scales.astype(np.float32)) * attributes.get("alpha", 1.0)))
    elif bias and op != "MatMul":
        q.weights["b"] = np.linspace(-1, 1, 6, dtype=np.float32)
        names.append("b")
    q.add(node(op, " ".join(names), "c", **attributes), node("Relu", "c", "y"))
    model = make(q.nodes, {"x": given}, ["y"], q.weights)
    compiled = check(model, {"x": RANDOM.normal(0, 2, given).astype(np.float32)}, rtol=1e-5, atol=1e-5)
    assert [item.dtype for item in compiled.plan.program.ops if item.kind is OpKind.FULLY_CONNECTED] == [DType.INT32]
    assert not compiled.report["warnings"]


def diverged(op: str, bad: str, value: float) -> onnx.ModelProto:
    shapes = {
        "Conv": {"w": (4, 3, 3, 3), "b": (4,)}, "ConvTranspose": {"w": (3, 4, 2, 2), "b": (4,)},
        "BatchNormalization": {"w": (3,), "b": (3,), "m": (3,), "v": (3,)},
        "Gemm": {"w": (8, 4), "b": (4,)}, "MatMul": {"w": (8, 4)}, "Add": {"w": (3, 1, 1)},
        "LayerNormalization": {"w": (8,), "b": (8,)}, "Where": {"w": (1, 3, 8, 8)},
    }[op]
    weights = {name: np.ones(shape, np.float32) for name, shape in shapes.items()}
    weights[bad].reshape(-1)[1:3] = value
    names = " ".join(weights)
    if op == "Where":
        weights["c"] = np.array(True)
        names = "c x w"
    nodes = [node(op, names if op == "Where" else f"x {names}", "r", "culprit"), node("Relu", "r", "y")]
    return make(nodes, {"x": (1, 8) if op in ("Gemm", "MatMul") else (1, 3, 8, 8)}, ["y"], weights)


@pytest.mark.parametrize(("op", "bad"), [
    ("Conv", "w"), ("ConvTranspose", "w"), ("BatchNormalization", "v"), ("Gemm", "b"), ("Add", "w"),
    ("LayerNormalization", "b"), ("Where", "w"),
])
def test_nan_in_constants_is_refused(op: str, bad: str) -> None:
    text = rf"node culprit \({op}\): constant {bad} holds 2 NaN of \d+ elements; export the model again"
    with pytest.raises(ModelError, match=text):
        compile_model(diverged(op, bad, float("nan")))


@pytest.mark.parametrize(("op", "value"), [("Conv", float("inf")), ("MatMul", -float("inf"))])
def test_infinite_weights_are_refused(op: str, value: float) -> None:
    with pytest.raises(ModelError, match=r"node culprit .*: constant w holds 2 infinite of"):
        compile_model(diverged(op, "w", value))


def test_infinite_masks_and_bounds_are_not() -> None:
    for op in ("Add", "Where"):
        compile_model(diverged(op, "w", -float("inf")))


# int8 and uint8 weights with zero points: sums of (q - zero) * (w - zero) to the last bit, at any budget.

X, Y = (0.031, 77), (0.17, 120)  # scale and zero point, uint8


@dataclasses.dataclass(frozen=True)
class Layer:
    """An ONNX layer on an input [N, C, H, W] or [rows, inputs]."""

    op: str
    shape: Shape
    weights: Shape
    kind: OpKind
    attributes: Mapping[str, object]

    @property
    def axis(self) -> int:
        """The axis of the output channels in the weights."""
        return 0 if self.op == "Conv" else len(self.weights) - 1


def asymmetric(op: str, shape: Shape, weights: Shape, kind: OpKind = OpKind.ASYMMETRIC_CONV_2D,
          **attributes: object) -> Layer:
    return Layer(op, shape, weights, kind, attributes)


DEPTHWISE, FULL = OpKind.ASYMMETRIC_DEPTHWISE_CONV_2D, OpKind.ASYMMETRIC_FULLY_CONNECTED
LAYERS = {
    "pointwise": asymmetric("Conv", (1, 16, 5, 7), (9, 16, 1, 1)),
    "padded": asymmetric("Conv", (1, 3, 9, 8), (6, 3, 3, 3), pads=[1, 0, 1, 2], strides=[2, 1]),
    "many taps and channels": asymmetric("Conv", (1, 13, 6, 5), (30, 13, 3, 3), pads=[1] * 4),
    "groups": asymmetric("Conv", (2, 6, 6, 5), (8, 3, 3, 2), group=2, dilations=[2, 1]),
    "depthwise": asymmetric("Conv", (1, 11, 9, 8), (11, 1, 3, 3), DEPTHWISE, group=11, pads=[1] * 4),
    "multiplier": asymmetric("Conv", (1, 4, 7, 8), (8, 1, 3, 2), DEPTHWISE, group=4, strides=[2, 2], pads=[0, 1, 1, 0]),
    "one row": asymmetric("MatMul", (1, 70), (70, 11), FULL), "rows": asymmetric("MatMul", (5, 37), (37, 34), FULL),
    "Gemm": asymmetric("Gemm", (3, 16), (16, 8), FULL),
}
ZEROS = {"uint8": 200, "int8": -100}


def model(of: Layer, dtype: str, per_channel: bool) -> tuple[onnx.ModelProto, np.ndarray, np.ndarray, np.ndarray]:
    """The model, and its weights, their zero points and scales."""
    limits, count = np.iinfo(dtype), of.weights[of.axis]
    weights = RANDOM.integers(limits.min, limits.max, of.weights, endpoint=True).astype(dtype)
    zeros = RANDOM.integers(limits.min, limits.max, count, endpoint=True) if per_channel else np.array(ZEROS[dtype])
    scales = (np.linspace(0.002, 0.009, count) if per_channel else np.array(0.004)).astype(np.float32)
    constants = {"w": weights, "ws": scales, "wz": zeros.astype(dtype), "xs": np.float32(X[0]), "xz": np.uint8(X[1]),
                 "ys": np.float32(Y[0]), "yz": np.uint8(Y[1])}
    axes = {"axis": of.axis} if per_channel else {}
    nodes = [node("DequantizeLinear", "x xs xz", "xd"), node("DequantizeLinear", "w ws wz", "wd", **axes),
             node(of.op, "xd wd", "r", **of.attributes), node("QuantizeLinear", "r ys yz", "y")]
    types = {"x": TensorProto.UINT8, "y": TensorProto.UINT8}
    return make(nodes, {"x": of.shape}, ["y"], constants, types=types), weights, zeros, scales


def _sums(op: str, x: np.ndarray, weights: np.ndarray, **attributes: object) -> np.ndarray:
    """Sums of products of integers without zero points, by onnxruntime: exact, because they stay below 2^24."""
    exact = make([node(op, "x w", "s", **attributes)], {"x": x.shape}, ["s"], {"w": weights.astype(np.float32)})
    sums = ort(exact, {"x": x.astype(np.float32)})["s"].astype(np.int64)
    assert np.abs(sums).max() < 1 << 24
    return sums


def _requantised(sums: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """TensorFlow Lite's requantisation of sums; their last axis is the channels."""
    reals = np.broadcast_to(scales.astype(np.float64), sums.shape[-1:]) * float(np.float32(X[0]))
    factors = [references.quantised_multiplier(float(real)) for real in reals / float(np.float32(Y[0]))]
    return references.requantise(sums, *map(np.array, zip(*factors, strict=True))) + Y[1]


def _same(start: Front, x: np.ndarray, expected: np.ndarray) -> None:
    for compiled in plans(start):
        np.testing.assert_array_equal(outputs(compiled, {"x": x})["y"], expected)


@pytest.mark.parametrize(("dtype", "per_channel"), [("uint8", False), ("int8", True)])
@pytest.mark.parametrize("name", LAYERS)
def test_sums_are_exact(name: str, dtype: str, per_channel: bool) -> None:
    of = LAYERS[name]
    built, weights, zeros, scales = model(of, dtype, per_channel)
    x = RANDOM.integers(0, 256, of.shape).astype(np.uint8)
    start = front(built, CompileOptions())
    assert [op.kind for op in start.program.ops if op.kind.name.startswith("ASYMM")] == [of.kind]
    assert not start.program.warnings
    column = zeros.reshape([-1 if axis == of.axis else 1 for axis in range(len(of.weights))])
    channel = 1 if of.op == "Conv" else -1
    sums = _sums(of.op, x.astype(int) - X[1], weights.astype(int) - column, **of.attributes)
    expected = np.moveaxis(_requantised(np.moveaxis(sums, channel, -1), scales), -1, channel)
    _same(start, x, np.clip(expected, 0, 255))


def test_what_fits_without_zero_points_needs_no_sums() -> None:
    built, *_ = model(LAYERS["pointwise"], "int8", False)
    for item in built.graph.initializer:
        if item.name == "w":
            item.raw_data = (np.frombuffer(item.raw_data, np.int8) // 8 - 100).astype(np.int8).tobytes()
    assert OpKind.CONV_2D in {op.kind for op in front(built, CompileOptions()).program.ops}


@pytest.mark.parametrize(("op", "weights", "out", "padding"), [
    ("CONV_2D", (7, 3, 3, 4), (1, 6, 5, 7), SAME), ("DEPTHWISE_CONV_2D", (1, 3, 3, 8), (1, 4, 3, 8), VALID),
    ("FULLY_CONNECTED", (6, 60), (2, 6), VALID)])
def test_old_uint8_networks(op: str, weights: Shape, out: Shape, padding: int) -> None:
    """A .tflite file whose tensors are all uint8, with a bias and a fused activation."""
    values = RANDOM.integers(0, 256, weights).astype(np.uint8)
    bias = RANDOM.integers(-900, 900, out[-1]).astype(np.int32)
    full, scale = op == "FULLY_CONNECTED", np.array(0.0041, np.float32)
    x = RANDOM.integers(0, 256, (2, 60) if full else (1, 6, 5, 4)).astype(np.uint8)
    options = {"fusedActivationFunction": RELU6} | ({} if full else {"strideH": 1, "strideW": 1, "padding": padding})
    options |= {"depthMultiplier": 2} if op[0] == "D" else {}
    tensors = [Tensor("x", x.shape, "uint8", *X), constant("w", values, 0.0041, 151),
               constant("b", bias, X[0] * 0.0041), Tensor("y", out, "uint8", *Y)]
    start = front(write(tensors, [Operator(op, ["x", "w", "b"], ["y"], options)], ["x"], ["y"]), CompileOptions())
    real, matrix = x.astype(int) - X[1], values.astype(int) - 151
    if full:
        sums = _sums("MatMul", real, matrix.T)
    else:
        window = {"auto_pad": "SAME_UPPER" if padding == SAME else "VALID", "group": 4 if op[0] == "D" else 1}
        order = (3, 0, 1, 2) if op[0] == "D" else (0, 3, 1, 2)
        sums = _sums("Conv", real.transpose(0, 3, 1, 2), matrix.transpose(order), **window).transpose(0, 2, 3, 1)
    _same(start, x, np.clip(_requantised(sums + bias, scale), Y[1], min(255, Y[1] + round(6 / Y[0]))))


@pytest.mark.parametrize("window", [(3, 2, VALID), (2, 2, SAME), (9, 8, VALID)])
def test_old_uint8_pools(window: tuple[int, int, int]) -> None:
    """Means of uint8 round halves up, where those of int8 round them away from zero."""
    height, width, padding = window
    size = (9 // height, 8 // width) if padding == VALID else (5, 4)
    tensors = [Tensor("x", (1, 9, 8, 6), "uint8", *X), Tensor("y", (1, *size, 6), "uint8", *X)]
    options = {"strideH": height, "strideW": width, "filterHeight": height, "filterWidth": width, "padding": padding}
    start = front(write(tensors, [Operator("AVERAGE_POOL_2D", ["x"], ["y"], options)], ["x"], ["y"]), CompileOptions())
    x = RANDOM.integers(0, 256, (1, 9, 8, 6)).astype(np.uint8)
    expected = np.empty((1, *size, 6), np.uint8)
    for row, column in np.ndindex(*size):
        taps = x[0, row * height : (row + 1) * height, column * width : (column + 1) * width].astype(np.int64)
        count = taps.shape[0] * taps.shape[1]
        expected[0, row, column] = (taps.sum(axis=(0, 1)) + count // 2) // count
    _same(start, x, expected)

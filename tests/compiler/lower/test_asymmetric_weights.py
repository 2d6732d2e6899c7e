"""int8 and uint8 weights with zero points: sums of (q - zero) * (w - zero) to the last bit, at any budget."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from tests.compiler.lower.compare import outputs
from tests.compiler.models import make, node, ort
from tests.runtime import references
from tests.tflite.compare import plans
from tests.tflite.writer import RELU6, SAME, VALID, Operator, Tensor, constant, write
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import Front, front
from tigris_pio.format.enums import OpKind

RANDOM = np.random.default_rng(41)
X, Y = (0.031, 77), (0.17, 120)  # scale and zero point, uint8


@dataclasses.dataclass(frozen=True)
class Layer:
    """An ONNX layer on an input [N, C, H, W] or [rows, inputs]."""

    op: str
    shape: tuple[int, ...]
    weights: tuple[int, ...]
    kind: OpKind
    attributes: Mapping[str, object] = dataclasses.field(default_factory=dict)

    @property
    def axis(self) -> int:
        """Of the output channels in the weights."""
        return 0 if self.op == "Conv" else len(self.weights) - 1


CONV, DEPTHWISE = OpKind.ASYMMETRIC_CONV_2D, OpKind.ASYMMETRIC_DEPTHWISE_CONV_2D
FULL = OpKind.ASYMMETRIC_FULLY_CONNECTED
LAYERS = {
    "pointwise": Layer("Conv", (1, 16, 5, 7), (9, 16, 1, 1), CONV),
    "padded": Layer("Conv", (1, 3, 9, 8), (6, 3, 3, 3), CONV, {"pads": [1, 0, 1, 2], "strides": [2, 1]}),
    "many taps and channels": Layer("Conv", (1, 13, 6, 5), (30, 13, 3, 3), CONV, {"pads": [1] * 4}),
    "groups": Layer("Conv", (2, 6, 6, 5), (8, 3, 3, 2), CONV, {"group": 2, "dilations": [2, 1]}),
    "depthwise": Layer("Conv", (1, 11, 9, 8), (11, 1, 3, 3), DEPTHWISE, {"group": 11, "pads": [1] * 4}),
    "multiplier": Layer("Conv", (1, 4, 7, 8), (8, 1, 3, 2), DEPTHWISE, {"group": 4, "strides": [2, 2],
                                                                        "pads": [0, 1, 1, 0]}),
    "one row": Layer("MatMul", (1, 70), (70, 11), FULL), "rows": Layer("MatMul", (5, 37), (37, 34), FULL),
    "Gemm": Layer("Gemm", (3, 16), (16, 8), FULL),
}
ZEROS = {"uint8": 200, "int8": -100}


def model(layer: Layer, dtype: str, per_channel: bool) -> tuple[onnx.ModelProto, np.ndarray, np.ndarray, np.ndarray]:
    """The model, and its weights, their zero points and scales."""
    limits = np.iinfo(dtype)
    count = layer.weights[layer.axis]
    weights = RANDOM.integers(limits.min, limits.max, layer.weights, endpoint=True).astype(dtype)
    zeros = RANDOM.integers(limits.min, limits.max, count, endpoint=True) if per_channel else np.array(ZEROS[dtype])
    scales = np.linspace(0.002, 0.009, count) if per_channel else np.array(0.004)
    constants = {"w": weights, "ws": scales.astype(np.float32), "wz": zeros.astype(dtype),
                 "xs": np.float32(X[0]), "xz": np.uint8(X[1]), "ys": np.float32(Y[0]), "yz": np.uint8(Y[1])}
    axes = {"axis": layer.axis} if per_channel else {}
    nodes = [node("DequantizeLinear", "x xs xz", "xd"), node("DequantizeLinear", "w ws wz", "wd", **axes),
             node(layer.op, "xd wd", "r", **layer.attributes), node("QuantizeLinear", "r ys yz", "y")]
    types = {"x": TensorProto.UINT8, "y": TensorProto.UINT8}
    return make(nodes, {"x": layer.shape}, ["y"], constants, types=types), weights, zeros, scales


def _same(start: Front, x: np.ndarray, expected: np.ndarray) -> None:
    for compiled in plans(start):
        np.testing.assert_array_equal(outputs(compiled, {"x": x})["y"], expected)


@pytest.mark.parametrize(("dtype", "per_channel"), [("uint8", False), ("int8", True)])
@pytest.mark.parametrize("name", LAYERS)
def test_sums_are_exact(name: str, dtype: str, per_channel: bool) -> None:
    """The integers' sums by onnxruntime in float64-wide integers, then TensorFlow Lite's requantisation."""
    layer = LAYERS[name]
    built, weights, zeros, scales = model(layer, dtype, per_channel)
    x = RANDOM.integers(0, 256, layer.shape).astype(np.uint8)
    start = front(built, CompileOptions())
    assert [op.kind for op in start.program.ops if op.kind.name.startswith("ASYMM")] == [layer.kind]
    assert not start.program.warnings
    shape = [-1 if axis == layer.axis else 1 for axis in range(len(layer.weights))]
    plain = weights.astype(np.float64) - (zeros.reshape(shape) if per_channel else zeros)
    exact = make([node(layer.op, "x w", "s", **layer.attributes)], {"x": layer.shape}, ["s"],
                 {"w": plain.astype(np.float32)})  # sums of 17-bit products stay below 2^24 here
    sums = ort(exact, {"x": x.astype(np.float32) - np.float32(X[1])})["s"].astype(np.int64)
    assert np.abs(sums).max() < 1 << 24
    channel = 1 if layer.op == "Conv" else sums.ndim - 1
    expected = np.empty_like(sums)
    for index in range(sums.shape[channel]):
        at = (slice(None),) * channel + (index,)
        scale = float(np.float32(scales[index] if per_channel else scales))
        real = float(np.float32(X[0])) * scale / float(np.float32(Y[0]))
        expected[at] = references.requantise(sums[at], *references.quantised_multiplier(real))
    expected = np.clip(expected + Y[1], 0, 255)
    _same(start, x, expected)


def test_what_fits_without_zero_points_needs_no_sums() -> None:
    layer = LAYERS["pointwise"]
    built, *_ = model(layer, "int8", False)
    for item in built.graph.initializer:
        if item.name == "w":
            item.raw_data = (np.frombuffer(item.raw_data, np.int8) // 8 - 100).astype(np.int8).tobytes()
    start = front(built, CompileOptions())
    assert OpKind.CONV_2D in {op.kind for op in start.program.ops}


@pytest.mark.parametrize(("op", "weights"), [("CONV_2D", (7, 3, 3, 4)), ("DEPTHWISE_CONV_2D", (1, 3, 3, 8)),
                                             ("FULLY_CONNECTED", (6, 60))])
@pytest.mark.parametrize("padding", [SAME, VALID])
def test_old_uint8_networks(op: str, weights: tuple[int, ...], padding: int) -> None:
    """A .tflite file whose tensors are all uint8, with a bias and a fused activation, in numpy."""
    values = RANDOM.integers(0, 256, weights).astype(np.uint8)
    count = weights[-1] if op == "DEPTHWISE_CONV_2D" else weights[0]
    bias = RANDOM.integers(-900, 900, count).astype(np.int32)
    shape: tuple[int, ...] = (2, 60) if op == "FULLY_CONNECTED" else (1, 6, 5, 4)
    out = {"FULLY_CONNECTED": (2, 6), "CONV_2D": (1, 6, 5, 7) if padding == SAME else (1, 4, 3, 7)}.get(
        op, (1, 6, 5, 8) if padding == SAME else (1, 4, 3, 8))
    options = {"fusedActivationFunction": RELU6}
    if op != "FULLY_CONNECTED":
        options |= {"strideH": 1, "strideW": 1, "padding": padding}
    if op == "DEPTHWISE_CONV_2D":
        options["depthMultiplier"] = 2
    scale = 0.0041
    tensors = [Tensor("x", shape, "uint8", *X), constant("w", values, scale, 151),
               constant("b", bias, X[0] * scale), Tensor("y", out, "uint8", *Y)]
    start = front(write(tensors, [Operator(op, ["x", "w", "b"], ["y"], options)], ["x"], ["y"]), CompileOptions())
    x = RANDOM.integers(0, 256, shape).astype(np.uint8)
    sums = _sums(op, x.astype(np.int64) - X[1], values.astype(np.int64) - 151, padding) + bias
    real = float(np.float32(X[0]) * np.float32(scale)) / float(np.float32(Y[0]))
    expected = references.requantise(sums, *references.quantised_multiplier(real)) + Y[1]
    low, high = Y[1], min(255, Y[1] + round(6 / Y[0]))
    _same(start, x, np.clip(expected, low, high))


def _sums(op: str, x: np.ndarray, w: np.ndarray, padding: int) -> np.ndarray:
    if op == "FULLY_CONNECTED":
        return x @ w.T
    x = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))) if padding == SAME else x
    windows = references.windows(x, (3, 3), (1, 1), (1, 1), (x.shape[1] - 2, x.shape[2] - 2))
    return (np.einsum("nyxijc,oijc->nyxo", windows, w) if op == "CONV_2D"
            else np.einsum("nyxijc,ijc->nyxc", np.repeat(windows, 2, axis=-1), w[0]))


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
    for row in range(size[0]):
        for column in range(size[1]):
            taps = x[0, row * height : (row + 1) * height, column * width : (column + 1) * width].astype(np.int64)
            count = taps.shape[0] * taps.shape[1]
            expected[0, row, column] = (taps.sum(axis=(0, 1)) + count // 2) // count
    _same(start, x, expected)

"""int8 and uint8 weights with zero points: sums of (q - zero) * (w - zero) to the last bit, at any budget."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from tests.compiler.lower.compare import Shape, outputs
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
    shape: Shape
    weights: Shape
    kind: OpKind
    attributes: Mapping[str, object]

    @property
    def axis(self) -> int:
        """Of the output channels in the weights."""
        return 0 if self.op == "Conv" else len(self.weights) - 1


def layer(op: str, shape: Shape, weights: Shape, kind: OpKind = OpKind.ASYMMETRIC_CONV_2D,
          **attributes: object) -> Layer:
    return Layer(op, shape, weights, kind, attributes)


DEPTHWISE, FULL = OpKind.ASYMMETRIC_DEPTHWISE_CONV_2D, OpKind.ASYMMETRIC_FULLY_CONNECTED
LAYERS = {
    "pointwise": layer("Conv", (1, 16, 5, 7), (9, 16, 1, 1)),
    "padded": layer("Conv", (1, 3, 9, 8), (6, 3, 3, 3), pads=[1, 0, 1, 2], strides=[2, 1]),
    "many taps and channels": layer("Conv", (1, 13, 6, 5), (30, 13, 3, 3), pads=[1] * 4),
    "groups": layer("Conv", (2, 6, 6, 5), (8, 3, 3, 2), group=2, dilations=[2, 1]),
    "depthwise": layer("Conv", (1, 11, 9, 8), (11, 1, 3, 3), DEPTHWISE, group=11, pads=[1] * 4),
    "multiplier": layer("Conv", (1, 4, 7, 8), (8, 1, 3, 2), DEPTHWISE, group=4, strides=[2, 2], pads=[0, 1, 1, 0]),
    "one row": layer("MatMul", (1, 70), (70, 11), FULL), "rows": layer("MatMul", (5, 37), (37, 34), FULL),
    "Gemm": layer("Gemm", (3, 16), (16, 8), FULL),
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
    """Of integers less their zero points, by onnxruntime: exact, as sums stay below 2^24."""
    exact = make([node(op, "x w", "s", **attributes)], {"x": x.shape}, ["s"], {"w": weights.astype(np.float32)})
    sums = ort(exact, {"x": x.astype(np.float32)})["s"].astype(np.int64)
    assert np.abs(sums).max() < 1 << 24
    return sums


def _requantised(sums: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """TensorFlow Lite's, of sums whose last axis is the channels'."""
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

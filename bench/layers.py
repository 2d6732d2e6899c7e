"""Single int8 layers as ONNX models, with the shapes that kernels are compared by."""

from __future__ import annotations

import dataclasses

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
INPUT_SCALE, INPUT_ZERO_POINT = 0.05, -3
WEIGHT_SCALE = 0.02


@dataclasses.dataclass(frozen=True)
class Layer:
    """One layer; `weights` is [out, in / groups, height, width], or [in, out] for a fully connected one. `strays`: so
    many channels have products with larger steps than outputs, as few have in networks."""

    name: str
    input: tuple[int, ...]  #: [1, channels, height, width], or [1, features]
    weights: tuple[int, ...]
    stride: int = 1
    groups: int = 1
    strays: int = 0


LAYERS = (
    Layer("conv 3x3 16x16x32-32", (1, 32, 16, 16), (32, 32, 3, 3)),
    Layer("depthwise 3x3 48x48x16", (1, 16, 48, 48), (16, 1, 3, 3), groups=16),
    Layer("conv 1x1 24x24x32-64", (1, 32, 24, 24), (64, 32, 1, 1)),
    Layer("fully connected 256-10", (1, 256), (256, 10)),
    Layer("conv 3x3 32x32x3-16", (1, 3, 32, 32), (16, 3, 3, 3)),
    Layer("depthwise 3x3 s2 24x24x32", (1, 32, 24, 24), (32, 1, 3, 3), stride=2, groups=32),
    Layer("fully connected 640-128", (1, 640), (640, 128)),
)


def _constant(name: str, value: np.ndarray) -> onnx.TensorProto:
    return numpy_helper.from_array(value, name)


def _quantised(name: str, source: str, result: str) -> list[onnx.NodeProto]:
    """`source` quantised and back, by the constants `name`_scale and `name`_zero_point."""
    by = [f"{name}_scale", f"{name}_zero_point"]
    return [
        helper.make_node("QuantizeLinear", [source, *by], [f"{result}_q"]),
        helper.make_node("DequantizeLinear", [f"{result}_q", *by], [result]),
    ]


def build_layer(layer: Layer) -> onnx.ModelProto:
    """The layer with QuantizeLinear and DequantizeLinear around it; random weights per channel, the same each time."""
    random = np.random.default_rng(7)
    outputs = layer.weights[0] if len(layer.weights) == 4 else layer.weights[1]
    taps = int(np.prod(layer.weights)) // outputs
    values = random.integers(-127, 128, layer.weights).astype(np.int8)
    bias = random.integers(-2000, 2000, outputs).astype(np.int32)
    scales = (WEIGHT_SCALE * random.uniform(0.5, 1.0, outputs)).astype(np.float32)
    scales[: layer.strays] *= 400
    output_scale = np.float32(INPUT_SCALE * WEIGHT_SCALE * 4000 * np.sqrt(taps) / 60)
    constants = [
        _constant("in_scale", np.float32(INPUT_SCALE)), _constant("in_zero_point", np.int8(INPUT_ZERO_POINT)),
        _constant("out_scale", output_scale), _constant("out_zero_point", np.int8(5)),
        _constant("w_q", values), _constant("w_scale", scales), _constant("w_zero_point", np.zeros(outputs, np.int8)),
        _constant("b_q", bias), _constant("b_scale", (np.float32(INPUT_SCALE) * scales).astype(np.float32)),
        _constant("b_zero_point", np.zeros(outputs, np.int32)),
    ]  # fmt: skip
    image = len(layer.input) == 4
    nodes = _quantised("in", "input", "x")
    axis = 0 if image else 1
    nodes.append(helper.make_node("DequantizeLinear", ["w_q", "w_scale", "w_zero_point"], ["w"], axis=axis))
    nodes.append(helper.make_node("DequantizeLinear", ["b_q", "b_scale", "b_zero_point"], ["b"], axis=0))
    shape: tuple[int, ...] = (1, outputs)
    if image:
        kernel = layer.weights[2]
        sizes = [-(-size // layer.stride) for size in layer.input[2:]]
        totals = [max((output - 1) * layer.stride + kernel - size, 0)
                  for output, size in zip(sizes, layer.input[2:], strict=True)]
        pads = [*(total // 2 for total in totals), *(total - total // 2 for total in totals)]
        nodes.append(helper.make_node("Conv", ["x", "w", "b"], ["y"], name="layer", pads=pads, group=layer.groups,
                                      strides=[layer.stride] * 2))  # fmt: skip
        shape = (1, outputs, *sizes)
    else:
        nodes.append(helper.make_node("Gemm", ["x", "w", "b"], ["y"], name="layer"))
    nodes += _quantised("out", "y", "output")
    graph = helper.make_graph(
        nodes, layer.name,
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, layer.input)],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, shape)], constants,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)

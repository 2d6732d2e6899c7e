"""Single int8 layers as ONNX models, with the shapes that kernels are compared by."""

import dataclasses

import numpy as np
import onnx

from bench.operator_models import INPUT_SCALE, MEASURED, Model

INPUT_ZERO_POINT = -3
WEIGHT_SCALE = 0.02


@dataclasses.dataclass(frozen=True)
class Layer:
    """One layer; `weights` is [out, in / groups, height, width], or [in, out] for a fully connected one. `strays`: so
    many channels have products with larger steps than outputs, as few have in networks. `bits`: of a weight. `table`:
    weights have 16 different values. `int16`: the type of activations."""

    name: str
    input: tuple[int, ...]  #: [1, channels, height, width], or [1, features]
    weights: tuple[int, ...]
    stride: int = 1
    groups: int = 1
    strays: int = 0
    bits: int = 8
    table: bool = False
    int16: bool = False


LAYERS = (
    Layer("conv 3x3 16x16x32-32", (1, 32, 16, 16), (32, 32, 3, 3)),
    Layer("depthwise 3x3 48x48x16", (1, 16, 48, 48), (16, 1, 3, 3), groups=16),
    Layer("conv 1x1 24x24x32-64", (1, 32, 24, 24), (64, 32, 1, 1)),
    Layer("fully connected 256-10", (1, 256), (256, 10)),
    Layer("conv 3x3 32x32x3-16", (1, 3, 32, 32), (16, 3, 3, 3)),
    Layer("depthwise 3x3 s2 24x24x32", (1, 32, 24, 24), (32, 1, 3, 3), stride=2, groups=32),
    Layer("fully connected 640-128", (1, 640), (640, 128)),
    Layer("conv 3x3 16x16x32-32, 4 bits", (1, 32, 16, 16), (32, 32, 3, 3), bits=4),
    Layer("fully connected 640-128, 4 bits", (1, 640), (640, 128), bits=4),
    Layer("conv 3x3 16x16x32-32, table", (1, 32, 16, 16), (32, 32, 3, 3), table=True),
    Layer("fully connected 640-128, table", (1, 640), (640, 128), table=True),
)


def build_layer(layer: Layer) -> onnx.ModelProto:
    """The layer with QuantizeLinear and DequantizeLinear around it; random weights per channel, the same each time."""
    random, model = np.random.default_rng(7), Model(layer.input, 0 if layer.int16 else INPUT_ZERO_POINT, layer.int16)
    image = len(layer.input) == 4
    outputs = layer.weights[0] if image else layer.weights[1]
    taps = int(np.prod(layer.weights)) // outputs
    most = (1 << (layer.bits - 1)) - 1
    values = random.integers(-most, most + 1, layer.weights).astype(np.int8)
    if layer.table:
        values = random.choice(values.reshape(-1)[:16], layer.weights)
    bias = random.integers(-2000, 2000, outputs).astype(np.int32)
    scales = (WEIGHT_SCALE * random.uniform(0.5, 1.0, outputs)).astype(np.float32)
    scales[: layer.strays] *= 400
    output_scale = INPUT_SCALE * WEIGHT_SCALE * 4000 * np.sqrt(taps) / 60 * most / 127
    stored = ((values, scales, 0 if image else 1), (bias, (np.float32(INPUT_SCALE) * scales).astype(np.float32), 0))
    w, b = (model.node("DequantizeLinear",
                       [model.constant(part) for part in (number, scale, np.zeros(outputs, number.dtype))], axis=axis)
            for number, scale, axis in stored)  # fmt: skip
    attributes = {}
    if image:
        totals = [max((-(-size // layer.stride) - 1) * layer.stride + layer.weights[2] - size, 0)
                  for size in layer.input[2:]]  # fmt: skip
        pads = [*(total // 2 for total in totals), *(total - total // 2 for total in totals)]
        attributes = {"pads": pads, "group": layer.groups, "strides": [layer.stride] * 2}
    y = model.node("Conv" if image else "Gemm", [model.input, w, b], name=MEASURED, **attributes)
    return model.finish(y, output_scale, 0 if layer.int16 else 5)

"""Builds int8 networks in QDQ form with random weights and scales: their shapes are real, their outputs meaningless."""

import math
from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Size = tuple[int, int]


class QuantisedNet:
    """One network, layer by layer. Methods take and return names of dequantised tensors, [1, C, H, W].

    Every computed activation has a scale of its own, so a Concat of several maps writes each anew, as in networks that
    were calibrated; what only moves or picks numbers keeps its input's.
    """

    def __init__(self, name: str, channels: int, size: Size) -> None:
        self.name = name
        self._random = np.random.default_rng(1)
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []
        self._inputs = [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, channels, *size])]
        self.shapes: dict[str, tuple[int, ...]] = {"image": (1, channels, *size)}
        self._scales: dict[str, tuple[str, str]] = {}
        self.image = self._quantised("image", self.shapes["image"])

    def _constant(self, label: str, value: np.ndarray) -> str:
        name = f"{label}_{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(value, name))
        return name

    def _node(self, op: str, inputs: Sequence[str], shape: tuple[int, ...], **attributes: object) -> str:
        name = f"{op}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(op, list(inputs), [f"{name}_y"], name=name, **attributes))
        self.shapes[f"{name}_y"] = shape
        return f"{name}_y"

    def _quantised(self, x: str, shape: tuple[int, ...], like: str = "") -> str:
        """`x` with a scale and a zero point of its own, or those of `like`."""
        scale, zero = self._scales.get(like) or (
            self._constant("scale", np.float32(0.02 + 0.001 * (len(self._nodes) % 17))),
            self._constant("zero", np.int8(len(self._nodes) % 5 - 2)),
        )
        stored = self._node("QuantizeLinear", [x, scale, zero], shape)
        result = self._node("DequantizeLinear", [stored, scale, zero], shape)
        self._scales[result] = scale, zero
        return result

    def _weight(self, *shape: int) -> str:
        values = self._random.integers(-127, 128, shape).astype(np.int8)
        scales = np.full(shape[0], 0.01 / math.sqrt(math.prod(shape[1:])), np.float32)
        zeros = np.zeros(shape[0], np.int8)
        named = (("weight", values), ("weight_scale", scales), ("weight_zero", zeros))
        return self._node("DequantizeLinear", [self._constant(*item) for item in named], shape, axis=0)

    def conv(self, x: str, channels: int, kernel: int = 3, stride: int = 1, dilation: int = 1, groups: int = 1,
             relu: bool = True) -> str:
        """Convolution with the padding of an odd kernel, and a ReLU."""
        _, inputs, *size = self.shapes[x]
        pad = (kernel - 1) * dilation // 2
        out = tuple((n + 2 * pad - (kernel - 1) * dilation - 1) // stride + 1 for n in size)
        y = self._node("Conv", [x, self._weight(channels, inputs // groups, kernel, kernel)], (1, channels, *out),
                       group=groups, kernel_shape=[kernel] * 2, strides=[stride] * 2, dilations=[dilation] * 2,
                       pads=[pad] * 4)  # fmt: skip
        return self._activated(y, relu)

    def depthwise(self, x: str, stride: int = 1, kernel: int = 3, relu: bool = True) -> str:
        """Depthwise convolution."""
        channels = self.shapes[x][1]
        return self.conv(x, channels, kernel, stride, groups=channels, relu=relu)

    def _activated(self, x: str, relu: bool) -> str:
        shape = self.shapes[x]
        return self._quantised(self._node("Relu", [x], shape) if relu else x, shape)

    def relu(self, x: str) -> str:
        """A ReLU of its own, not behind a convolution."""
        return self._activated(x, True)

    def add(self, a: str, b: str, relu: bool = False) -> str:
        """Sum of two maps."""
        return self._activated(self._node("Add", [a, b], self.shapes[a]), relu)

    def scale(self, x: str, factors: str) -> str:
        """A map times a factor a channel, [1, C, 1, 1]."""
        return self._quantised(self._node("Mul", [x, factors], self.shapes[x]), self.shapes[x])

    def concat(self, *maps: str) -> str:
        """Maps joined along their channels."""
        first = self.shapes[maps[0]]
        shape = (1, sum(self.shapes[name][1] for name in maps), *first[2:])
        return self._quantised(self._node("Concat", maps, shape, axis=1), shape)

    def pool(self, x: str, kind: str = "MaxPool", kernel: int = 2, stride: int = 2, pad: int = 0) -> str:
        """MaxPool or AveragePool."""
        _, channels, *size = self.shapes[x]
        shape = (1, channels, *((n + 2 * pad - kernel) // stride + 1 for n in size))
        y = self._node(kind, [x], shape, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4)
        return self._quantised(y, shape, like=x)

    def upsample(self, x: str) -> str:
        """Nearest, twice the size."""
        _, channels, height, width = self.shapes[x]
        shape = (1, channels, 2 * height, 2 * width)
        scales = self._constant("factors", np.array([1, 1, 2, 2], np.float32))
        y = self._node("Resize", [x, "", scales], shape, mode="nearest", nearest_mode="floor",
                       coordinate_transformation_mode="asymmetric")  # fmt: skip
        return self._quantised(y, shape, like=x)

    def shuffled(self, x: str, groups: int) -> str:
        """Channels of `groups` groups, one of each in turn."""
        _, channels, height, width = shape = self.shapes[x]
        split = self._constant("shape", np.array([1, groups, channels // groups, height, width]))
        joined = self._constant("shape", np.array(shape))
        parted, turned = (1, groups, channels // groups, height, width), (1, channels // groups, groups, height, width)
        y = self._quantised(self._node("Reshape", [x, split], parted), parted, like=x)
        y = self._quantised(self._node("Transpose", [y], turned, perm=[0, 2, 1, 3, 4]), turned, like=x)
        return self._quantised(self._node("Reshape", [y, joined], shape), shape, like=x)

    def mean(self, x: str) -> str:
        """Global average pooling, [1, C, 1, 1]."""
        shape = (1, self.shapes[x][1], 1, 1)
        return self._quantised(self._node("GlobalAveragePool", [x], shape), shape)

    def classified(self, x: str, classes: int) -> str:
        """Mean and a fully connected layer, [1, classes]."""
        pooled = self.mean(x)
        features = self.shapes[pooled][1]
        flat = self._quantised(self._node("Flatten", [pooled], (1, features)), (1, features), like=pooled)
        y = self._node("Gemm", [flat, self._weight(classes, features)], (1, classes), transB=1)
        return self._quantised(y, (1, classes))

    def model(self, *outputs: str) -> onnx.ModelProto:
        """The finished network."""
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, self.shapes[name]) for name in outputs]
        graph = helper.make_graph(self._nodes, self.name, self._inputs, values, self._constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

"""Rewrites quantised operators (onnxruntime's QOperator format) with QuantizeLinear and DequantizeLinear.

A QLinear operator reads each quantised tensor with its scale and zero point, and has inputs for those of its output. It
becomes the plain operator between DequantizeLinear and QuantizeLinear nodes, which the pass qdq_fold folds. Signatures:
ONNX's QLinearConv and QLinearMatMul, onnxruntime's docs/ContribOperators.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import helper

from tigris_pio.compiler.load.onnx.replace import Replacement, replace_nodes, without

_MICROSOFT = "com.microsoft"
#: Operators with inputs (x, scale, zero point, output scale, output zero point), and the plain operators.
_UNARY = {
    "QLinearGlobalAveragePool": "GlobalAveragePool", "QLinearAveragePool": "AveragePool", "QLinearSigmoid": "Sigmoid",
    "QLinearLeakyRelu": "LeakyRelu", "QLinearSoftmax": "Softmax", "QLinearReduceMean": "ReduceMean",
}
_BINARY = {"QLinearAdd": "Add", "QLinearMul": "Mul"}
#: Attributes of the contrib operators that the plain ones lack.
_EXTRA = ("channels_last", "opset")
#: The number of an image's axes, unless an attribute implies another.
_IMAGE_RANK = 4


class _Quantised(Replacement):
    """The replacement of an operator that reads each tensor with its scale and zero point."""

    def real(self, index: int, axis: int | None = None) -> str:
        """The dequantised input `index`; the next two inputs are its scale and zero point. `axis`: for a vector of
        scales."""
        tensor, scale, zero_point = (self.input(index + position) for position in range(3))
        values = self.value(scale)
        attributes = {"axis": axis} if axis is not None and values is not None and values.size > 1 else {}
        inputs = (tensor, self.wide(scale), zero_point)
        return self.part("DequantizeLinear", *inputs[: 3 if zero_point else 2], **attributes)

    def wide(self, scale: str) -> str:
        """A scale in float32: with a scale of float16, the operator would compute in float16."""
        values = self.value(scale)
        return scale if values is None or values.dtype != np.float16 else self.constant(
            "scale", values.astype(np.float32))

    def bias(self, tensor: str, first: str, second: str) -> str | None:
        """An int32 bias, dequantised by the product of two scales; None if these are computed at run time."""
        if not tensor:
            return ""
        scales = [self.value(name) for name in (first, second)]
        if scales[0] is None or scales[1] is None:
            return None
        scale = (scales[0].reshape(-1) * scales[1].reshape(-1)).astype(np.float32)
        axis: dict[str, Any] = {"axis": 0} if scale.size > 1 else {}
        name = self.constant("bias_scale", scale if scale.size > 1 else scale.reshape(()))
        return self.part("DequantizeLinear", tensor, name, **axis)

    def apply(self, op: str, inputs: list[str], scale: int, rank: int = _IMAGE_RANK) -> bool:
        """Adds the plain operator, and QuantizeLinear by input `scale` and the zero point behind it; True.

        With the attribute channels_last, channels are the last of `rank` axes in the first input and the result.
        """
        turned = bool(self.attributes.get("channels_last", 0))
        order = tuple(range(rank))
        if turned:
            inputs = [self.part("Transpose", inputs[0], perm=(0, rank - 1, *order[1:-1])), *inputs[1:]]
        scale_name, zero_point = self.wide(self.input(scale)), self.input(scale + 1)
        attributes = without(self.attributes, _EXTRA)
        if not scale_name and not turned:
            return self.last(op, *inputs, **attributes)
        result = self.fresh("real")
        self.nodes.append(helper.make_node(op, inputs, [result], self.name, **attributes))
        if turned:
            result = self.part("Transpose", result, perm=(0, *order[2:], 1))
        if not scale_name:
            return self.last("Identity", result)
        quantising = (result, scale_name, zero_point)[: 3 if zero_point else 2]
        self.nodes.append(helper.make_node("QuantizeLinear", quantising, self.node.output, f"{self.name}/quantize"))
        return True


def expand_qoperators(model: onnx.ModelProto, origin: str) -> onnx.ModelProto:
    """The model without QLinear operators; `model` itself if it has none."""
    return replace_nodes(model, QUANTISED, origin, _Quantised)


def _conv(part: _Quantised) -> bool:
    bias = part.bias(part.input(8), part.input(1), part.input(4))
    weights = part.value(part.input(3))
    if bias is None or (weights is None and part.attributes.get("channels_last", 0)):
        return False
    inputs = [part.real(0), part.real(3, axis=0)]
    return part.apply("Conv", [*inputs, bias] if bias else inputs, 6, _IMAGE_RANK if weights is None else weights.ndim)


def _mat_mul(part: _Quantised) -> bool:
    return part.apply("MatMul", [part.real(0), part.real(3, axis=1)], 6)


def _gemm(part: _Quantised) -> bool:
    """Gemm, if its alpha is 1: the bias is in units of the scales' product."""
    bias = part.bias(part.input(6), part.input(1), part.input(4))
    if part.attributes.get("alpha", 1.0) != 1.0 or bias is None:
        return False
    inputs = [part.real(0), part.real(3, axis=0 if part.attributes.get("transB", 0) else 1)]
    return part.apply("Gemm", [*inputs, bias] if bias else inputs, 7)


def _unary(part: _Quantised) -> bool:
    kernel = part.attributes.get("kernel_shape", (1,) * (_IMAGE_RANK - 2))
    return part.apply(_UNARY[part.node.op_type], [part.real(0)], 3, len(kernel) + 2)


def _binary(part: _Quantised) -> bool:
    return part.apply(_BINARY[part.node.op_type], [part.real(0), part.real(3)], 6)


def _where(part: _Quantised) -> bool:
    return part.apply("Where", [part.input(0), part.real(1), part.real(4)], 7)


def _concat(part: _Quantised) -> bool:
    return part.apply("Concat", [part.real(index) for index in range(2, len(part.node.input), 3)], 0)


def _max_pool(part: _Quantised) -> bool:
    """MaxPool on the integers themselves, with channels last."""
    part.attributes["channels_last"] = 1
    return part.apply("MaxPool", [part.input(0)], 1, len(part.attributes["kernel_shape"]) + 2)


def _product_of_integers(part: _Quantised, left: tuple[str, str, str], right: tuple[str, str, str], bias: str) -> bool:
    """The product of two matrices in int32, times both scales. Each matrix: names of integers, scale, zero point."""
    names = (left[0], right[0], left[2], right[2])
    total = part.part("MatMulInteger", *names[: 4 if right[2] else 3 if left[2] else 2])
    total = part.part("Cast", total, to=onnx.TensorProto.FLOAT)
    scales = (total, part.part("Mul", left[1], part.wide(right[1])))
    return part.last("Add", part.part("Mul", *scales), bias) if bias else part.last("Mul", *scales)


def _integer_product(part: _Quantised) -> bool:
    inputs = [part.input(index) for index in range(7)]
    return _product_of_integers(part, (inputs[0], inputs[2], inputs[4]), (inputs[1], inputs[3], inputs[5]), inputs[6])


def _dynamic_product(part: _Quantised) -> bool:
    left = (part.fresh("codes"), part.fresh("scale"), part.fresh("zero_point"))
    part.nodes.append(helper.make_node("DynamicQuantizeLinear", [part.input(0)], left, f"{part.name}/quantize"))
    return _product_of_integers(part, left, (part.input(1), part.input(2), part.input(3)), part.input(4))


QUANTISED = {
    **{(domain, name): replace for domain in ("", _MICROSOFT) for name, replace in {
        "QLinearConv": _conv, "QLinearMatMul": _mat_mul, "QGemm": _gemm, "QLinearConcat": _concat,
        **dict.fromkeys(_UNARY, _unary), **dict.fromkeys(_BINARY, _binary)}.items()},
    (_MICROSOFT, "QLinearWhere"): _where, (_MICROSOFT, "NhwcMaxPool"): _max_pool,
    (_MICROSOFT, "MatMulIntegerToFloat"): _integer_product, (_MICROSOFT, "DynamicQuantizeMatMul"): _dynamic_product,
}

"""Rewrites operator-oriented quantised models (onnxruntime's QOperator format) in terms of QuantizeLinear and
DequantizeLinear.

A QLinear operator takes each quantised tensor with its scale and zero point and gives its output in a scale
of its own: the same as the plain operator between DequantizeLinear and QuantizeLinear nodes, which the
qdq_fold pass turns into int8 kernels. Operator signatures: ONNX's QLinearConv and QLinearMatMul,
onnxruntime's contrib operators (docs/ContribOperators.md of onnxruntime).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tigris_pio.compiler.ir.names import Names
from tigris_pio.compiler.load.onnx.subgraphs import tensor_names

_MICROSOFT = "com.microsoft"
#: Operators with inputs (x, scale, zero point, output scale, output zero point), and what they are.
_UNARY = {
    "QLinearGlobalAveragePool": "GlobalAveragePool", "QLinearAveragePool": "AveragePool", "QLinearSigmoid": "Sigmoid",
    "QLinearLeakyRelu": "LeakyRelu", "QLinearSoftmax": "Softmax", "QLinearReduceMean": "ReduceMean",
}
_BINARY = {"QLinearAdd": "Add", "QLinearMul": "Mul"}
#: Attributes of the contrib operators that the plain ones lack.
_EXTRA = frozenset(("channels_last", "opset"))


@dataclasses.dataclass
class _Rewriter:
    """Collects the nodes that replace one operator; `constants` are the model's initializers, `names` in use."""

    node: onnx.NodeProto
    name: str
    constants: Mapping[str, np.ndarray]
    names: Names
    nodes: list[onnx.NodeProto] = dataclasses.field(default_factory=list)
    added: list[onnx.TensorProto] = dataclasses.field(default_factory=list)

    def input(self, index: int) -> str:
        """The name at an input, empty when absent."""
        return self.node.input[index] if index < len(self.node.input) else ""

    def real(self, index: int, axis: int | None = None) -> str:
        """The dequantised form of the tensor at `index`, whose scale and zero point follow."""
        return self.dequantised(self.input(index), self.input(index + 1), self.input(index + 2), axis)

    def dequantised(self, tensor: str, scale: str, zero_point: str, axis: int | None = None) -> str:
        """A DequantizeLinear node's output; `axis` counts where the scale is a vector."""
        result = self.names.fresh(f"{self.name}/{tensor}_real")
        vector = axis is not None and scale in self.constants and self.constants[scale].size > 1
        attributes: dict[str, Any] = {"axis": axis} if vector else {}
        scale = self.wide(scale)
        inputs = [tensor, scale, zero_point] if zero_point else [tensor, scale]
        self.nodes.append(helper.make_node("DequantizeLinear", inputs, [result], f"{result}_node", **attributes))
        return result

    def wide(self, scale: str) -> str:
        """A scale in float32: one of float16 would make its operator one of float16."""
        if scale not in self.constants or self.constants[scale].dtype != np.float16:
            return scale
        name = self.names.fresh(f"{self.name}/{scale}_wide")
        self.added.append(numpy_helper.from_array(self.constants[scale].astype(np.float32), name))
        return name

    def bias(self, tensor: str, first: str, second: str) -> str | None:
        """An int32 bias in units of the product of two scales; None when they are computed."""
        if not tensor:
            return ""
        if first not in self.constants or second not in self.constants:
            return None
        scale = (self.constants[first].reshape(-1) * self.constants[second].reshape(-1)).astype(np.float32)
        name = self.names.fresh(f"{self.name}/{tensor}_scale")
        self.added.append(numpy_helper.from_array(scale if scale.size > 1 else scale.reshape(()), name))
        result = self.names.fresh(f"{self.name}/{tensor}_real")
        axis: dict[str, Any] = {"axis": 0} if scale.size > 1 else {}
        self.nodes.append(helper.make_node("DequantizeLinear", [tensor, name], [result], f"{result}_node", **axis))
        return result

    def apply(self, op: str, inputs: Sequence[str], scale: str, zero_point: str) -> None:
        """The plain operator, and the quantisation of its result."""
        output = self.node.output[0]
        result = self.names.fresh(f"{self.name}/{output}_real") if scale else output
        plain = helper.make_node(op, list(inputs), [result], self.name)
        plain.attribute.extend(item for item in self.node.attribute if item.name not in _EXTRA)
        self.nodes.append(plain)
        if scale:
            scale = self.wide(scale)
            inputs = [result, scale, zero_point] if zero_point else [result, scale]
            self.nodes.append(helper.make_node("QuantizeLinear", inputs, [output], f"{self.name}/quantize"))


def expand_qoperators(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without QLinear operators; `model` itself when it has none."""
    if not any(node.op_type in _REWRITES for node in model.graph.node):
        return model
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    constants = {
        tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer
        if tensor.data_location != onnx.TensorProto.EXTERNAL and len(tensor.dims) <= 1
    }
    del changed.graph.node[:]
    names = tensor_names(model.graph)
    for index, node in enumerate(model.graph.node):
        rewriter = _Rewriter(node, node.name or f"{node.op_type}_{index}", constants, names)
        if _is_rewritten(node) and _REWRITES[node.op_type](rewriter):
            changed.graph.node.extend(rewriter.nodes)
            changed.graph.initializer.extend(rewriter.added)
        else:
            changed.graph.node.append(node)
    return changed


def _is_rewritten(node: onnx.NodeProto) -> bool:
    if node.op_type not in _REWRITES or node.domain not in ("", "ai.onnx", _MICROSOFT):
        return False
    return not any(item.name == "channels_last" and item.i for item in node.attribute)


def _conv(rewriter: _Rewriter) -> bool:
    inputs = [rewriter.real(0), rewriter.real(3, axis=0)]
    bias = rewriter.bias(rewriter.input(8), rewriter.input(1), rewriter.input(4))
    if bias is None:
        return False
    rewriter.apply("Conv", [*inputs, bias] if bias else inputs, rewriter.input(6), rewriter.input(7))
    return True


def _mat_mul(rewriter: _Rewriter) -> bool:
    rewriter.apply("MatMul", [rewriter.real(0), rewriter.real(3, axis=1)], rewriter.input(6), rewriter.input(7))
    return True


def _gemm(rewriter: _Rewriter) -> bool:
    """Only without a factor: its bias is in units of the scales' product."""
    attributes = {item.name: helper.get_attribute_value(item) for item in rewriter.node.attribute}
    if attributes.get("alpha", 1.0) != 1.0:
        return False
    inputs = [rewriter.real(0), rewriter.real(3, axis=0 if attributes.get("transB", 0) else 1)]
    bias = rewriter.bias(rewriter.input(6), rewriter.input(1), rewriter.input(4))
    if bias is None:
        return False
    rewriter.apply("Gemm", [*inputs, bias] if bias else inputs, rewriter.input(7), rewriter.input(8))
    return True


def _unary(rewriter: _Rewriter) -> bool:
    rewriter.apply(_UNARY[rewriter.node.op_type], [rewriter.real(0)], rewriter.input(3), rewriter.input(4))
    return True


def _binary(rewriter: _Rewriter) -> bool:
    rewriter.apply(_BINARY[rewriter.node.op_type], [rewriter.real(0), rewriter.real(3)], rewriter.input(6),
                   rewriter.input(7))
    return True


def _concat(rewriter: _Rewriter) -> bool:
    parts = [rewriter.real(index) for index in range(2, len(rewriter.node.input), 3)]
    rewriter.apply("Concat", parts, rewriter.input(0), rewriter.input(1))
    return True


_REWRITES: Mapping[str, Callable[[_Rewriter], bool]] = {
    "QLinearConv": _conv, "QLinearMatMul": _mat_mul, "QGemm": _gemm, "QLinearConcat": _concat,
    **dict.fromkeys(_UNARY, _unary), **dict.fromkeys(_BINARY, _binary),
}

"""Writes an int8 .tflite network as ONNX with QuantizeLinear and DequantizeLinear around every tensor.

The same weights, scales and zero points; channels first instead of last, fused activations and padding spelt out.
Knows the operators and the forms of them that `topologies` leads to, and refuses others.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import onnx
import tflite
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
_CODES = {value: key for key, value in vars(tflite.BuiltinOperator).items() if isinstance(value, int)}
_ACTIVATIONS = {
    tflite.ActivationFunctionType.NONE: None,
    tflite.ActivationFunctionType.RELU: "relu",
    tflite.ActivationFunctionType.RELU6: "relu6",
}
_TYPES = {tflite.TensorType.INT8: np.int8, tflite.TensorType.INT32: np.int32}


class Reader:
    """Tensors and operators of a .tflite file with one subgraph."""

    def __init__(self, content: bytes) -> None:
        self.model = tflite.Model.GetRootAsModel(content, 0)
        self.graph = self.model.Subgraphs(0)

    def operators(self) -> list[tuple[str, Any]]:
        """Name and record of each operator."""
        found = [self.graph.Operators(index) for index in range(self.graph.OperatorsLength())]
        return [(_CODES[self.model.OperatorCodes(op.OpcodeIndex()).BuiltinCode()], op) for op in found]

    def shape(self, tensor: int) -> list[int]:
        """Channels last."""
        shape: list[int] = self.graph.Tensors(tensor).ShapeAsNumpy().tolist()
        return shape

    def quantisation(self, tensor: int) -> tuple[np.ndarray, np.ndarray]:
        """Scales and zero points: one each, or one per channel."""
        record = self.graph.Tensors(tensor).Quantization()
        return record.ScaleAsNumpy().astype(np.float32), record.ZeroPointAsNumpy().astype(np.int64)

    def constant(self, tensor: int) -> np.ndarray:
        """The values of a constant tensor."""
        record = self.graph.Tensors(tensor)
        data = self.model.Buffers(record.Buffer()).DataAsNumpy()
        return np.frombuffer(data.tobytes(), _TYPES[record.Type()]).reshape(self.shape(tensor))

    def options(self, op: Any, kind: Any) -> Any:
        """The operator's own record, a `kind`."""
        options = kind()
        table = op.BuiltinOptions()
        options.Init(table.Bytes, table.Pos)
        return options


def _pads(size: list[int], kernel: list[int], strides: list[int], padding: int) -> list[int]:
    """Rows and columns of padding above, left, below and right."""
    if padding == tflite.Padding.VALID:
        return [0, 0, 0, 0]
    totals = [
        max((-(-s // stride) - 1) * stride + k - s, 0) for s, k, stride in zip(size, kernel, strides, strict=True)
    ]
    return [total // 2 for total in totals] + [total - total // 2 for total in totals]


class Writer:
    """The ONNX graph as it grows. `values` names the float value that stands for each tensor."""

    def __init__(self, reader: Reader, global_pool: bool) -> None:
        self.reader, self.global_pool = reader, global_pool
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.values: dict[int, str] = {}
        self.maps: dict[int, list[int]] = {}  #: height, width and channels of maps that were flattened
        self.counts: Counter[str] = Counter()

    def name(self, kind: str) -> str:
        """The next name of its kind: conv0, conv1, …"""
        self.counts[kind] += 1
        return f"{kind}{self.counts[kind] - 1}"

    def initializer(self, name: str, values: np.ndarray) -> str:
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def node(self, kind: str, owner: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [output], name=f"{owner}/{kind}", **attributes))
        return output

    def pair(self, name: str, value: str, tensor: int, result: str | None = None) -> str:
        """The value quantised as the tensor is, and back."""
        scale, zero_point = self.reader.quantisation(tensor)
        by = [self.initializer(f"{name}_scale", scale[0]),
              self.initializer(f"{name}_zero_point", np.int8(zero_point[0]))]  # fmt: skip
        self.node("QuantizeLinear", name, [value, *by], f"{name}_q")
        return self.node("DequantizeLinear", name, [f"{name}_q", *by], result or f"{name}_dq")

    def weights(self, name: str, values: np.ndarray, scale: np.ndarray) -> str:
        """A constant behind its DequantizeLinear, per output channel if there are several scales."""
        per_channel = len(scale) > 1
        scales = scale if per_channel else scale[0]
        inputs = [
            self.initializer(f"{name}_q", values),
            self.initializer(f"{name}_scale", scales),
            self.initializer(f"{name}_zero_point", np.zeros(np.shape(scales), values.dtype)),
        ]
        attributes = {"axis": 0} if per_channel else {}
        return self.node("DequantizeLinear", name, inputs, f"{name}_dq", **attributes)

    def parameters(self, op: Any, name: str, weights: np.ndarray) -> list[str]:
        """Weights (output channels first) and biases of a convolution or fully connected layer."""
        source, weight, bias = op.InputsAsNumpy().tolist()
        scale, zero_point = self.reader.quantisation(weight)
        assert not zero_point.any()
        bias_scale = self.reader.quantisation(source)[0][0] * scale
        np.testing.assert_allclose(self.reader.quantisation(bias)[0], bias_scale, rtol=1e-6)
        return [
            self.weights(f"{name}.weight", weights, scale),
            self.weights(f"{name}.bias", self.reader.constant(bias), bias_scale.astype(np.float32)),
        ]

    def finish(self, op: Any, name: str, value: str, activation: int = tflite.ActivationFunctionType.NONE) -> None:
        """The fused activation, and the pair of the operator's output."""
        match _ACTIVATIONS[activation]:
            case "relu":
                value = self.node("Relu", name, [value], f"{name}_relu")
            case "relu6":
                limits = [self.initializer(f"{name}_{end}", np.float32(at)) for end, at in (("min", 0), ("max", 6))]
                value = self.node("Clip", name, [value, *limits], f"{name}_relu6")
        tensor = op.Outputs(0)
        last = tensor == self.reader.graph.Outputs(0)
        self.values[tensor] = self.pair(name, value, tensor, "output" if last else None)

    def convolution(self, op: Any, depthwise: bool) -> None:
        """CONV_2D and DEPTHWISE_CONV_2D; one with a single input channel is a plain convolution."""
        options = self.reader.options(op, tflite.DepthwiseConv2DOptions if depthwise else tflite.Conv2DOptions)
        assert options.DilationHFactor() == options.DilationWFactor() == 1
        source, weight = op.Inputs(0), op.Inputs(1)
        _, height, width, channels = self.reader.shape(source)
        # depthwise [1, h, w, o]; convolution [o, h, w, i]
        weights = self.reader.constant(weight).transpose((3, 0, 1, 2) if depthwise else (0, 3, 1, 2))
        kernel, strides = list(weights.shape[2:]), [options.StrideH(), options.StrideW()]
        name = self.name("dwconv" if depthwise else "conv")
        pads = _pads([height, width], kernel, strides, options.Padding())
        inputs = [self.values[source], *self.parameters(op, name, weights)]
        value = self.node("Conv", name, inputs, f"{name}_out", dilations=[1, 1], group=channels if depthwise else 1,
                          kernel_shape=kernel, pads=pads, strides=strides)  # fmt: skip
        self.finish(op, name, value, options.FusedActivationFunction())

    def fully_connected(self, op: Any) -> None:
        """Gemm; in front of it the Flatten that TensorFlow Lite leaves out. Columns go from H,W,C to C,H,W."""
        options = self.reader.options(op, tflite.FullyConnectedOptions)
        source, weight, _ = op.InputsAsNumpy().tolist()
        value, weights = self.values[source], self.reader.constant(weight)
        shape = self.reader.shape(source)
        if len(shape) == 4:
            value = self.flatten(source, f"{self.name('reshape')}", source)
            self.maps[source] = shape[1:]
        if source in self.maps:
            weights = weights.reshape(-1, *self.maps[source]).transpose(0, 3, 1, 2).reshape(len(weights), -1)
        name = self.name("fc")
        inputs = [value, *self.parameters(op, name, weights)]
        value = self.node("Gemm", name, inputs, f"{name}_out", alpha=1.0, beta=1.0, transB=1)
        self.finish(op, name, value, options.FusedActivationFunction())

    def flatten(self, source: int, name: str, tensor: int) -> str:
        """The map as a row, with the quantisation of `tensor`."""
        value = self.node("Flatten", name, [self.values[source]], f"{name}_out", axis=1)
        return self.pair(name, value, tensor)

    def reshape(self, op: Any) -> None:
        """A row to a map of one channel, or a map to a row."""
        source, target = op.Inputs(0), op.Outputs(0)
        before, after = self.reader.shape(source), self.reader.shape(target)
        name = self.name("reshape")
        if len(before) == 4 and len(after) == 2:
            self.maps[target] = before[1:]
            self.values[target] = self.flatten(source, name, target)
            return
        assert len(before) == 2 and len(after) == 4 and after[3] == 1
        shape = self.initializer(f"{name}_shape", np.array([1, 1, *after[1:3]], np.int64))
        self.finish(op, name, self.node("Reshape", name, [self.values[source], shape], f"{name}_out"))

    def pool(self, op: Any) -> None:
        """AVERAGE_POOL_2D over the whole map."""
        options = self.reader.options(op, tflite.Pool2DOptions)
        assert options.FusedActivationFunction() == tflite.ActivationFunctionType.NONE
        window = [options.FilterHeight(), options.FilterWidth()]
        assert self.reader.shape(op.Inputs(0))[1:3] == window
        name, inputs = self.name("pool"), [self.values[op.Inputs(0)]]
        if self.global_pool:
            value = self.node("GlobalAveragePool", name, inputs, f"{name}_out")
        else:
            value = self.node("AveragePool", name, inputs, f"{name}_out", count_include_pad=0, kernel_shape=window,
                              pads=[0, 0, 0, 0], strides=window)  # fmt: skip
        self.finish(op, name, value)

    def operator(self, kind: str, op: Any) -> None:
        """One operator of the .tflite file."""
        match kind:
            case "CONV_2D" | "DEPTHWISE_CONV_2D":
                self.convolution(op, kind == "DEPTHWISE_CONV_2D")
            case "FULLY_CONNECTED":
                self.fully_connected(op)
            case "RESHAPE":
                self.reshape(op)
            case "AVERAGE_POOL_2D":
                self.pool(op)
            case "ADD":
                name, options = self.name("add"), self.reader.options(op, tflite.AddOptions)
                value = self.node("Add", name, [self.values[op.Inputs(0)], self.values[op.Inputs(1)]], f"{name}_out")
                self.finish(op, name, value, options.FusedActivationFunction())
            case "SOFTMAX":
                assert self.reader.options(op, tflite.SoftmaxOptions).Beta() == 1
                name = self.name("softmax")
                self.finish(op, name, self.node("Softmax", name, [self.values[op.Inputs(0)]], f"{name}_out", axis=-1))
            case _:
                raise ValueError(f"no twin for the operator {kind}")


def channels_first(shape: list[int]) -> list[int]:
    """Shape of a tensor in the ONNX file."""
    return [shape[0], shape[3], shape[1], shape[2]] if len(shape) == 4 else shape


def twin(name: str, content: bytes, global_pool: bool) -> onnx.ModelProto:
    """The ONNX model, with the float input `input` and output `output`."""
    reader = Reader(content)
    writer = Writer(reader, global_pool)
    source, result = reader.graph.Inputs(0), reader.graph.Outputs(0)
    writer.values[source] = writer.pair("input", "input", source)
    for kind, op in reader.operators():
        writer.operator(kind, op)
    ends = [
        helper.make_tensor_value_info(end, TensorProto.FLOAT, channels_first(reader.shape(tensor)))
        for end, tensor in (("input", source), ("output", result))
    ]
    graph = helper.make_graph(writer.nodes, name, ends[:1], ends[1:], writer.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8,
                              producer_name="tigris-pio networks")  # fmt: skip
    onnx.checker.check_model(model, full_check=True)
    return model

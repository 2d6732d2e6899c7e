"""A quantised network as float32."""

from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper


def float_twin(network: Path | onnx.ModelProto) -> onnx.ModelProto:
    """The network without its pairs of QuantizeLinear and DequantizeLinear, its weights and biases as float32."""
    model = network if isinstance(network, onnx.ModelProto) else onnx.load(network)
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    stands_for: dict[str, str] = {}
    nodes, used = [], []
    for node in model.graph.node:
        inputs = [stands_for.get(name, name) for name in node.input]
        if node.op_type == "QuantizeLinear":
            stands_for[node.output[0]] = inputs[0]
        elif node.op_type == "DequantizeLinear" and node.input[0] in constants:
            values, scale, zero_point = (constants[name] for name in node.input)
            axis = min(next((item.i for item in node.attribute if item.name == "axis"), 1), values.ndim - 1)
            shape = [1] * axis + [-1] + [1] * (values.ndim - axis - 1) if scale.ndim else []
            real = (values.astype(np.float32) - zero_point.reshape(shape)) * scale.reshape(shape)
            used.append(numpy_helper.from_array(real.astype(np.float32), node.output[0]))
        elif node.op_type == "DequantizeLinear":
            stands_for[node.output[0]] = inputs[0]
        else:
            copy = onnx.NodeProto()
            copy.CopyFrom(node)
            copy.input[:] = inputs
            nodes.append(copy)
            used += [numpy_helper.from_array(constants[name], name) for name in inputs if name in constants]
    nodes[-1].output[0] = model.graph.output[0].name
    graph = helper.make_graph(nodes, model.graph.name, model.graph.input, model.graph.output, used)
    twin = helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    onnx.checker.check_model(twin, full_check=True)
    return twin

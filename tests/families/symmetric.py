"""What the compiler says it does to asymmetric weights, done to the model.

The kernels of transposed convolutions take int8 weights without a zero point. An output channel whose integers leave
int8 once the zero point is taken off is rounded again, to a scale of a 127th of its largest weight; all others stay as
they are.
"""

from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper


def with_symmetric_weights(model: onnx.ModelProto) -> tuple[onnx.ModelProto, frozenset[str]]:
    """The model with such weights as float32 constants of the values the kernels use; the names of the nodes that
    have them."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in result.graph.initializer}
    producers = {name: node for node in result.graph.node for name in node.output}
    changed = set()
    for node in result.graph.node:
        axis = _output_axis(node)
        source = producers.get(node.input[1]) if axis is not None else None
        if source is None or source.op_type != "DequantizeLinear" or source.input[0] not in constants:
            continue
        stored, scale, zero = (constants[name] for name in source.input)
        rounded = _rounded_again(stored, scale, zero, axis, _attributes(source).get("axis", 1))
        if rounded is not None:
            name = f"{node.name}/symmetric"
            result.graph.initializer.append(numpy_helper.from_array(rounded, name))
            node.input[1] = name
            changed.add(node.name)
    return result, frozenset(changed)


def _attributes(node: onnx.NodeProto) -> dict[str, Any]:
    return {item.name: helper.get_attribute_value(item) for item in node.attribute}


def _output_axis(node: onnx.NodeProto) -> int | None:
    """The axis of the output channels in a node's weights; None when its kernel takes zero points, or it has none."""
    attributes = _attributes(node)
    return 1 if node.op_type == "ConvTranspose" and attributes.get("group", 1) == 1 else None


def _rounded_again(
    stored: np.ndarray, scale: np.ndarray, zero: np.ndarray, axis: int, scale_axis: int
) -> np.ndarray | None:
    """The real weights after it; None where all channels fit."""
    shape = [1] * stored.ndim
    if scale.size > 1:
        shape[scale_axis] = -1
    integers = stored.astype(np.int64) - zero.astype(np.int64).reshape(shape)
    real = (integers.astype(np.float32) * scale.reshape(shape)).astype(np.float32)
    others = tuple(i for i in range(stored.ndim) if i != axis % stored.ndim)
    fits = (integers.min(others, keepdims=True) >= -128) & (integers.max(others, keepdims=True) <= 127)
    step = (np.abs(real).max(others, keepdims=True) / np.float32(127)).astype(np.float64)
    step[step == 0] = 1
    if fits.all():
        return None
    again: np.ndarray = np.where(fits, real, np.rint(real / step) * step).astype(np.float32)
    return again

"""Corrects shapes of pools and resized tensors that inference of onnx computes otherwise than onnxruntime.

The rewritten nodes serve for inference alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx.shape_inference
from onnx import numpy_helper

_RESIZING = ("Resize", "Upsample")
_POOLS = ("MaxPool", "AveragePool", "LpPool")


def correct_pools(model: onnx.ModelProto) -> None:
    """Rewrites the pools of `model` whose inferred shape is wrong.

    ONNX's specification and onnxruntime leave out a last window that would start in the padding behind the tensor.
    Shape inference of several onnx versions counts it.
    """
    pools = [node for node in model.graph.node if node.op_type in _POOLS and attributes_of(node).get("ceil_mode")]
    _correct(model, pools, _correct_pool)


def correct_resizes(model: onnx.ModelProto) -> None:
    """Changes the factors of Resize and Upsample in `model` whose inferred size is wrong.

    PyTorch and onnxruntime multiply a size by a factor in float32: 10 times 1.3 is 13. Shape inference of onnx
    multiplies the float32 nearest to 1.3 in double precision, and finds 12.
    """
    constants = {item.name: item for item in model.graph.initializer}
    constants |= {node.output[0]: value for node in model.graph.node if node.op_type == "Constant"
                  and isinstance(value := attributes_of(node).get("value"), onnx.TensorProto)}
    nodes = [node for node in model.graph.node if node.op_type in _RESIZING and _scales(node, constants) is not None]
    if any(not float(scale).is_integer() for node in nodes for scale in _scales(node, constants) or ()):
        _correct(model, nodes, lambda node, source, result: _correct_resize(model, node, constants, source, result))


def _correct(model: onnx.ModelProto, nodes: list[onnx.NodeProto],
             correct: Callable[[onnx.NodeProto, Sequence[int], Sequence[int]], bool]) -> None:
    """Rewrites nodes front to back, so that inference finds each shape right. A node is corrected once at most."""
    while nodes:
        shapes = inferred_shapes(model)
        found = (node for node in nodes if node.input[0] in shapes and node.output[0] in shapes
                 and correct(node, shapes[node.input[0]], shapes[node.output[0]]))
        node = next(found, None)
        if node is None:
            return
        nodes.remove(node)
        drop_declared_shapes(model)


def correct_pool(node: onnx.NodeProto, inputs: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    """Rewrites one node if the type that inference `found` for its output is wrong; returns whether it did.

    inputs, found: an onnx.TypeProto for each input and output
    """
    if node.op_type not in _POOLS or not attributes_of(node).get("ceil_mode"):
        return False
    shapes = [[dim.dim_value for dim in kind.tensor_type.shape.dim]
              for kind in (inputs[node.input[0]], found[node.output[0]])]
    return all(len(shape) > 2 for shape in shapes) and _correct_pool(node, *shapes)


def inferred_shapes(model: onnx.ModelProto) -> Mapping[str, Sequence[int]]:
    """The shapes that inference finds without the model's declarations."""
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    drop_declared_shapes(bare)
    graph = onnx.shape_inference.infer_shapes(bare, strict_mode=False).graph
    shapes = {}
    for value in (*graph.value_info, *graph.output, *graph.input):
        dims = value.type.tensor_type.shape.dim
        if dims and all(dim.WhichOneof("value") == "dim_value" for dim in dims):
            shapes[value.name] = [dim.dim_value for dim in dims]
    return shapes


def drop_declared_shapes(model: onnx.ModelProto) -> None:
    """Removes declared shapes, which tools may have written by the same wrong inference."""
    del model.graph.value_info[:]
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")


def attributes_of(node: onnx.NodeProto) -> dict[str, Any]:
    """A node's attributes by name."""
    return {item.name: onnx.helper.get_attribute_value(item) for item in node.attribute}


def _correct_pool(node: onnx.NodeProto, source: Sequence[int], result: Sequence[int]) -> bool:
    attributes = attributes_of(node)
    if not attributes.get("ceil_mode") or attributes.get("auto_pad", b"NOTSET") != b"NOTSET":
        return False
    axes = len(source) - 2
    kernel = attributes["kernel_shape"]
    strides, dilations = (list(attributes.get(name, [1] * axes)) for name in ("strides", "dilations"))
    pads = list(attributes.get("pads", [0] * 2 * axes))
    counts = []
    for axis in range(axes):
        size, before = source[2 + axis], pads[axis]
        span = size + before + pads[axis + axes] - (kernel[axis] - 1) * dilations[axis] - 1
        count = math.ceil(span / strides[axis]) + 1
        counts.append(count - ((count - 1) * strides[axis] >= size + before))
    if list(result[2:]) == counts:
        return False
    for axis in range(axes):
        reach = (counts[axis] - 1) * strides[axis] + (kernel[axis] - 1) * dilations[axis] + 1
        pads[axis + axes] = max(0, reach - source[2 + axis] - pads[axis])
    kept = [item for item in node.attribute if item.name not in ("ceil_mode", "pads")]
    del node.attribute[:]
    node.attribute.extend([*kept, onnx.helper.make_attribute("pads", pads)])
    return True


def _scales(node: onnx.NodeProto, constants: dict[str, onnx.TensorProto]) -> list[float] | None:
    """The factors of a node; None if they are no constant input."""
    name = next((item for item in node.input[1:] if item in constants
                 and constants[item].data_type == onnx.TensorProto.FLOAT and item == node.input[-1]), None)
    scales = [] if name is None else numpy_helper.to_array(constants[name]).reshape(-1).tolist()
    return scales or None


def _correct_resize(model: onnx.ModelProto, node: onnx.NodeProto, constants: dict[str, onnx.TensorProto],
                    source: Sequence[int], result: Sequence[int]) -> bool:
    scales = _scales(node, constants) or []
    axes = [int(axis) % len(source) for axis in attributes_of(node).get("axes", range(len(source)))]
    if len(axes) != len(scales):
        return False
    sizes = list(source)
    for axis, scale in zip(axes, scales, strict=True):
        sizes[axis] = int(np.float32(source[axis]) * np.float32(scale))
    if sizes == list(result):
        return False
    # Half an element more than the size keeps rounding away from the neighbouring sizes.
    factors = [(sizes[axis] + 0.5) / source[axis] if sizes[axis] != source[axis] else 1.0 for axis in axes]
    name = f"{node.output[0]}/scales"
    constants[name] = numpy_helper.from_array(np.array(factors, np.float32), name)
    model.graph.initializer.append(constants[name])
    node.input[len(node.input) - 1] = name
    return True

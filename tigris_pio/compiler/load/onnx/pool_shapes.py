"""Corrects the shapes of pools with ceil_mode.

ONNX's specification and onnxruntime leave out a last window that would start in the padding behind the tensor. Shape
inference of several onnx versions counts it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import onnx
import onnx.shape_inference

_POOLS = ("MaxPool", "AveragePool", "LpPool")


def correct_pools(model: onnx.ModelProto) -> None:
    """Rewrites the pools of `model` whose inferred shape is wrong, front to back, so that inference finds it right.

    The rewritten nodes serve for inference alone: their pads are not the model's.
    """
    pools = [node for node in model.graph.node if node.op_type in _POOLS and attributes_of(node).get("ceil_mode")]
    changed = bool(pools)
    while changed:
        shapes = inferred_shapes(model)
        found = (node for node in pools if node.input[0] in shapes and node.output[0] in shapes
                 and _correct(node, shapes[node.input[0]], shapes[node.output[0]]))
        changed = (node := next(found, None)) is not None
        if node is not None:
            pools.remove(node)
            drop_declared_shapes(model)


def correct_pool(node: onnx.NodeProto, inputs: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    """Rewrites one node if the type that inference `found` for its output is wrong; returns whether it did.

    inputs, found: an onnx.TypeProto for each input and output
    """
    if node.op_type not in _POOLS or not attributes_of(node).get("ceil_mode"):
        return False
    shapes = [[dim.dim_value for dim in kind.tensor_type.shape.dim]
              for kind in (inputs[node.input[0]], found[node.output[0]])]
    return all(len(shape) > 2 for shape in shapes) and _correct(node, *shapes)


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


def _correct(node: onnx.NodeProto, source: Sequence[int], result: Sequence[int]) -> bool:
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

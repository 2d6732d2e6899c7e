"""Resizing by factors: sizes as PyTorch and onnxruntime have them, whose product of a size and a factor is float32.

10 times 1.3 are 13 there; shape inference of onnx multiplies the float32 next to 1.3 in double and finds 12.
"""

from __future__ import annotations

import numpy as np
import onnx
from onnx import numpy_helper

from tigris_pio.compiler.load.onnx.pool_shapes import attributes_of, forget_declared, inferred

_RESIZING = ("Resize", "Upsample")


def settle_resizes(model: onnx.ModelProto) -> None:
    """Gives nodes of `model` for which inference finds other sizes factors with which it finds these, front to back.

    The rewritten nodes infer the right shape and serve for nothing else.
    """
    constants = {item.name: item for item in model.graph.initializer}
    constants |= {node.output[0]: value for node in model.graph.node if node.op_type == "Constant"
                  and isinstance(value := attributes_of(node).get("value"), onnx.TensorProto)}
    nodes = [node for node in model.graph.node if node.op_type in _RESIZING and _scales(node, constants) is not None]
    changed = any(not float(scale).is_integer() for node in nodes for scale in _scales(node, constants) or ())
    while changed:
        shapes = inferred(model)
        found = (node for node in nodes if node.input[0] in shapes and node.output[0] in shapes and _correct(
            model, node, constants, list(shapes[node.input[0]]), list(shapes[node.output[0]])))
        changed = (node := next(found, None)) is not None
        if node is not None:
            nodes.remove(node)  # once is enough, and sizes that float32 cannot tell apart are never right
            forget_declared(model)


def _scales(node: onnx.NodeProto, constants: dict[str, onnx.TensorProto]) -> list[float] | None:
    """The factors, where they are an input that is known."""
    name = next((item for item in node.input[1:] if item in constants
                 and constants[item].data_type == onnx.TensorProto.FLOAT and item == node.input[-1]), None)
    scales = [] if name is None else numpy_helper.to_array(constants[name]).reshape(-1).tolist()
    return scales or None


def _correct(model: onnx.ModelProto, node: onnx.NodeProto, constants: dict[str, onnx.TensorProto], source: list[int],
             result: list[int]) -> bool:
    scales = _scales(node, constants) or []
    axes = [int(axis) % len(source) for axis in attributes_of(node).get("axes", range(len(source)))]
    if len(axes) != len(scales):
        return False
    sizes = list(source)
    for axis, scale in zip(axes, scales, strict=True):
        sizes[axis] = int(np.float32(source[axis]) * np.float32(scale))
    if sizes == result:
        return False
    # Half an element more than a size is far from the next on both sides.
    factors = [(sizes[axis] + 0.5) / source[axis] if sizes[axis] != source[axis] else 1.0 for axis in axes]
    name = f"{node.output[0]}/scales"
    constants[name] = numpy_helper.from_array(np.array(factors, np.float32), name)
    model.graph.initializer.append(constants[name])
    node.input[len(node.input) - 1] = name
    return True

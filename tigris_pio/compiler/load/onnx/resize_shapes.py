"""Corrects the shapes of Resize and Upsample with scale factors.

PyTorch and onnxruntime multiply a size by a factor in float32: 10 times 1.3 is 13. Shape inference of onnx multiplies
the float32 nearest to 1.3 in double precision, and finds 12.
"""

from __future__ import annotations

import numpy as np
import onnx
from onnx import numpy_helper

from tigris_pio.compiler.load.onnx.pool_shapes import attributes_of, drop_declared_shapes, inferred_shapes

_RESIZING = ("Resize", "Upsample")


def correct_resizes(model: onnx.ModelProto) -> None:
    """Changes the factors of nodes of `model` whose inferred size is wrong, front to back, so that it becomes right.

    The changed nodes serve for inference alone.
    """
    constants = {item.name: item for item in model.graph.initializer}
    constants |= {node.output[0]: value for node in model.graph.node if node.op_type == "Constant"
                  and isinstance(value := attributes_of(node).get("value"), onnx.TensorProto)}
    nodes = [node for node in model.graph.node if node.op_type in _RESIZING and _scales(node, constants) is not None]
    changed = any(not float(scale).is_integer() for node in nodes for scale in _scales(node, constants) or ())
    while changed:
        shapes = inferred_shapes(model)
        found = (node for node in nodes if node.input[0] in shapes and node.output[0] in shapes and _correct(
            model, node, constants, list(shapes[node.input[0]]), list(shapes[node.output[0]])))
        changed = (node := next(found, None)) is not None
        if node is not None:
            nodes.remove(node)  # a second correction would change nothing
            drop_declared_shapes(model)


def _scales(node: onnx.NodeProto, constants: dict[str, onnx.TensorProto]) -> list[float] | None:
    """The factors of a node; None if they are no constant input."""
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
    # Half an element more than the size keeps rounding away from the neighbouring sizes.
    factors = [(sizes[axis] + 0.5) / source[axis] if sizes[axis] != source[axis] else 1.0 for axis in axes]
    name = f"{node.output[0]}/scales"
    constants[name] = numpy_helper.from_array(np.array(factors, np.float32), name)
    model.graph.initializer.append(constants[name])
    node.input[len(node.input) - 1] = name
    return True

"""Non-maximum suppression: the kernel that TensorFlow Lite's and ONNX's operators are made of."""

from __future__ import annotations

import math

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import plain
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import TFLITE, operator
from tigris_pio.compiler.lower.storage import FLOAT, Cell, Value
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import SuppressParams

_LARGEST = 65535


@operator("SUPPRESS", domain=TFLITE, summary="non-maximum suppression")
def lower_suppress(builder: Builder, node: Node) -> None:
    """SUPPRESS of boxes [boxes, 4] and scores [boxes, classes]; attributes are the record's fields."""
    output = node.outputs[0]
    (boxes, _), (_, classes) = (builder.shape(name) for name in node.inputs)
    count = builder.shape(output)[0]
    if max(boxes, classes, count) > _LARGEST:
        raise Refusal(f"boxes: {boxes}, classes: {classes}, found: {count}; at most {_LARGEST} of each are supported")
    sources = [(builder.arranged(name, plain(builder.shape(name)), FLOAT).storage, None) for name in node.inputs]
    params = SuppressParams(boxes, classes, count, min(int(node.attributes["per_class"]), boxes),
                            int(node.attributes["inclusive"]), int(node.attributes["by_score"]),
                            float(node.attributes["score_threshold"]), float(node.attributes["threshold"]))
    found = builder.emit_part(output, OpKind.SUPPRESS, DType.FLOAT32, sources,
                              Cell((1, 1, 1, math.prod(builder.shape(output))), fixed=True), FLOAT, params,
                              scratch_bytes=boxes)
    builder.add_value(output, Value(found, plain(builder.shape(output))))

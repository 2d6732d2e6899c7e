"""Non-maximum suppression: the kernel that TensorFlow Lite's and ONNX's operators are made of."""

from __future__ import annotations

import math

import numpy as np

from tigris_pio.compiler.ir.graph import Node, Tensor
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import plain
from tigris_pio.compiler.lower.operators.compose import Composer
from tigris_pio.compiler.lower.operators.select import integers
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import TFLITE, operator
from tigris_pio.compiler.lower.storage import FLOAT, Cell, Value
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import SuppressParams

_LARGEST = 65535
#: No score is lower.
_ANY_SCORE = float(np.finfo(np.float32).min)


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


@operator("NonMaxSuppression", summary="one image; constant limits. As many rows as there can be: those behind the "
          "boxes found are -1")
def lower_non_max_suppression(builder: Builder, node: Node) -> None:
    """SUPPRESS of boxes with their lower corners first, and [image, class, box] of what it found."""
    composer = Composer(builder, node)
    boxes, scores, output = *node.inputs[:2], node.outputs[0]
    (batch, count, _), (_, classes, _) = builder.shape(boxes), builder.shape(scores)
    rows = builder.shape(output)[0]
    if batch != 1:
        raise Refusal(f"{batch} images; give each a node of its own")
    limits = [None if (given := integers(builder, node, place, "limits")) is None else float(given.reshape(-1)[0])
              for place in (3, 4)]
    flat = composer.part("Reshape", [boxes], (count, 4))
    first, second = (_columns(composer, flat, start, 2) for start in (0, 2))
    if node.attributes.get("center_point_box", 0):
        half = composer.part("Mul", [second, composer.constant(0.5)], (count, 2))
        first, second = (composer.part(op, [first, half], (count, 2)) for op in ("Sub", "Add"))
    corners = [composer.part(op, [first, second], (count, 2)) for op in ("Min", "Max")]
    corners_first = composer.part("Concat", corners, (count, 4), {"axis": 1})
    by_box = composer.part("Transpose", [composer.part("Reshape", [scores], (classes, count))], (count, classes),
                           {"perm": (1, 0)})
    found = builder.fresh(f"{output}/found")
    builder.tensors[found] = Tensor(found, (rows, 3), np.dtype(np.float32))
    lower_suppress(builder, Node(node.name, "SUPPRESS", (corners_first, by_box), (found,), {
        "per_class": rows // classes, "inclusive": 0, "by_score": 0, "threshold": limits[0] or 0.0,
        "score_threshold": _ANY_SCORE if limits[1] is None else limits[1]}, TFLITE))
    kind, place = (_columns(composer, found, at, 1) for at in (0, 1))
    image = composer.part("Min", [kind, composer.constant(0.0)], (rows, 1))
    composer.last("Concat", [image, kind, place], {"axis": 1})
    builder.warnings.append(f"node {node.name}: gives {rows} rows, of which those behind the boxes found are -1")


def _columns(composer: Composer, name: str, start: int, count: int) -> str:
    return composer.part("Slice", [name], (composer.builder.shape(name)[0], count),
                         {"axes": (1,), "starts": (start,), "ends": (start + count,)})

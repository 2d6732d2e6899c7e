"""TopK, OneHot and non-maximum suppression, for operators of TensorFlow Lite and ONNX."""

from __future__ import annotations

import math

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import row_major
from tigris_pio.compiler.lower.operators.compose import Composer
from tigris_pio.compiler.lower.operators.gather import emit_gather
from tigris_pio.compiler.lower.operators.select import integer_input
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import TFLITE, operator
from tigris_pio.compiler.lower.storage import FLOAT, Cell, Value
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import SuppressParams, TopKParams

_LONGEST = 1 << 24


@operator("TopK", summary="constant k, any axis; sorted in either case")
def lower_top_k(builder: Builder, node: Node) -> None:
    """TOP_K for the positions, GATHER for the values."""
    name = node.inputs[0]
    values, positions = (*node.outputs, "")[:2]
    shape = builder.shape(name)
    axis = int(node.attributes.get("axis", -1)) % len(shape)
    if shape[axis] > _LONGEST:
        raise Refusal(f"its axis has {shape[axis]} elements; at most {_LONGEST} are supported")
    count = builder.shape(values or positions)[axis]
    inner, outer = math.prod(shape[axis + 1 :]), math.prod(shape[:axis])
    target = positions
    if not target or not builder.is_read(target):
        target = builder.declare(f"{values}/positions", (*shape[:axis], count, *shape[axis + 1 :]))
    found = builder.value_in_order(name, row_major(shape), FLOAT)
    params = TopKParams(int(not node.attributes.get("largest", 1)), count, shape[axis], inner)
    builder.emit(OpKind.TOP_K, DType.FLOAT32, [(found.storage, None)], target, row_major(builder.shape(target)), FLOAT,
                 Cell((1, 1, 1, outer * count * inner), fixed=True), params, per_image=False)
    if values and builder.is_read(values):
        emit_gather(builder, name, target, values, (outer, shape[axis], inner, count), (count * inner, inner, 1))


@operator("OneHot", summary="constant depth, any axis")
def lower_one_hot(builder: Builder, node: Node) -> None:
    """Where the index, counted from the start or from the end, equals each position."""
    composer = Composer(builder, node)
    indices, _, values = node.inputs
    target = builder.shape(node.outputs[0])
    axis = int(node.attributes.get("axis", -1)) % len(target)
    depth = integer_input(builder, node, 1, "depth")
    if depth is None or int(depth.reshape(-1)[0]) != target[axis]:
        raise Refusal("its depth contradicts its output")
    shape = builder.shape(indices)
    spread = composer.add("Reshape", [indices], (*shape[:axis], 1, *shape[axis:]))
    counted = np.arange(target[axis]).reshape(-1, *(1,) * (len(target) - axis - 1))
    here = composer.add("Equal", [spread, composer.constant(counted)], target)
    from_end = composer.add("Equal", [spread, composer.constant(counted - target[axis])], target)
    hot = composer.add("Or", [here, from_end], target)
    if builder.is_constant(values):
        off, on = (composer.constant(value) for value in builder.float_constant(values).reshape(-1))
    else:
        off, on = (composer.add("Gather", [values, _index(builder, composer, place)], ()) for place in (0, 1))
    composer.finish("Where", [hot, on, off])


def _index(builder: Builder, composer: Composer, place: int) -> str:
    name = builder.fresh(f"{composer.node.outputs[0]}/index")
    builder.define_constant(name, np.array(place, np.int64))
    return name


_LARGEST = 65535
#: A threshold that every score reaches.
_ANY_SCORE = float(np.finfo(np.float32).min)


@operator("SUPPRESS", domain=TFLITE, summary="non-maximum suppression")
def lower_suppress(builder: Builder, node: Node) -> None:
    """SUPPRESS of boxes [boxes, 4] and scores [boxes, classes]; attributes are fields of SuppressParams."""
    output = node.outputs[0]
    (boxes, _), (_, classes) = (builder.shape(name) for name in node.inputs)
    count = builder.shape(output)[0]
    if max(boxes, classes, count) > _LARGEST:
        raise Refusal(f"boxes: {boxes}, classes: {classes}, found: {count}; at most {_LARGEST} of each are supported")
    values = [builder.value_in_order(name, row_major(builder.shape(name)), FLOAT) for name in node.inputs]
    sources = [(value.storage, None) for value in values]
    params = SuppressParams(boxes, classes, count, min(int(node.attributes["per_class"]), boxes),
                            int(node.attributes["inclusive"]), int(node.attributes["by_score"]),
                            float(node.attributes["score_threshold"]), float(node.attributes["threshold"]))
    found = builder.emit_part(output, OpKind.SUPPRESS, DType.FLOAT32, sources,
                              Cell((1, 1, 1, math.prod(builder.shape(output))), fixed=True), FLOAT, params,
                              scratch_bytes=boxes)
    builder.add_value(output, Value(found, row_major(builder.shape(output))))


@operator("NonMaxSuppression", summary="one image; constant limits. As many rows as there can be; rows after the found "
          "boxes are -1")
def lower_non_max_suppression(builder: Builder, node: Node) -> None:
    """SUPPRESS of boxes with their lower corners first; its results become rows of [image, class, box]."""
    composer = Composer(builder, node)
    boxes, scores, output = *node.inputs[:2], node.outputs[0]
    (batch, count, _), (_, classes, _) = builder.shape(boxes), builder.shape(scores)
    rows = builder.shape(output)[0]
    if batch != 1:
        raise Refusal(f"{batch} images; give each a node of its own")
    limits = [None if (given := integer_input(builder, node, place, "limits")) is None else float(given.reshape(-1)[0])
              for place in (3, 4)]
    flat = composer.add("Reshape", [boxes], (count, 4))
    first, second = (_columns(composer, flat, start, 2) for start in (0, 2))
    if node.attributes.get("center_point_box", 0):
        half = composer.add("Mul", [second, composer.constant(0.5)], (count, 2))
        first, second = (composer.add(op, [first, half], (count, 2)) for op in ("Sub", "Add"))
    corners = [composer.add(op, [first, second], (count, 2)) for op in ("Min", "Max")]
    corners_first = composer.add("Concat", corners, (count, 4), {"axis": 1})
    by_box = composer.add("Transpose", [composer.add("Reshape", [scores], (classes, count))], (count, classes),
                          {"perm": (1, 0)})
    found = builder.declare(f"{output}/found", (rows, 3))
    lower_suppress(builder, Node(node.name, "SUPPRESS", (corners_first, by_box), (found,), {
        "per_class": rows // classes, "inclusive": 0, "by_score": 0, "threshold": limits[0] or 0.0,
        "score_threshold": _ANY_SCORE if limits[1] is None else limits[1]}, TFLITE))
    kind, place = (_columns(composer, found, at, 1) for at in (0, 1))
    image = composer.add("Min", [kind, composer.constant(0.0)], (rows, 1))
    composer.finish("Concat", [image, kind, place], {"axis": 1})
    builder.warnings.append(f"node {node.name}: always has {rows} rows; rows after the found boxes are -1")


def _columns(composer: Composer, name: str, start: int, count: int) -> str:
    return composer.add("Slice", [name], (composer.builder.shape(name)[0], count),
                        {"axes": (1,), "starts": (start,), "ends": (start + count,)})

"""TFLite_Detection_PostProcess: the boxes of a single-shot detector (TensorFlow Lite Micro's detection_postprocess.cc).

Boxes are decoded in float32, boxes that overlap better ones are suppressed, and zeros fill the outputs behind the rest.
"""

from __future__ import annotations

import numpy as np
import onnx

from tigris_pio.compiler.load.tflite.custom import number
from tigris_pio.compiler.load.tflite.layer import Layer
from tigris_pio.compiler.load.tflite.network import DOMAIN, Unsupported
from tigris_pio.compiler.load.tflite.operators.registry import handler

_ENCODINGS, _SCORES, _ANCHORS = 0, 1, 2
_OUTPUTS = 4


@handler("TFLite_Detection_PostProcess", summary="float32; constant anchors; one class a detection, or all classes by "
         "themselves with use_regular_nms")
def read_detection(layer: Layer) -> None:
    """Decoded boxes; SUPPRESS; Gather of the boxes that remain."""
    encodings, scores = layer.shape(_ENCODINGS), layer.shape(_SCORES)
    classes, regular = int(number(layer, "num_classes")), bool(number(layer, "use_regular_nms", 0.0))
    if len(encodings) != 3 or len(scores) != 3 or encodings[:2] != scores[:2] or encodings[0] != 1 or encodings[2] < 4:
        raise layer.fault(f"boxes of {list(encodings)} with scores of {list(scores)}")
    if classes < 1 or not 0 <= scores[2] - classes <= 1 or len(layer.operator.outputs) != _OUTPUTS:
        raise layer.fault(f"{classes} classes of {list(scores)}, outputs: {len(layer.operator.outputs)}")
    if int(number(layer, "max_classes_per_detection")) != 1 and not regular and classes > 1:
        raise Unsupported("several classes of a detection")
    count = int(number(layer, "max_detections"))
    if count < 1:
        raise layer.fault(f"max_detections {count}")
    boxes = _decoded(layer, encodings)
    every = _part(layer, "Slice", [layer.input(_SCORES), *layer.limits([scores[2] - classes], [scores[2]], [2])],
                  (1, scores[1], classes))
    every = _part(layer, "Reshape", [every, layer.numbers((scores[1], classes))], (scores[1], classes))
    ranked = every
    if not regular:
        ranked = _part(layer, "ReduceMax", [every, layer.numbers([1])], (scores[1], 1), {"keepdims": 1})
    found = layer.part("SUPPRESS", [boxes, ranked], (count, 3), {
        "per_class": int(number(layer, "detections_per_class", 100.0)) if regular else count, "inclusive": 1,
        "by_score": int(regular), "score_threshold": number(layer, "nms_score_threshold"),
        "threshold": number(layer, "nms_iou_threshold")}, real=True, domain=DOMAIN)
    kind, position, score = (_part(layer, "Slice", [found, *layer.limits([column], [column + 1], [1])], (count, 1))
                          for column in range(3))
    if not regular:
        best = layer.real(layer.part("ArgMax", [every], (scores[1], 1), {"axis": 1, "keepdims": 1}, dtype=np.int64))
        kind = _gathered(layer, best, position, (count, 1))
    one = _part(layer, "Add", [position, layer.number(1.0)], (count, 1))
    is_one = _part(layer, "Clip", [one, layer.number(0.0), layer.number(1.0)], (count, 1))
    results = (_part(layer, "Mul", [_gathered(layer, boxes, position, (count, 4)), is_one], (count, 4)),
               _part(layer, "Mul", [kind, is_one], (count, 1)), score,
               _part(layer, "ReduceSum", [is_one, layer.numbers([0, 1])], (1, 1), {"keepdims": 1}))
    for output, (result, shape) in enumerate(zip(results, ((1, count, 4), (1, count), (1, count), (1,)), strict=True)):
        layer.write("Reshape", [result, layer.numbers(shape)], shape, output=output)


def _part(layer: Layer, op: str, inputs: list[str], shape: tuple[int, ...],
          attributes: dict[str, int] | None = None) -> str:
    return layer.part(op, inputs, shape, attributes, real=True)


def _gathered(layer: Layer, source: str, position: str, shape: tuple[int, int]) -> str:
    """The rows of a matrix at the indices [count, 1]; a negative index selects from the end."""
    flat = _part(layer, "Reshape", [position, layer.numbers(shape[:1])], shape[:1])
    positions = layer.part("Cast", [flat], shape[:1], {"to": onnx.TensorProto.INT64}, dtype=np.int64)
    return _part(layer, "Gather", [source, positions], shape, {"axis": 0})


def _decoded(layer: Layer, encodings: tuple[int, ...]) -> str:
    """[boxes, 4]: lowest row and column, highest row and column, decoded from centres and sizes relative to anchors."""
    count = encodings[1]
    if layer.constant(_ANCHORS) is None:
        raise Unsupported("its anchors are computed at run time")
    anchors = layer.network.real(layer.input(_ANCHORS)).astype(np.float64)
    if anchors.shape != (count, 4):
        raise layer.fault(f"anchors of {list(anchors.shape)} instead of [{count}, 4]")
    scales = [number(layer, f"{letter}_scale") for letter in "yxhw"]
    if not all(scales):
        raise layer.fault(f"scales {scales}")
    halves = []
    for first in (0, 2):
        part = _part(layer, "Slice", [layer.input(_ENCODINGS), *layer.limits([first], [first + 2], [2])], (1, count, 2))
        halves.append(_part(layer, "Reshape", [part, layer.numbers((count, 2))], (count, 2)))
    size = anchors[:, 2:]
    factors = [layer.network.add_constant(f"{layer.name}/{name}", value.astype(np.float32)) for name, value in (
        ("factor", size / np.array(scales[:2])), ("centre", anchors[:, :2]), ("scale", 1 / np.array([scales[2:]])),
        ("half", size / 2))]
    centre = _part(layer, "Mul", [halves[0], factors[0]], (count, 2))
    centre = _part(layer, "Add", [centre, factors[1]], (count, 2))
    half = _part(layer, "Exp", [_part(layer, "Mul", [halves[1], factors[2]], (count, 2))], (count, 2))
    half = _part(layer, "Mul", [half, factors[3]], (count, 2))
    ends = [_part(layer, op, [centre, half], (count, 2)) for op in ("Sub", "Add")]
    return _part(layer, "Concat", ends, (count, 4), {"axis": 1})

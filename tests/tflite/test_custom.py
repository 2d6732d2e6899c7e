"""TensorFlow Lite Micro's custom operators: rings of rows, and boxes of a detector."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers

from tests.tflite.compare import SLOW, check_exact, random_input
from tests.tflite.tflm import Tflm
from tests.tflite.writer import Operator, Tensor, constant, write
from tigris_pio import ModelError, Session, UnsupportedError, compile_model


def ring(slots: int, options: bytes, width: int = 1) -> bytes:
    x, y = (Tensor(name, (1, rows, width, 3), "int8", 0.1, -7, variable=name == "y")
            for name, rows in (("x", 1), ("y", slots)))
    z = Tensor("z", y.shape, "int8", 0.2, 3)
    operators = [Operator("CIRCULAR_BUFFER", ["x"], ["y"], custom=options), Operator("RELU", ["y"], ["z"])]
    return write([x, y, z], operators, ["x"], ["z"])


@pytest.mark.parametrize(("slots", "options"), [
    (4, {"cycles_max": 1}), (1, {"cycles_max": 1}), (5, None), (13, None),
])  # fmt: skip
def test_a_ring_has_the_newest_rows(slots: int, options: dict[str, int] | None) -> None:
    """Zeros before the first run, as TensorFlow Lite Micro begins."""
    data = ring(slots, b"" if options is None else flexbuffers.Dumps(options), 2)
    check_exact(data, data, {"x": random_input((1, 1, 2, 3))}, runs=7)


@pytest.mark.parametrize(("slots", "options"), [(4, {"cycles_max": 3}), (6, None)])
def test_a_ring_that_ends_runs_is_refused(slots: int, options: dict[str, int] | None) -> None:
    with pytest.raises(UnsupportedError, match=r"CIRCULAR_BUFFER_0 .*all but one of [23] runs"):
        compile_model(ring(slots, b"" if options is None else flexbuffers.Dumps(options)))


@pytest.mark.parametrize("options", [b"\1", b"\xff" * 9, flexbuffers.Dumps([1, 2]), bytes(1 << 17)])
def test_damaged_options_are_refused(options: bytes) -> None:
    with pytest.raises((ModelError, UnsupportedError), match="CIRCULAR_BUFFER_0"):
        compile_model(ring(4, options))


BOXES, CLASSES, COUNT = 40, 5, 7


def detector(background: int, options: dict[str, Any]) -> bytes:
    random = np.random.default_rng(background)
    anchors = np.concatenate([random.uniform(0.2, 0.8, (BOXES, 2)), random.uniform(0.1, 0.4, (BOXES, 2))], 1)
    tensors = [Tensor("x", (1, BOXES, 4), "float32"), Tensor("s", (1, BOXES, CLASSES + background), "float32"),
               constant("a", anchors.astype(np.float32)), Tensor("boxes", (1, COUNT, 4), "float32"),
               *(Tensor(name, (1, COUNT), "float32") for name in ("classes", "scores")),
               Tensor("count", (1,), "float32")]
    given = {"max_detections": COUNT, "max_classes_per_detection": 1, "detections_per_class": 5,
             "use_regular_nms": False, "nms_score_threshold": 0.3, "nms_iou_threshold": 0.4, "num_classes": CLASSES,
             "y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0, **options}
    operator = Operator("TFLite_Detection_PostProcess", ["x", "s", "a"], ["boxes", "classes", "scores", "count"],
                        custom=bytes(flexbuffers.Dumps(given)))
    return write(tensors, [operator], ["x", "s"], ["boxes", "classes", "scores", "count"])


@pytest.mark.parametrize(("background", "options"), [
    (0, {}), (1, {}), (1, {"use_regular_nms": True}), (0, {"use_regular_nms": True, "detections_per_class": 1}),
    (1, {"nms_score_threshold": 0.93}), (0, {"nms_iou_threshold": 1.0}), (0, {"nms_score_threshold": 2.0}),
    (1, {"nms_iou_threshold": 0.05, "use_regular_nms": True}),
])  # fmt: skip
def test_detections_are_the_references(background: int, options: dict[str, Any]) -> None:
    """With the memory there is and, once, with little; what the reference leaves unwritten is zero."""
    data = detector(background, options)
    reference = Tflm(data)
    whole = compile_model(data)
    small = whole if options else compile_model(data, fast=int(whole.plan.fast_bytes * 0.8), slow=SLOW)
    with Session(whole) as session, Session(small) as other:
        for seed in range(4):
            random = np.random.default_rng(seed)
            x = random.normal(0, 1.5, (1, BOXES, 4)).astype(np.float32)
            s = random.uniform(0, 1, (1, BOXES, CLASSES + background)).astype(np.float32).round(2)
            boxes, classes, scores, count = reference.run([x, s], 4)
            got, again = session.run({"x": x, "s": s}), other.run({"x": x, "s": s})
            assert all(got[name].tobytes() == again[name].tobytes() for name in got)
            found = int(count[0])
            assert got["count"][0] == found
            np.testing.assert_allclose(got["boxes"][0, :found], boxes[0, :found], rtol=1e-4, atol=1e-6)
            assert got["classes"][0, :found].tolist() == classes[0, :found].tolist()
            assert got["scores"][0, :found].tolist() == scores[0, :found].tolist()
            assert not any(got[name][0, found:].any() for name in ("boxes", "classes", "scores"))


@pytest.mark.parametrize(("options", "reason"), [
    ({"max_classes_per_detection": 2}, "several classes of a detection"), ({"y_scale": 0.0}, "scales"),
    ({"num_classes": 9}, "9 classes"), ({"max_detections": 0}, "max_detections 0"),
])  # fmt: skip
def test_other_detectors_are_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises((ModelError, UnsupportedError), match=rf"TFLite_Detection_PostProcess_0.*{reason}"):
        compile_model(detector(0, options))

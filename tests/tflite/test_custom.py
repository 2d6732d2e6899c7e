"""Custom operators: ring buffers of rows, a detector's boxes, packed weights; and Fourier transforms."""

from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers

from tests.tflite.compare import SLOW, check_exact, random_input
from tests.tflite.tflm import Tflm
from tests.tflite.writer import Operator, Tensor, changed, constant, write
from tigris_pio import ModelError, Session, UnsupportedError, compile_model
from tigris_pio.compiler.load import load_model
from tigris_pio.format.enums import OpKind


def ring(slots: int, options: bytes, width: int = 1) -> bytes:
    x, y = (Tensor(name, (1, rows, width, 3), "int8", 0.1, -7, variable=name == "y")
            for name, rows in (("x", 1), ("y", slots)))
    z = Tensor("z", y.shape, "int8", 0.2, 3)
    operators = [Operator("CIRCULAR_BUFFER", ["x"], ["y"], custom=options), Operator("RELU", ["y"], ["z"])]
    return write([x, y, z], operators, ["x"], ["z"])


@pytest.mark.parametrize(("slots", "options"), [
    (4, {"cycles_max": 1}), (1, {"cycles_max": 1}), (5, None), (13, None),
])  # fmt: skip
def test_a_ring_buffer_has_the_newest_rows(slots: int, options: dict[str, int] | None) -> None:
    """It contains zeros before the first run, as in TensorFlow Lite Micro."""
    data = ring(slots, b"" if options is None else flexbuffers.Dumps(options), 2)
    check_exact(data, data, {"x": random_input((1, 1, 2, 3))}, runs=7)


@pytest.mark.parametrize(("slots", "options"), [(4, {"cycles_max": 3}), (6, None)])
def test_a_ring_buffer_that_skips_runs_is_refused(slots: int, options: dict[str, int] | None) -> None:
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
    """Plans with ample memory and one with little, which takes seconds to find with a background. Bytes that the
    reference does not write are zero."""
    data = detector(background, options)
    reference = Tflm(data)
    whole = compile_model(data)
    small = whole if options or background else compile_model(data, fast=int(whole.plan.fast_bytes * 0.8), slow=SLOW)
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


def test_a_detectors_declared_shapes_are_hints() -> None:
    random = np.random.default_rng(3)
    given = {"x": random.normal(0, 1.5, (1, BOXES, 4)).astype(np.float32),
             "s": random.uniform(0, 1, (1, BOXES, CLASSES)).astype(np.float32)}
    data = detector(0, {})

    def flatten(model: Any) -> None:
        for position, tensor in enumerate(model.subgraphs[0].tensors[-4:]):
            tensor.shape = [COUNT] if position < 3 else []

    with Session(compile_model(data)) as session, Session(compile_model(changed(data, flatten))) as other:
        expected, got = session.run(given), other.run(given)
    assert {name: (array.shape, array.tobytes()) for name, array in got.items()} == {
        name: (array.shape, array.tobytes()) for name, array in expected.items()}


def _bits(text: str) -> np.ndarray:
    return np.packbits([int(bit) for bit in text.ljust(-(-len(text) // 32) * 32, "0")])


def _header(method: int, parameters: int = 0, size: int = 0, version: int = 1) -> np.ndarray:
    return np.array([method, 1, 0, 0, version, parameters, size, *[0] * 9], np.uint8)


def _in_tables(weights: np.ndarray, axis: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Three bits an element, with the smallest valid table."""
    parts = [weights] if axis is None else list(np.moveaxis(weights, axis, 0))
    tables = [np.unique(part) for part in parts]
    size = max(map(len, tables))
    indices = np.stack([np.searchsorted(table, part) for table, part in zip(tables, parts, strict=True)])
    indices = indices[0] if axis is None else np.moveaxis(indices, 0, axis)
    values = np.concatenate([np.pad(table, (0, size - len(table))) for table in tables])
    head = _header(0, (15 if axis is None else axis) << 4 | 3, size)
    codes = _bits("".join(f"{index:03b}" for index in indices.reshape(-1)))
    return codes, np.concatenate([head, values.view(np.uint8)])


def _pruned(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    kept = weights != 0
    return np.packbits(kept), np.concatenate([_header(2), weights[kept].view(np.uint8)])


def _as_huffman(weights: np.ndarray, wide: bool) -> tuple[np.ndarray, np.ndarray]:
    """Codes 0, 10, 110, … in tables of two bits, whose last entry refers to the next table."""
    values = np.unique(weights).tolist()
    kind, shift = (np.uint32, 27) if wide else (np.uint16, 11)
    codes = {value: "1" * position + "0" for position, value in enumerate(values)}
    entries = []
    for position in range(0, len(values), 2):
        found = [1 << shift + 4 | bits << shift | value & 255 for value, bits in
                 zip([*values[position:], 0][:2], (1, 2), strict=False)]
        entries += [found[0], found[0], found[1], 1 << shift | 1]
    text = "".join(codes[value] for value in weights.reshape(-1).tolist())
    return _bits(text), np.concatenate([_header(1, 1 << 4 | wide), np.array(entries, kind).view(np.uint8)])


WEIGHTS = (np.random.default_rng(5).integers(-3, 3, (6, 16)) * 21).astype(np.int8)
PACKED = {
    "a table": _in_tables(WEIGHTS, None), "a table a row": _in_tables(WEIGHTS, 0),
    "a table a column": _in_tables(WEIGHTS, 1), "pruned": _pruned(WEIGHTS),
    "Huffman": _as_huffman(WEIGHTS, False), "Huffman, wide": _as_huffman(WEIGHTS, True),
}  # fmt: skip


def packed(codes: np.ndarray, how: np.ndarray) -> bytes:
    tensors = [Tensor("x", (1, 16), "int8", 0.05, 3), constant("codes", codes), constant("how", how),
               Tensor("w", WEIGHTS.shape, "int8", 0.01), Tensor("y", (1, 6), "int8", 0.3, -4)]
    operators = [Operator("TFLM_DECODE", ["codes", "how"], ["w"], custom=b""),
                 Operator("FULLY_CONNECTED", ["x", "w", ""], ["y"])]
    return write(tensors, operators, ["x"], ["y"])


@pytest.mark.parametrize("name", PACKED)
def test_packed_weights_are_unpacked_when_compiling(name: str) -> None:
    """The reference gets plain weights, because its own operator takes the tables' axis from the scales."""
    tensors = [Tensor("x", (1, 16), "int8", 0.05, 3), constant("w", WEIGHTS, 0.01),
               Tensor("y", (1, 6), "int8", 0.3, -4)]
    plain = write(tensors, [Operator("FULLY_CONNECTED", ["x", "w", ""], ["y"])], ["x"], ["y"])
    check_exact(plain, packed(*PACKED[name]), {"x": random_input((1, 16))}, tight=False)
    if "a row" not in name and "column" not in name:
        check_exact(packed(*PACKED[name]), plain, {"x": random_input((1, 16))}, tight=False)


@pytest.mark.parametrize("axis", (None, 0))
def test_tables_stay_in_the_plan(axis: int | None) -> None:
    """A convolution's weights, in three bits an element."""
    shape = (32, 3, 3, 16)
    weights = (np.random.default_rng(6).integers(-4, 4, shape) * 31).astype(np.int8)
    weights += (np.arange(32).reshape(-1, 1, 1, 1) % 3 * (axis is not None)).astype(np.int8)
    x, y = Tensor("x", (1, 12, 12, 16), "int8", 0.05, 3), Tensor("y", (1, 12, 12, 32), "int8", 1.3, -4)
    layer = Operator("CONV_2D", ["x", "w", ""], ["y"], {"strideH": 1, "strideW": 1})
    plain = write([x, constant("w", weights, 0.01), y], [layer], ["x"], ["y"])
    codes, how = _in_tables(weights, axis)
    ours = write([x, constant("codes", codes), constant("how", how), Tensor("w", shape, "int8", 0.01), y],
                 [Operator("TFLM_DECODE", ["codes", "how"], ["w"], custom=b""), layer], ["x"], ["y"])
    check_exact(plain, ours, {"x": random_input((1, 12, 12, 16))}, tight=False)
    (op,) = compile_model(ours).plan.program.ops
    assert op.kind is OpKind.TABLE_CONV_2D and len(op.blobs["tables"]) == (1 if axis is None else 32)


@pytest.mark.parametrize("name", PACKED)
@pytest.mark.parametrize("codes", (True, False))
def test_damaged_packed_weights_are_refused(name: str, codes: bool) -> None:
    ours, how = PACKED[name]
    with pytest.raises(ModelError, match="TFLM_DECODE_0: its codes do not fit int8"):
        load_model(packed(ours[:3] if codes else ours, how if codes else how[:17]))


def test_other_packings_are_refused() -> None:
    for head in (_header(128), _header(0, version=2)):
        with pytest.raises(UnsupportedError, match=r"TFLM_DECODE_0 .*give the file from before the compression"):
            compile_model(packed(np.zeros(4, np.uint8), head))


@pytest.mark.parametrize(("options", "reason"), [
    ({"max_classes_per_detection": 2}, "several classes of a detection"), ({"y_scale": 0.0}, "scales"),
    ({"num_classes": 9}, "9 classes"), ({"max_detections": 0}, "max_detections 0"),
])  # fmt: skip
def test_other_detectors_are_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises((ModelError, UnsupportedError), match=rf"TFLite_Detection_PostProcess_0.*{reason}"):
        compile_model(detector(0, options))


# RFFT2D and the operators that read complex numbers; TensorFlow Lite Micro has none of them.

Shape = tuple[int, ...]
PARTS = {"COMPLEX_ABS": np.abs, "REAL": np.real, "IMAG": np.imag}


def spectrum(shape: Shape, rows: int, columns: int, reader: str) -> bytes:
    """A transform whose result is squeezed, as converters write one of one axis, and an operator that reads it."""
    terms = (*shape[:-2], rows, columns // 2 + 1)
    flat = tuple(size for place, size in enumerate(terms) if size > 1 or place == len(terms) - 1)
    tensors = [Tensor("x", shape, "float32"), constant("n", np.array([rows, columns], np.int32)),
               Tensor("s", terms, "complex64"), constant("t", np.array(flat, np.int32)), Tensor("c", flat, "complex64"),
               Tensor("y", flat, "float32")]
    operators = [Operator("RFFT2D", ["x", "n"], ["s"]), Operator("RESHAPE", ["s", "t"], ["c"]),
                 Operator(reader, ["c"], ["y"])]
    return write(tensors, operators, ["x"], ["y"])


@pytest.mark.parametrize(("shape", "rows", "columns"), [
    ((5, 1, 16), 1, 16), ((5, 1, 10), 1, 16), ((2, 1, 24), 1, 16), ((2, 4, 8), 4, 8), ((3, 6), 8, 8), ((6, 8), 1, 8),
])
@pytest.mark.parametrize("reader", PARTS)
def test_spectra(shape: Shape, rows: int, columns: int, reader: str) -> None:
    """Signals as long as the transform, shorter and longer, in one and two dimensions."""
    x = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    with Session(compile_model(spectrum(shape, rows, columns, reader))) as session:
        got = session.run({"x": x})["y"]
    want = PARTS[reader](np.fft.rfft2(x.astype(np.float64), (rows, columns)))
    np.testing.assert_allclose(got.reshape(-1), want.reshape(-1), rtol=0, atol=2e-5)


def test_complex_numbers_elsewhere_are_refused_by_name() -> None:
    tensors = [Tensor("x", (2, 8), "float32"), constant("n", np.array([2, 8], np.int32)),
               Tensor("s", (2, 5), "complex64"), Tensor("y", (2, 5), "complex64")]
    data = write(tensors, [Operator("RFFT2D", ["x", "n"], ["s"]), Operator("NEG", ["s"], ["y"])], ["x"], ["y"])
    with pytest.raises(UnsupportedError, match=r"complex64"):
        compile_model(data)

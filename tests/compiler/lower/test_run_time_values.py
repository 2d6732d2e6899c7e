"""Indices, bounds, scales and positions that are known only when the network runs."""

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from tests.compiler.lower.compare import Case, Given, case, check, ints, noise
from tests.compiler.models import Quantiser, make, node, ort
from tigris_pio import compile_model
from tigris_pio.errors import UnsupportedError
from tigris_pio.format.enums import DType, OpKind

T = onnx.TensorProto
RANDOM = np.random.default_rng(8)
INT64, FLOAT = np.int64, np.float32


def product(x: np.ndarray, _: np.ndarray, exclusive: int, reverse: int) -> list[np.ndarray]:
    turned = x[:, ::-1] if reverse else x
    result = np.cumprod(turned.astype(np.float64), axis=1)
    if exclusive:
        result = np.concatenate([np.ones_like(result[:, :1]), result[:, :-1]], axis=1)
    return [result[:, ::-1] if reverse else result]


def transformed(x: np.ndarray, length: int, onesided: int, inverse: int) -> list[np.ndarray]:
    values = x[..., 0] + (1j * x[..., 1] if inverse else 0)
    result = np.fft.ifft(values, length, 1) if inverse else np.fft.fft(values, length, 1)
    result = result[:, : length // 2 + 1] if onesided else result
    return [np.stack([result.real, result.imag], -1)]


#: Cases that ONNX's node tests lack; those run with constant and with given indices, bounds and positions.
CASES = [
    case("GatherElements", (4, 5), Given(RANDOM.integers(-4, 4, (3, 5))), axis=0),
    case("GatherND", (3, 4, 5), Given(RANDOM.integers(-4, 4, (3, 6, 1))), batch_dims=1),
    case("OneHot", Given(np.array([[0, 4, -1], [-5, 7, 2]])), np.array(5), Given(FLOAT([-0.5, 2])), axis=0),
    case("ScatterElements", (5, 3), Given(np.array([[0, 4, 1], [-2, 2, 0]])), (2, 3), reduction="add", opset=18),
    # Many values are equal; the first of equal values wins.
    *(case("TopK", x, ints(count), axis=axis, largest=largest, types=[FLOAT, INT64]) for largest in (0, 1)
      for shape, axis, count in (((7,), 0, 7), ((3, 9), -1, 4), ((4, 5, 2), 1, 2))
      for x in (shape, Given(RANDOM.integers(0, 3, shape).astype(FLOAT)))),
    case("TopK", Given(FLOAT([[1, np.nan, np.inf, -np.inf, np.nan]])), ints(5), types=[FLOAT, INT64],
         expected=lambda x, _: [x[:, [2, 0, 3, 1, 4]], ints(2, 0, 3, 1, 4)[np.newaxis]]),
    *(case("CumProd", (2, 5, 3), np.array(1), exclusive=exclusive, reverse=reverse, opset=26,
           expected=lambda x, axis, by=(exclusive, reverse): product(x, axis, *by))
      for exclusive in (0, 1) for reverse in (0, 1)),
    *(case("Det", shape, opset=22, expected=lambda x: [np.linalg.det(x.astype(np.float64))])
      for shape in ((2, 3, 1, 1), (2, 3, 2, 2), (2, 3, 3), (2, 4, 4))),
    # Signals that are longer and shorter than the transform.
    *(case("DFT", (2, 8, 3, 2 if inverse else 1), np.array(length), *([np.array(1)] if opset == 20 else []),
           onesided=onesided, inverse=inverse, **({"axis": 1} if opset == 17 else {}), opset=opset,
           expected=lambda x, *_, by=(length, onesided, inverse): transformed(x, *by))
      for length, onesided, inverse, opset in ((8, 0, 0, 17), (7, 1, 0, 20), (5, 0, 0, 20), (12, 1, 0, 17),
                                               (8, 0, 1, 17), (8, 0, 1, 20))),
    # Transforms with and without a window, with samples left over, and of complex samples.
    *(case("STFT", (2, 40, parts), np.array(step), window, None if length is None else np.array(length),
           onesided=onesided) for parts, step, window, length, onesided in (
        (1, 8, np.hanning(16).astype(FLOAT), 16, 1), (1, 7, np.hanning(11).astype(FLOAT), None, 0),
        (1, 5, None, 9, 1), (2, 8, np.hanning(16).astype(FLOAT), 16, 0))),
    # Indices outside the tensor, which ONNX forbids, read the nearest element inside.
    case("Gather", (4, 2), Given(np.array([4, 100, -5, -100, 2**31 - 1, -(2**31)], np.int32)),
         expected=lambda x, _: [x[[3, 3, 0, 0, 3, 0]]]),
    # The last of several updates of an element wins; updates outside the tensor are ignored.
    case("ScatterND", Given(np.zeros(4, FLOAT)), Given(np.array([[1], [1], [4], [-5], [2**62]])),
         Given(np.arange(1, 6, dtype=FLOAT)), opset=18, expected=lambda *_: [FLOAT([0, 2, 0, 0])]),
]


@pytest.mark.parametrize("each", CASES, ids=lambda each: each.op)
def test_one_node(each: Case) -> None:
    each.check(little=each.op != "Det")


def test_an_embedding_is_read_in_place() -> None:
    """The table is a constant in flash: the memory is that of the rows taken."""
    table = noise(500, 16)
    model = make([node("Gather", "w i", "e"), node("ReduceMean", "e", "y", axes=[0])], {"i": (12,)}, ["y"],
                 {"w": table}, types={"i": T.INT64})
    plan = check(model, {"i": RANDOM.integers(0, 500, 12)})
    assert plan.report["memory"]["fast_peak"] < 4 * 12 * 16 * 2 + 1024 < table.nbytes


def test_an_int8_table_stays_int8() -> None:
    q = Quantiser()
    table = q.constant("w", RANDOM.integers(-128, 128, (40, 8)).astype(np.int8), 0.02)
    q.add(node("Gather", f"{table} i", "e"), node("Identity", q.pair("e", 0.02, 0), "y"))
    plan = check(make(q.nodes, {"i": (5,)}, ["y"], q.weights, types={"i": T.INT64}), {"i": RANDOM.integers(0, 40, 5)})
    assert [op.dtype for op in plan.plan.program.ops if op.kind is OpKind.GATHER] == [DType.INT8]


def test_clip_relative_to_the_loudest() -> None:
    """max - 80 dB, as melspectrograms have it."""
    nodes = [node("ReduceMax", "x", "m", keepdims=0), node("Sub", "m d", "low"), node("Clip", "x low", "y")]
    check(make(nodes, {"x": (5, 6)}, ["y"], {"d": np.array(0.8, np.float32)}), {"x": noise(5, 6)})


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_integer_products(dtype: type) -> None:
    """Exactly, for sums within 2^24."""
    info = np.iinfo(dtype)
    x, w, rows, matrix = (RANDOM.integers(info.min, info.max + 1, shape).astype(dtype)
                          for shape in ((1, 2, 6, 5), (4, 2, 3, 3), (4, 5), (5, 3)))
    columns = RANDOM.integers(0, 5, 3).astype(dtype)
    zeros = (np.array(7, dtype), np.array(2, dtype))
    model = make([node("ConvInteger", "x w p q", "y", pads=[1, 1, 1, 1])], {"x": x.shape}, ["y"],
                 {"w": w, "p": zeros[0], "q": zeros[1]},
                 types={"x": onnx.helper.np_dtype_to_tensor_dtype(x.dtype), "y": T.INT32})
    check(model, {"x": x}, {"y": ReferenceEvaluator(model).run(None, {"x": x})[0]}, rtol=0, atol=0)
    case("MatMulInteger", Given(rows), matrix, zeros[0], columns, types=[np.int32],
         expected=lambda a, b, p, q: [(a.astype(INT64) - p) @ (b.astype(INT64) - q)]).check(rtol=0, atol=0)


def test_dynamic_quantisation_end_to_end() -> None:
    """A layer as onnxruntime's quantize_dynamic writes it; 7-bit weights, because its kernels may saturate."""
    weights = {"w": RANDOM.integers(-64, 64, (24, 6)).astype(np.int8), "wz": np.array(0, np.int8),
               "ws": np.array(0.01, np.float32), "b": noise(6)}
    nodes = [node("DynamicQuantizeLinear", "x", "xq xs xz"), node("MatMulInteger", "xq w xz wz", "p"),
             node("Cast", "p", "f", to=T.FLOAT), node("Mul", "xs ws", "s"), node("Mul", "f s", "g"),
             node("Add", "g b", "y")]
    model = make(nodes, {"x": (3, 24)}, ["y"], weights)
    for x in (noise(3, 24), np.zeros((3, 24), np.float32), np.abs(noise(3, 24)) + 1):
        check(model, {"x": x}, little=False)


def test_larger_determinants_are_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"det_y \(Det\): matrices of 5 x 5; up to 4 x 4"):
        compile_model(make([node("Det", "x", "y")], {"x": (5, 5)}, ["y"], opset=22))


@pytest.mark.parametrize(("classes", "most", "centres", "bounded"), [(3, 5, 0, True), (1, 50, 1, True),
                                                                    (2, 4, 0, False)])
def test_boxes_found_stand_in_front(classes: int, most: int, centres: int, bounded: bool) -> None:
    """The output has the most rows possible; a box may be given by either pair of opposite corners."""
    middle, size = RANDOM.uniform(0, 1, (1, 30, 2)), RANDOM.uniform(0.1, 0.4, (1, 30, 2))
    boxes = [middle, size] if centres else [middle - size / 2, middle + size / 2]
    given = {"b": np.concatenate(boxes, 2).astype(FLOAT), "s": RANDOM.uniform(0, 1, (1, classes, 30)).astype(FLOAT)}
    if not centres:
        given["b"][:, ::2] = given["b"][:, ::2][..., [2, 1, 0, 3]]
    limits = {"m": np.array([most]), "i": np.array([0.4], FLOAT), "t": np.array([0.3], FLOAT)}
    item = node("NonMaxSuppression", "b s m i t" if bounded else "b s m i", "y", center_point_box=centres)
    model = make([item], {name: array.shape for name, array in given.items()}, ["y"], limits, types={"y": T.INT64})
    wanted = ort(model, given)["y"]
    rows = classes * min(most, 30)
    expected = np.concatenate([wanted, np.full((rows - len(wanted), 3), -1)])
    compiled = check(model, given, {"y": expected}, rtol=0, atol=0)
    assert compiled.report["warnings"] == [
        f"node {item.name}: always has {rows} rows; rows after the found boxes are -1"]

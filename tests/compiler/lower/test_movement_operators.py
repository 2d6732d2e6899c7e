"""Operators that pick, pad, repeat and rearrange elements, lowered and run by the runtime, equal onnxruntime's."""

import numpy as np
import pytest

from tests.compiler.lower.compare import Case, case, check, ints, kinds, noise, outputs, quantised
from tests.compiler.models import Quantiser, make, node, ort, program
from tigris_pio import compile_model
from tigris_pio.errors import ModelError, UnsupportedError
from tigris_pio.format.enums import DType, OpKind

IMAGE = (1, 4, 8, 6)
#: Indices of 2 x 4 x 5 elements along axis 1.
INDICES = np.random.default_rng(29).integers(-4, 4, (2, 3, 5))


def slices(shape: tuple[int, ...], starts: list[int], ends: list[int], axes: list[int], steps: list[int]) -> Case:
    return case("Slice", shape, ints(*starts), ints(*ends), ints(*axes), ints(*steps))


def padded(mode: str, *pads: int) -> Case:
    value = [np.float32(-2.5)] if mode == "constant" else []
    return case("Pad", (1, 4, 40, 6), ints(*pads), *value, mode=mode, opset=19, found=[OpKind.SELECT])


def scattered(x: np.ndarray, indices: np.ndarray, updates: np.ndarray) -> list[np.ndarray]:
    """The last update counts."""
    result = x.copy()
    for index, update in zip(indices[:, 0], updates, strict=True):
        result[index] = update
    return [result]


#: Also behind an operator that stores channels last.
IMAGES = [
    slices(IMAGE, [1], [3], [1], [1]), slices(IMAGE, [2], [7], [2], [1]), slices(IMAGE, [1], [6], [3], [2]),
    slices(IMAGE, [-1, -1, 5], [-100, 0, 0], [1, 2, 3], [-1, -2, -1]), slices((3, 4, 8, 6), [1], [3], [0], [1]),
    *(padded(mode, *pads) for mode in ("constant", "edge", "reflect", "wrap")
      for pads in ((0, 0, 1, 2, 0, 0, 2, 1), (0, 2, 0, 1, 0, 1, 3, 0))),
    *(case(op, (1, 12, 6, 8), blocksize=2, **extra) for op, extra in (
        ("DepthToSpace", {}), ("DepthToSpace", {"mode": "CRD"}), ("SpaceToDepth", {}))),
]
VECTORS = [
    slices((2, 3, 4, 5, 6), [1, 1, 2], [3, 4, 5], [1, 2, 4], [1, 1, 2]), slices((9,), [2], [8], [0], [3]),
    slices((4, 5), [1], [-1], [-1], [1]), slices((2, 6, 7), [1], [2**31], [-2], [2]),
    case("Slice", (1, 4, 5, 6), starts=[0, 1], ends=[3, 100], axes=[1, 3], opset=9),
    *(case("Split", shape, ints(*parts), axis=axis, types=(np.float32,) * len(parts))
      for shape, axis, parts in (((2, 8, 4, 5), 1, [2, 4, 2]), ((2, 3, 4, 5), 3, [3, 2]), ((2, 3, 4, 5), 0, [1, 1]))),
    case("Pad", (2, 3, 4), ints(1, 0, -1, 0, 2, -2)), case("Pad", (2, 3, 4), ints(1, 2), None, ints(-1), opset=18),
    case("Pad", (1, 2, 3, 4), pads=[0, 0, 1, 1, 0, 0, 1, 1], value=2.0, opset=9),
    *(case("Gather", (1, 4, 5, 6), np.array(indices), axis=axis)
      for axis, indices in ((1, [[0, 2], [3, -1]]), (2, [4, 0, 1]), (3, 2), (0, [0, 0]))),
    case("GatherElements", (2, 4, 5), INDICES, axis=1), case("GatherND", (2, 4, 5), np.array([[1, 2], [0, -1]])),
    case("GatherND", (2, 4, 5), np.array([[[1], [3]]] * 2), batch_dims=1),
    case("ScatterND", (4, 6), np.array([[1], [3], [1]]), [3, 6], expected=scattered),
    case("ScatterElements", (4, 6), ints(3, 0, 5, 1)[np.newaxis], [1, 4], axis=1),
    *(case("Tile", shape, ints(*range(1, len(shape) + 1))) for shape in ((1, 3, 4, 5), (3, 4), (5,))),
    case("Expand", (1, 1, 4, 1), ints(2, 1, 3, 4, 5)), case("Expand", (3, 1), ints(2, 3, 4)),
    *(case("Trilu", (2, 4, 5), np.array(1), upper=upper) for upper in (0, 1)),
    case("Compress", (2, 4, 5), np.array([True, False, True, True]), axis=1,
         expected=lambda x, _: [x[:, [0, 2, 3]]]),
    case("ReverseSequence", (4, 3, 2), ints(1, 4, 2), time_axis=0, batch_axis=1),
    case("ReverseSequence", (3, 4, 2), ints(1, 4, 2), time_axis=1, batch_axis=0),
    case("CenterCropPad", (3, 8, 5), ints(6, 5, 2), opset=18),
]


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("each", IMAGES, ids=lambda each: each.op)
def test_moves_within_images(each: Case, pooled: bool) -> None:
    each.check(rtol=0, atol=0, pooled=pooled)


@pytest.mark.parametrize("each", VECTORS, ids=lambda each: each.op)
def test_moves(each: Case) -> None:
    each.check(rtol=0, atol=0)


@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
def test_scatter_reductions_take_every_update(reduction: str) -> None:
    case("ScatterND", (4, 6), np.array([[1], [3], [1], [0], [1]]), [5, 6], reduction=reduction, opset=18).check()


def test_slice_of_rows_and_columns_advances() -> None:
    weights = {"s": ints(2, 1), "e": ints(14, 15), "a": ints(2, 3), "t": ints(2, 1)}
    nodes = [node("MaxPool", "x", "p", kernel_shape=[1, 1]), node("Slice", "p s e a t", "y")]
    op = program(make(nodes, {"x": (1, 3, 16, 16)}, ["y"], weights)).ops[-1]
    rows = op.operands[0].rows
    assert op.kind == OpKind.SELECT and not op.blobs
    assert (rows.numerator, rows.denominator, rows.first, rows.last) == (2, 1, 2, 2)


@pytest.mark.parametrize("quantised", [False, True])
@pytest.mark.parametrize("op", ["ScatterND", "ScatterElements"])
def test_scattered_updates_may_exceed_the_range_of_a_quantised_input(op: str, quantised: bool) -> None:
    """Updates are rounded together with the result, not before."""
    q = Quantiser()
    updates = np.array([[0.013, -70.4, 9.0]], np.float32)
    indices, axis = (np.array([[2]]), {}) if op == "ScatterND" else (np.array([[1, 3, 0]]), {"axis": 0})
    q.add(node(op, f"{q.pair('x', 0.02, -3)} i u", "t", **axis))
    last = q.pair("t", 1.0, 0) if quantised else "t"
    model = make([*q.nodes, node("Identity", last, "y")], {"x": (4, 3)}, ["y"],
                 q.weights | {"i": indices, "u": updates})
    check(model, {"x": noise(4, 3)}, rtol=0, atol=0)


@pytest.mark.parametrize("op", ["Slice", "Pad", "Tile", "Gather", "Resize", "Split", "Concat"])
@pytest.mark.parametrize("same", [True, False])
def test_int8_values_are_moved_as_they_are(op: str, same: bool) -> None:
    """If the output has the input's scale and zero point, nothing is rounded; otherwise a table requantises."""
    weights = {"s": ints(1), "e": ints(4), "a": ints(2), "w": ints(0, 0, 1, 1, 0, 0, 2, 0), "r": ints(1, 2, 1, 2),
               "i": ints(2, 0), "f": np.array([1, 1, 2, 2], np.float32)}
    moved = {
        "Slice": node("Slice", "x s e a", "m"), "Pad": node("Pad", "x w", "m"), "Tile": node("Tile", "x r", "m"),
        "Gather": node("Gather", "x i", "m", axis=1), "Resize": node("Resize", "x - f", "m", mode="nearest"),
        "Split": node("Split", "x", "m n", axis=3, num_outputs=2), "Concat": node("Concat", "x x", "m", axis=1),
    }[op]
    model = quantised([moved], {"x": ((1, 3, 5, 6), 0.05, 3)}, (0.05, 3) if same else (0.08, -5), weights, opset=18)
    ops = program(model).ops
    assert all(item.dtype == DType.INT8 for item in ops)
    assert [item.kind for item in ops if item.kind != OpKind.LOOKUP] == [
        OpKind.CONCAT if op == "Concat" else OpKind.SELECT]
    assert len(ops) == 1 or not same
    check(model, {"x": noise(1, 3, 5, 6)}, rtol=0, atol=1e-6 if same else 0.0801)


@pytest.mark.parametrize(("op", "shape", "attributes"), [
    ("ReverseSequence", (1,), {}), ("Pad", (8,), {}), ("MaxUnpool", (1, 1, 4, 4), {"kernel_shape": [2, 2]}),
])
def test_what_depends_on_data_is_refused_by_name(op: str, shape: tuple[int, ...],
                                                 attributes: dict[str, object]) -> None:
    model = make([node(op, "x i", "y", "culprit", **attributes)], {"x": (1, 1, 4, 4), "i": shape}, ["y"],
                 types={"i": 7})
    with pytest.raises((UnsupportedError, ModelError), match="culprit"):
        program(model)


@pytest.mark.parametrize("batch", [1, 2])
def test_channel_shuffle_runs_in_bands(batch: int) -> None:
    nodes = [node("MaxPool", "x", "p", kernel_shape=[1, 1]), node("Reshape", "p s", "r"),
             node("Transpose", "r", "t", perm=[0, 2, 1, 3, 4]), node("Reshape", "t z", "q"),
             node("MaxPool", "q", "y", kernel_shape=[3, 3])]
    weights = {"s": ints(batch, 3, 4, 8, 6), "z": ints(batch, 12, 8, 6)}
    model = make(nodes, {"x": (batch, 12, 8, 6)}, ["y"], weights)
    compiled = check(model, {"x": noise(batch, 12, 8, 6)}, rtol=0, atol=0)
    assert kinds(compiled) == [OpKind.MAX_POOL, OpKind.TRANSPOSE, OpKind.MAX_POOL]
    rows = compiled.plan.program.ops[1].operands[0].rows
    assert (rows.numerator, rows.denominator, rows.last) == (1, 1, 0)


def test_depth_to_space_between_convolutions_rolls() -> None:
    nodes = [node("Conv", "x w", "c", pads=[1, 1, 1, 1]), node("DepthToSpace", "c", "d", blocksize=2),
             node("MaxPool", "d", "y", kernel_shape=[3, 3])]
    model = make(nodes, {"x": (1, 4, 32, 16)}, ["y"], {"w": noise(16, 4, 3, 3)})
    rows = program(model).ops[1].operands[0].rows
    assert (rows.numerator, rows.denominator, rows.last) == (1, 2, 0)
    x = {"x": noise(1, 4, 32, 16)}
    np.testing.assert_allclose(outputs(compile_model(model, fast="32K", slow="1M"), x)["y"], ort(model, x)["y"],
                               atol=1e-4)

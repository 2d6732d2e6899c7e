"""Operators that pick, pad, repeat and rearrange elements, lowered and run by the runtime, equal onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
import pytest

from tests.compiler.lower.program_interpreter import run
from tests.compiler.models import Quantiser, make, node, ort, program
from tigris_pio import Session, compile_model
from tigris_pio.compiler.ir.program import Program
from tigris_pio.errors import ModelError, UnsupportedError
from tigris_pio.format.enums import DType, OpKind

RANDOM = np.random.default_rng(29)
Shape = tuple[int, ...]


def noise(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def check(model: onnx.ModelProto, x: np.ndarray, reference: Mapping[str, np.ndarray] | None = None) -> Program:
    """Moving is exact: the runtime, numpy from the format's definitions and onnxruntime agree to the bit."""
    lowered = program(model)
    expected = ort(model, {"x": x}) if reference is None else reference
    interpreted = run(lowered, {"x": x})
    with Session(compile_model(model, fast="1M")) as session:
        got = session.run({"x": x})
    for name, value in expected.items():
        assert got[name].shape == value.shape
        np.testing.assert_array_equal(got[name], value)
        np.testing.assert_array_equal(interpreted[name], value)
    return lowered


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


SLICES = [
    ((1, 4, 8, 6), [1], [3], [1], [1]), ((1, 4, 8, 6), [2], [7], [2], [1]), ((1, 4, 8, 6), [1], [6], [3], [2]),
    ((1, 4, 8, 6), [-1, -1, 5], [-100, 0, 0], [1, 2, 3], [-1, -2, -1]), ((3, 4, 8, 6), [1], [3], [0], [1]),
    ((1, 4, 8, 6), [0], [8], [2], [1]), ((2, 3, 4, 5, 6), [1, 1, 2], [3, 4, 5], [1, 2, 4], [1, 1, 2]),
    ((9,), [2], [8], [0], [3]), ((4, 5), [1], [-1], [-1], [1]), ((2, 6, 7), [1], [2**31], [-2], [2]),
]


@pytest.mark.parametrize(("shape", "starts", "ends", "axes", "steps"), SLICES)
@pytest.mark.parametrize("after_conv", [False, True])
def test_slice(shape: Shape, starts: list[int], ends: list[int], axes: list[int], steps: list[int],
               after_conv: bool) -> None:
    weights = {"s": ints(*starts), "e": ints(*ends), "a": ints(*axes), "t": ints(*steps)}
    nodes = [node("Slice", "x s e a t", "y")]
    if after_conv and len(shape) == 4:  # the input is stored with its channels last
        nodes = [node("MaxPool", "x", "p", kernel_shape=[1, 1]), node("Slice", "p s e a t", "y")]
    check(make(nodes, {"x": shape}, ["y"], weights), noise(*shape))


def test_slice_of_rows_and_columns_advances() -> None:
    weights = {"s": ints(2, 1), "e": ints(14, 15), "a": ints(2, 3), "t": ints(2, 1)}
    nodes = [node("MaxPool", "x", "p", kernel_shape=[1, 1]), node("Slice", "p s e a t", "y")]
    lowered = check(make(nodes, {"x": (1, 3, 16, 16)}, ["y"], weights), noise(1, 3, 16, 16))
    rows = lowered.ops[-1].operands[0].rows
    assert lowered.ops[-1].kind == OpKind.SELECT and not lowered.ops[-1].blobs
    assert (rows.numerator, rows.denominator, rows.first, rows.last) == (2, 1, 2, 2)


def test_slice_with_attributes_of_old_opsets() -> None:
    model = make([node("Slice", "x", "y", starts=[0, 1], ends=[3, 100], axes=[1, 3])], {"x": (1, 4, 5, 6)}, ["y"],
                 opset=9)
    check(model, noise(1, 4, 5, 6))


@pytest.mark.parametrize(("axis", "parts"), [(1, [2, 4, 2]), (2, [1, 5]), (3, [3, 2]), (0, [1, 1])])
def test_split(axis: int, parts: list[int]) -> None:
    shape = [2, 3, 4, 5]
    shape[axis] = sum(parts)
    names = [f"y{i}" for i in range(len(parts))]
    model = make([node("Split", "x p", " ".join(names), axis=axis)], {"x": shape}, names, {"p": ints(*parts)})
    check(model, noise(*shape))


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
@pytest.mark.parametrize("pads", [(0, 0, 1, 2, 0, 0, 2, 1), (0, 2, 0, 1, 0, 1, 3, 0), (0, 0, 0, 0, 0, 0, 3, 3)])
def test_pad(mode: str, pads: tuple[int, ...]) -> None:
    model = make([node("MaxPool", "x", "p", kernel_shape=[1, 1]), node("Pad", "p w v" if mode == "constant" else "p w",
                                                                      "y", mode=mode)],
                 {"x": (1, 4, 40, 6)}, ["y"], {"w": ints(*pads), "v": np.array(-2.5, np.float32)}, opset=19)
    lowered = check(model, noise(1, 4, 40, 6))
    assert lowered.ops[-1].kind == OpKind.SELECT
    if mode in ("constant", "edge"):
        assert lowered.ops[-1].operands[0].rows.numerator == 1


def test_pad_batch_negative_axes_and_old_attributes() -> None:
    check(make([node("Pad", "x w", "y")], {"x": (2, 3, 4)}, ["y"], {"w": ints(1, 0, -1, 0, 2, -2)}), noise(2, 3, 4))
    check(make([node("Pad", "x w - a", "y")], {"x": (2, 3, 4)}, ["y"], {"w": ints(1, 2), "a": ints(-1)}, opset=18),
          noise(2, 3, 4))
    check(make([node("Pad", "x", "y", pads=[0, 0, 1, 1, 0, 0, 1, 1], value=2.0)], {"x": (1, 2, 3, 4)}, ["y"], opset=9),
          noise(1, 2, 3, 4))


@pytest.mark.parametrize(("axis", "indices"), [(1, [[0, 2], [3, -1]]), (2, [4, 0, 1]), (3, 2), (0, [0, 0])])
def test_gather(axis: int, indices: object) -> None:
    model = make([node("Gather", "x i", "y", axis=axis)], {"x": (1, 4, 5, 6)}, ["y"], {"i": np.array(indices)})
    check(model, noise(1, 4, 5, 6))


def test_gather_elements_and_nd() -> None:
    indices = RANDOM.integers(-4, 4, (2, 3, 5))
    check(make([node("GatherElements", "x i", "y", axis=1)], {"x": (2, 4, 5)}, ["y"], {"i": indices}), noise(2, 4, 5))
    check(make([node("GatherND", "x i", "y")], {"x": (2, 4, 5)}, ["y"], {"i": np.array([[1, 2], [0, -1]])}),
          noise(2, 4, 5))
    weights = {"i": np.array([[[1], [3]]] * 2)}
    check(make([node("GatherND", "x i", "y", batch_dims=1)], {"x": (2, 4, 5)}, ["y"], weights), noise(2, 4, 5))


def test_scatter_keeps_the_last_update() -> None:
    weights = {"i": np.array([[1], [3], [1]]), "u": noise(3, 6)}
    x = noise(4, 6)
    expected = x.copy()
    for index, update in zip([1, 3, 1], weights["u"], strict=True):
        expected[index] = update
    check(make([node("ScatterND", "x i u", "y")], {"x": (4, 6)}, ["y"], weights), x, {"y": expected})
    weights = {"i": RANDOM.permutation(6)[np.newaxis], "u": noise(1, 6)}
    check(make([node("ScatterElements", "x i u", "y", axis=1)], {"x": (4, 6)}, ["y"], weights), noise(4, 6))


@pytest.mark.parametrize("quantised", [False, True])
@pytest.mark.parametrize("op", ["ScatterND", "ScatterElements"])
def test_scattered_updates_may_exceed_the_range_of_a_quantised_input(op: str, quantised: bool) -> None:
    """They are rounded where and as the result is, not before."""
    q = Quantiser()
    updates = np.array([[0.013, -70.4, 9.0]], np.float32)
    indices, axis = (np.array([[2]]), {}) if op == "ScatterND" else (np.array([[1, 3, 0]]), {"axis": 0})
    q.add(node(op, f"{q.pair('x', 0.02, -3)} i u", "t", **axis))
    last = q.pair("t", 1.0, 0) if quantised else "t"
    model = make([*q.nodes, node("Identity", last, "y")], {"x": (4, 3)}, ["y"],
                 q.weights | {"i": indices, "u": updates})
    x = noise(4, 3)
    with Session(compile_model(model)) as session:
        np.testing.assert_array_equal(session.run({"x": x})["y"], ort(model, {"x": x})["y"])


@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
def test_scatter_reductions_take_every_update(reduction: str) -> None:
    weights = {"i": np.array([[1], [3], [1], [0], [1]]), "u": noise(5, 6)}
    model = make([node("ScatterND", "x i u", "y", reduction=reduction)], {"x": (4, 6)}, ["y"], weights, opset=18)
    x = noise(4, 6)
    with Session(compile_model(model, fast="64K")) as session:
        np.testing.assert_allclose(session.run({"x": x})["y"], ort(model, {"x": x})["y"], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(1, 3, 4, 5), (3, 4), (5,)])
def test_tile_and_expand(shape: Shape) -> None:
    repeats = ints(*range(1, len(shape) + 1))
    check(make([node("Tile", "x r", "y")], {"x": shape}, ["y"], {"r": repeats}), noise(*shape))
    thin = tuple(1 if axis % 2 else size for axis, size in enumerate(shape))
    check(make([node("Expand", "x s", "y")], {"x": thin}, ["y"], {"s": ints(2, *shape)}), noise(*thin))


@pytest.mark.parametrize(("op", "extra"), [("DepthToSpace", {}), ("DepthToSpace", {"mode": "CRD"}),
                                           ("SpaceToDepth", {})])
@pytest.mark.parametrize("convolve", [False, True])
def test_depth_and_space(op: str, extra: dict[str, str], convolve: bool) -> None:
    nodes = [node(op, "x" if not convolve else "p", "d" if convolve else "y", blocksize=2, **extra)]
    if convolve:
        nodes = [node("MaxPool", "x", "p", kernel_shape=[1, 1]), *nodes, node("MaxPool", "d", "y", kernel_shape=[3, 3])]
    check(make(nodes, {"x": (1, 12, 6, 8)}, ["y"]), noise(1, 12, 6, 8))


def test_small_ones() -> None:
    for upper in (0, 1):
        check(make([node("Trilu", "x k", "y", upper=upper)], {"x": (2, 4, 5)}, ["y"], {"k": np.array(1)}),
              noise(2, 4, 5))
    model = make([node("Compress", "x c", "y", axis=1)], {"x": (2, 4, 5)}, ["y"],
                 {"c": np.array([True, False, True, True])})
    model.graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, (2, 3, 5)))
    check(model, noise(2, 4, 5))
    check(make([node("ReverseSequence", "x l", "y", time_axis=0, batch_axis=1)], {"x": (4, 3, 2)}, ["y"],
               {"l": ints(1, 4, 2)}), noise(4, 3, 2))
    check(make([node("ReverseSequence", "x l", "y", time_axis=1, batch_axis=0)], {"x": (3, 4, 2)}, ["y"],
               {"l": ints(1, 4, 2)}), noise(3, 4, 2))
    check(make([node("CenterCropPad", "x s", "y")], {"x": (3, 8, 5)}, ["y"], {"s": ints(6, 5, 2)}, opset=18),
          noise(3, 8, 5))


@pytest.mark.parametrize("count", [2, 8, 9, 17, 40])
@pytest.mark.parametrize("axis", [1, 2])
def test_concat_of_many(count: int, axis: int) -> None:
    parts = " ".join(f"p{i}" for i in range(count))
    nodes = [node("Split", "x", parts, axis=axis), node("Concat", " ".join(reversed(parts.split())), "y", axis=axis)]
    shape = [1, 3, 4, 5]
    shape[axis] = 2 * count
    check(make(nodes, {"x": shape}, ["y"]), noise(*shape))


@pytest.mark.parametrize("op", ["Slice", "Pad", "Tile", "Gather", "Resize", "Split", "Concat"])
@pytest.mark.parametrize("same", [True, False])
def test_int8_values_are_moved_as_they_are(op: str, same: bool) -> None:
    """With the input's own parameters nothing is rounded; with others a table requantises."""
    q = Quantiser()
    source = q.pair("x", 0.05, 3)
    q.weights |= {"s": ints(1), "e": ints(4), "a": ints(2), "w": ints(0, 0, 1, 1, 0, 0, 2, 0), "r": ints(1, 2, 1, 2),
                  "i": ints(2, 0), "f": np.array([1, 1, 2, 2], np.float32)}
    nodes = {
        "Slice": node("Slice", f"{source} s e a", "m"), "Pad": node("Pad", f"{source} w", "m"),
        "Tile": node("Tile", f"{source} r", "m"), "Gather": node("Gather", f"{source} i", "m", axis=1),
        "Resize": node("Resize", f"{source} - f", "m", mode="nearest"),
        "Split": node("Split", source, "m n", axis=3, num_outputs=2),
        "Concat": node("Concat", f"{source} {source}", "m", axis=1),
    }
    q.add(nodes[op], node("Identity", q.pair("m", 0.05 if same else 0.08, 3 if same else -5), "y"))
    model = make(q.nodes, {"x": (1, 3, 5, 6)}, ["y"], q.weights, opset=18)
    lowered = program(model)
    assert all(item.dtype == DType.INT8 for item in lowered.ops)
    moving = OpKind.CONCAT if op == "Concat" else OpKind.SELECT
    assert [item.kind for item in lowered.ops if item.kind != OpKind.LOOKUP] == [moving]
    assert len(lowered.ops) == (1 if same else len(lowered.ops))
    x = noise(1, 3, 5, 6)
    expected = ort(model, {"x": x})["y"]
    with Session(compile_model(model, fast="64K")) as session:
        got = session.run({"x": x})["y"]
    np.testing.assert_allclose(got, expected, atol=1e-6 if same else 0.0801)


@pytest.mark.parametrize(("op", "inputs", "attributes", "reason"), [
    ("ReverseSequence", "x i", {}, "run time"),
    ("Pad", "x i", {}, "run time"),
    ("MaxUnpool", "x i", {"kernel_shape": [2, 2]}, "run time"),
])
def test_what_depends_on_data_is_refused_by_name(op: str, inputs: str, attributes: dict[str, object],
                                                 reason: str) -> None:
    shape = (1, 1, 4, 4)
    i = helper_input(op)
    model = make([node(op, inputs, "y", "culprit", **attributes)], {"x": shape, "i": i}, ["y"],
                 types={"i": onnx.TensorProto.INT64})
    with pytest.raises((UnsupportedError, ModelError), match=f"culprit.*{reason}|culprit"):
        program(model)


def helper_input(op: str) -> Shape:
    return {"MaxUnpool": (1, 1, 4, 4), "ReverseSequence": (1,)}.get(op, (8,))


@pytest.mark.parametrize("batch", [1, 2])
def test_channel_shuffle_runs_in_bands(batch: int) -> None:
    nodes = [node("MaxPool", "x", "p", kernel_shape=[1, 1]), node("Reshape", "p s", "r"),
             node("Transpose", "r", "t", perm=[0, 2, 1, 3, 4]), node("Reshape", "t z", "q"),
             node("MaxPool", "q", "y", kernel_shape=[3, 3])]
    weights = {"s": ints(batch, 3, 4, 8, 6), "z": ints(batch, 12, 8, 6)}
    lowered = check(make(nodes, {"x": (batch, 12, 8, 6)}, ["y"], weights), noise(batch, 12, 8, 6))
    assert [op.kind for op in lowered.ops] == [OpKind.MAX_POOL, OpKind.TRANSPOSE, OpKind.MAX_POOL]
    rows = lowered.ops[1].operands[0].rows
    assert (rows.numerator, rows.denominator, rows.last) == (1, 1, 0)


def test_depth_to_space_between_convolutions_rolls() -> None:
    nodes = [node("Conv", "x w", "c", pads=[1, 1, 1, 1]), node("DepthToSpace", "c", "d", blocksize=2),
             node("MaxPool", "d", "y", kernel_shape=[3, 3])]
    model = make(nodes, {"x": (1, 4, 32, 16)}, ["y"], {"w": noise(16, 4, 3, 3)})
    lowered = program(model)
    rows = lowered.ops[1].operands[0].rows
    assert (rows.numerator, rows.denominator, rows.last) == (1, 2, 0)
    x = noise(1, 4, 32, 16)
    with Session(compile_model(model, fast="32K", slow="1M")) as session:
        np.testing.assert_allclose(session.run({"x": x})["y"], ort(model, {"x": x})["y"], atol=1e-4)

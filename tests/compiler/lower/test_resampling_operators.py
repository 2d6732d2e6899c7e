"""Transposed convolutions, Resize and Upsample, lowered and run by the runtime, equal onnxruntime."""

from __future__ import annotations

import itertools

import numpy as np
import onnx
import pytest
from onnx import helper

from tests.compiler.lower.program_interpreter import run
from tests.compiler.models import Quantiser, make, node, ort, program
from tigris_pio import Session, compile_model
from tigris_pio.compiler.ir.program import Program
from tigris_pio.errors import ModelError, UnsupportedError
from tigris_pio.format.enums import DType, OpKind

RANDOM = np.random.default_rng(23)
Shape = tuple[int, ...]


def noise(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def check(model: onnx.ModelProto, x: np.ndarray, tolerance: float = 1e-5) -> Program:
    """The runtime, and numpy from the format's definitions, agree with onnxruntime."""
    lowered = program(model)
    expected = ort(model, {"x": x})["y"]
    with Session(compile_model(model, fast="1M")) as session:
        got = session.run({"x": x})["y"]
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=tolerance)
    np.testing.assert_allclose(run(lowered, {"x": x})["y"], expected, rtol=1e-5, atol=tolerance)
    return lowered


TRANSPOSED = [
    ((1, 3, 5, 4), (3, 2, 3, 3), {}),
    ((1, 3, 5, 4), (3, 2, 3, 3), {"strides": [2, 3]}),
    ((1, 3, 5, 4), (3, 2, 2, 2), {"strides": [2, 2]}),
    ((1, 3, 5, 4), (3, 2, 4, 4), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
    ((1, 3, 5, 4), (3, 2, 3, 4), {"strides": [2, 1], "pads": [1, 0, 0, 2], "output_padding": [1, 0]}),
    ((1, 3, 5, 4), (3, 2, 3, 2), {"strides": [3, 2], "dilations": [2, 3], "pads": [2, 1, 0, 0]}),
    ((1, 3, 5, 4), (3, 2, 2, 3), {"strides": [4, 3], "dilations": [6, 2], "output_padding": [2, 1]}),
    ((1, 3, 5, 4), (3, 2, 1, 1), {"strides": [2, 3]}),
    ((1, 3, 5, 4), (3, 2, 3, 3), {"strides": [2, 2], "auto_pad": "SAME_UPPER"}),
    ((1, 3, 5, 4), (3, 2, 3, 3), {"strides": [2, 2], "auto_pad": "SAME_LOWER"}),
    ((1, 3, 5, 4), (3, 2, 3, 3), {"strides": [2, 2], "auto_pad": "VALID"}),
    ((1, 3, 5, 4), (3, 2, 3, 3), {"strides": [3, 2], "output_shape": [14, 8]}),
    ((1, 3, 5, 4), (3, 2, 3, 3), {"strides": [3, 2], "output_shape": [14, 8], "auto_pad": "SAME_UPPER"}),
    ((2, 4, 3, 3), (4, 3, 3, 3), {"group": 2, "strides": [2, 2]}),
    ((1, 4, 3, 3), (4, 1, 4, 4), {"group": 4, "strides": [2, 2], "pads": [1, 1, 1, 1]}),
    ((1, 3, 7), (3, 4, 4), {"strides": [2], "pads": [1, 1]}),
]


@pytest.mark.parametrize(("shape", "weights", "attributes"), TRANSPOSED)
@pytest.mark.parametrize("bias", [False, True])
def test_conv_transpose(shape: Shape, weights: Shape, attributes: dict[str, object], bias: bool) -> None:
    constants = {"w": noise(*weights)}
    if bias:
        constants["b"] = noise(weights[1] * int(attributes.get("group", 1)))  # type: ignore[call-overload]
    model = make([node("ConvTranspose", "x w b" if bias else "x w", "y", **attributes)], {"x": shape}, ["y"], constants)
    lowered = check(model, noise(*shape))
    assert [op.kind for op in lowered.ops] == [OpKind.TRANSPOSE_CONV]
    stride = attributes.get("strides", [1])[0]  # type: ignore[index]
    rows = lowered.ops[0].operands[0].rows
    assert (rows.numerator, rows.denominator) == (1, stride)


def test_conv_transpose_takes_an_activation() -> None:
    nodes = [node("ConvTranspose", "x w", "c", strides=[2, 2]), node("Relu", "c", "y")]
    lowered = check(make(nodes, {"x": (1, 2, 4, 4)}, ["y"], {"w": noise(2, 3, 3, 3)}), noise(1, 2, 4, 4))
    assert len(lowered.ops) == 1 and lowered.ops[0].params.activation_min == 0


@pytest.mark.parametrize(("attributes", "weights", "reason"), [
    ({"pads": [-1, 0, 0, 0]}, (3, 2, 3, 3), "negative pads|pads"),
    ({"group": 2}, (3, 2, 3, 3), "groups|channels"),
])
def test_conv_transpose_that_contradicts_itself_is_refused(attributes: dict[str, object], weights: Shape,
                                                           reason: str) -> None:
    model = make([node("ConvTranspose", "x w", "y", "up", **attributes)], {"x": (1, 3, 5, 5)}, ["y"],
                 {"w": noise(*weights)})
    with pytest.raises((ModelError, UnsupportedError), match=f"up.*({reason})"):
        program(model)


@pytest.mark.parametrize("axis", [None, 1])
@pytest.mark.parametrize(("weights", "attributes"), [
    ((4, 3, 3, 3), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
    ((4, 3, 2, 2), {"strides": [2, 2], "group": 2}),
    ((4, 2, 3, 2), {"dilations": [2, 1]}),
])
def test_int8_conv_transpose(axis: int | None, weights: Shape, attributes: dict[str, object]) -> None:
    q = Quantiser()
    scale = np.float32(0.01) if axis is None else (np.abs(noise(weights[1])) * 0.01 + 0.002).astype(np.float32)
    source = q.pair("x", 0.02, 7)
    weight = q.constant("w", RANDOM.integers(-127, 128, weights).astype(np.int8), scale, axis=1)
    q.weights["b"] = noise(weights[1] * int(attributes.get("group", 1))) * np.float32(0.1)  # type: ignore[call-overload]
    q.add(node("ConvTranspose", f"{source} {weight} b", "c", **attributes))
    q.add(node("Identity", q.pair("c", 0.05, -9), "y"))
    lowered = check(make(q.nodes, {"x": (1, 4, 5, 4)}, ["y"], q.weights), noise(1, 4, 5, 4), tolerance=0.0501)
    kinds = [(op.kind, op.dtype) for op in lowered.ops]
    assert kinds == [(OpKind.TRANSPOSE_CONV, DType.INT8)]


COORDINATES = ["half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"]


def resize(shape: Shape, scales: list[float] | None, sizes: list[int] | None, **attributes: object) -> onnx.ModelProto:
    weights = {}
    if scales is not None:
        weights["s"] = np.array(scales, np.float32)
    if sizes is not None:
        weights["z"] = np.array(sizes, np.int64)
    return make([node("Resize", "x - s" if scales is not None else "x - - z", "y", **attributes)], {"x": shape}, ["y"],
                weights, opset=19)


@pytest.mark.parametrize(("scales", "sizes"), [
    ([1, 1, 2, 2], None), ([1, 1, 3, 1.5], None), ([1, 1, 0.5, 0.25], None), (None, [1, 2, 9, 4]), (None, [1, 2, 1, 7]),
    ([1, 1, 1.3, 0.8], None), ([1, 1, 0.7, 2.45], None),  # sizes that are rounded
])
@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize(("mode", "extra"), [
    *[("nearest", {"nearest_mode": m}) for m in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")],
    ("linear", {}), ("cubic", {}), ("cubic", {"exclude_outside": 1, "cubic_coeff_a": -0.5}),
])
def test_resize(scales: list[float] | None, sizes: list[int] | None, coordinates: str, mode: str,
                extra: dict[str, object]) -> None:
    model = resize((1, 2, 6, 8), scales, sizes, mode=mode, coordinate_transformation_mode=coordinates, **extra)
    lowered = check(model, noise(1, 2, 6, 8), tolerance=2e-5)
    assert [op.kind for op in lowered.ops] == [OpKind.SELECT if mode == "nearest" else OpKind.RESAMPLE]


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("as_node", [False, True])
@pytest.mark.parametrize(("height", "width", "scales"), [(10, 5, [1, 1, 1.3, 0.7]), (10, 10, [1, 1, 0.7, 1.1]),
                                                         (20, 3, [1, 1, 1.15, 2.45])])
def test_sizes_are_products_in_float32(height: int, width: int, scales: list[float], as_node: bool,
                                       coordinates: str) -> None:
    """10 times 1.3 are 13, as torch.onnx declares and onnxruntime computes; onnx finds 12. Twice in a row."""
    model = resize((1, 2, height, width), scales, None, mode="linear", coordinate_transformation_mode=coordinates)
    model.graph.node[0].output[0] = "r"
    model.graph.node.extend([node("Relu", "r", "q"), node("Resize", "q - s", "y", "again", mode="nearest")])
    if as_node:
        constant = helper.make_node("Constant", [], ["s"], value=model.graph.initializer[0])
        model.graph.ClearField("initializer")
        model.graph.node.insert(0, constant)
    check(model, noise(1, 2, height, width), tolerance=2e-5)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_antialiased_resize(mode: str) -> None:
    check(resize((1, 2, 9, 12), None, [1, 2, 4, 5], mode=mode, antialias=1), noise(1, 2, 9, 12), tolerance=2e-5)


@pytest.mark.parametrize(("shape", "scales"), [((1, 3, 10), [1, 1, 2]), ((4, 6), [2, 1.5]),
                                               ((2, 3, 4, 5), [1, 1, 2, 2])])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_resize_of_other_ranks(shape: Shape, scales: list[float], mode: str) -> None:
    check(resize(shape, scales, None, mode=mode), noise(*shape))


def test_twofold_upsampling_rolls() -> None:
    """Nearest and linear upsampling read a few rows for each output row."""
    for mode, last in (("nearest", 0), ("linear", 2)):
        lowered = program(resize((1, 3, 16, 16), [1, 1, 2, 2], None, mode=mode))
        rows = lowered.ops[0].operands[0].rows
        assert (rows.numerator, rows.denominator) == (1, 2)
        assert rows.last - rows.first <= last
        assert not lowered.ops[0].blobs or mode == "linear"


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("opset", [9, 10])
def test_old_resizing(mode: str, opset: int) -> None:
    weights = {"s": np.array([1, 1, 2, 2], np.float32)}
    model = make([node("Upsample" if opset == 9 else "Resize", "x s", "y", mode=mode)], {"x": (1, 2, 4, 5)}, ["y"],
                 weights, opset=opset)
    check(model, noise(1, 2, 4, 5))


def tensorflow_bilinear(x: np.ndarray, height: int, width: int, half_pixel: bool, align_corners: bool) -> np.ndarray:
    """TensorFlow Lite's reference ResizeBilinearInteger on [H, W, C], pixel by pixel."""
    def place(index: int, size: int, count: int) -> tuple[int, int, int]:
        scale = (1024 * size + count // 2) // count
        if align_corners and count > 1:
            scale = (1024 * (size - 1) + (count - 1) // 2) // (count - 1)
        value = index * scale + (scale // 2 - 512 if half_pixel else 0)
        low = max(int(value / 1024), 0)
        return value, low, min(int((value + 1023) / 1024), size - 1)

    out = np.zeros((height, width, x.shape[2]), np.int8)
    for row, column in itertools.product(range(height), range(width)):
        y, y0, y1 = place(row, x.shape[0], height)
        z, x0, x1 = place(column, x.shape[1], width)
        a, b = y - 1024 * y0, z - 1024 * x0
        pixel = x.astype(np.int64)
        total = (pixel[y0, x0] * (1024 - a) * (1024 - b) + pixel[y1, x0] * a * (1024 - b)
                 + pixel[y0, x1] * (1024 - a) * b + pixel[y1, x1] * a * b)
        out[row, column] = np.trunc((total + np.where(total > 0, 1 << 19, -(1 << 19))) / (1 << 20))
    return out


@pytest.mark.parametrize("coordinates", ["half_pixel", "asymmetric", "align_corners"])
@pytest.mark.parametrize("size", [(10, 8), (5, 7), (3, 2), (13, 1)])
def test_int8_bilinear_is_tensorflow_lites(coordinates: str, size: tuple[int, int]) -> None:
    q = Quantiser()
    source = q.pair("x", 0.05, 3)
    q.weights["z"] = np.array([1, 3, *size], np.int64)
    q.add(node("Resize", f"{source} - - z", "r", mode="linear", coordinate_transformation_mode=coordinates))
    q.add(node("Identity", q.pair("r", 0.05, 3), "y"))
    model = make(q.nodes, {"x": (1, 3, 5, 4)}, ["y"], q.weights)
    assert [op.kind for op in program(model).ops] == [OpKind.RESAMPLE]
    stored = RANDOM.integers(-128, 128, (1, 3, 5, 4))
    x = ((stored - 3) * np.float32(0.05)).astype(np.float32)
    with Session(compile_model(model, fast="1M")) as session:
        got = session.run({"x": x})["y"]
    expected = tensorflow_bilinear(stored[0].transpose(1, 2, 0).astype(np.int8), *size, coordinates == "half_pixel",
                                   coordinates == "align_corners")
    np.testing.assert_array_equal(np.rint(got[0] / 0.05) + 3, expected.transpose(2, 0, 1))


@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("aligned", [0, 1])
@pytest.mark.parametrize("batch", [1, 2])
def test_grid_sample(mode: str, padding: str, aligned: int, batch: int) -> None:
    grid = RANDOM.uniform(-1.4, 1.4, (batch, 4, 3, 2)).astype(np.float32)
    model = make([node("GridSample", "x g", "y", mode=mode, padding_mode=padding, align_corners=aligned)],
                 {"x": (batch, 3, 5, 6)}, ["y"], {"g": grid}, opset=20)
    x = noise(batch, 3, 5, 6)
    with Session(compile_model(model, fast="1M")) as session:
        np.testing.assert_allclose(session.run({"x": x})["y"], ort(model, {"x": x})["y"], rtol=1e-4, atol=1e-4)


def test_grid_sample_with_a_computed_grid_is_refused() -> None:
    model = make([node("GridSample", "x g", "y", "warp")], {"x": (1, 3, 5, 6), "g": (1, 2, 2, 2)}, ["y"], opset=20)
    with pytest.raises(UnsupportedError, match=r"warp.*run time"):
        program(model)

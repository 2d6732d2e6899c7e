"""Transposed convolutions, Resize and Upsample, lowered and run by the runtime, equal onnxruntime."""

import numpy as np
import onnx
import pytest
from onnx import helper

from tests.compiler.lower.compare import Case, Shape, case, check, ints, noise, quantised
from tests.compiler.models import make, node, program
from tigris_pio.errors import ModelError, UnsupportedError
from tigris_pio.format.enums import DType, OpKind

RANDOM = np.random.default_rng(23)
UP = OpKind.TRANSPOSE_CONV
TRANSPOSED = [
    *(case("ConvTranspose", (1, 3, 5, 4), [3, 2, *kernel], *([[2]] if "pads" in more else []), found=[UP], **more)
      for kernel, more in (
        ((3, 3), {}), ((3, 3), {"strides": [2, 3]}), ((4, 4), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
        ((3, 4), {"strides": [2, 1], "pads": [1, 0, 0, 2], "output_padding": [1, 0]}),
        ((3, 2), {"strides": [3, 2], "dilations": [2, 3], "pads": [2, 1, 0, 0]}),
        ((2, 3), {"strides": [4, 3], "dilations": [6, 2], "output_padding": [2, 1]}), ((1, 1), {"strides": [2, 3]}),
        ((3, 3), {"strides": [2, 2], "auto_pad": "SAME_UPPER"}),
        ((3, 3), {"strides": [2, 2], "auto_pad": "SAME_LOWER"}),
        ((3, 3), {"strides": [3, 2], "output_shape": [14, 8]}),
        ((3, 3), {"strides": [3, 2], "output_shape": [14, 8], "auto_pad": "SAME_UPPER"}))),
    case("ConvTranspose", (2, 4, 3, 3), [4, 3, 3, 3], [6], group=2, strides=[2, 2], found=[UP]),
    case("ConvTranspose", (1, 4, 3, 3), [4, 1, 4, 4], group=4, strides=[2, 2], pads=[1, 1, 1, 1], found=[UP]),
    case("ConvTranspose", (1, 3, 7), [3, 4, 4], [4], strides=[2], pads=[1, 1], found=[UP]),
]
COORDINATES = ["half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"]
MODES = [
    *(("nearest", {"nearest_mode": m}) for m in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")),
    ("linear", {}), ("cubic", {}), ("cubic", {"exclude_outside": 1, "cubic_coeff_a": -0.5}),
]
#: Factors, or sizes; the last two factors give sizes that are rounded.
SIZES = [([1, 1, 2, 2], None), ([1, 1, 3, 1.5], None), ([1, 1, 0.5, 0.25], None), (None, [1, 2, 9, 4]),
         (None, [1, 2, 1, 7]), ([1, 1, 1.3, 0.8], None), ([1, 1, 0.7, 2.45], None)]


def resized(shape: Shape, scales: list[float] | None, sizes: list[int] | None, **more: object) -> Case:
    by = [np.array(scales, np.float32)] if sizes is None else [None, ints(*sizes)]
    kind = OpKind.SELECT if more["mode"] == "nearest" else OpKind.RESAMPLE
    return case("Resize", shape, None, *by, opset=19, found=[kind], **more)


#: Every mode with every coordinates; the sizes take turns, so that each meets each of both.
RESIZED = [resized((1, 2, 6, 8), *SIZES[(place + first + turn) % len(SIZES)], mode=mode,
                   coordinate_transformation_mode=coordinates, **extra)
           for place, (mode, extra) in enumerate(MODES) for first, coordinates in enumerate(COORDINATES)
           for turn in (0, 3)]
OTHERS = [
    *(resized(shape, scales, None, mode=mode) for mode in ("nearest", "linear")
      for shape, scales in (((1, 3, 10), [1, 1, 2]), ((4, 6), [2, 1.5]), ((2, 3, 4, 5), [1, 1, 2, 2]))),
    *(resized((1, 2, 9, 12), None, [1, 2, 4, 5], mode=mode, antialias=1) for mode in ("linear", "cubic")),
    *(case("Resize", (1, 2, 6, 8), None, None, ints(9, 16), axes=[2, 3], keep_aspect_ratio_policy=policy, mode="linear",
           opset=18) for policy in ("not_larger", "not_smaller")),
    *(case(op, (1, 2, 4, 5), np.array([1, 1, 2, 2], np.float32), mode=mode, opset=opset)
      for mode in ("nearest", "linear") for op, opset in (("Upsample", 9), ("Resize", 10))),
]


@pytest.mark.parametrize("each", [*TRANSPOSED, *RESIZED, *OTHERS], ids=lambda each: each.op)
def test_one_node(each: Case) -> None:
    each.check(atol=2e-5)


def test_conv_transpose_takes_an_activation() -> None:
    nodes = [node("ConvTranspose", "x w", "c", strides=[2, 2]), node("Relu", "c", "y")]
    compiled = check(make(nodes, {"x": (1, 2, 4, 4)}, ["y"], {"w": noise(2, 3, 3, 3)}), {"x": noise(1, 2, 4, 4)})
    (op,) = compiled.plan.program.ops
    assert op.params.activation_min == 0 and op.operands[0].rows.denominator == 2


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
    scale = np.float32(0.01) if axis is None else (np.abs(noise(weights[1])) * 0.01 + 0.002).astype(np.float32)
    constants = {"w": (RANDOM.integers(-127, 128, weights).astype(np.int8), scale, 1),
                 "b": noise(weights[1] * int(str(attributes.get("group", 1)))) * np.float32(0.1)}
    model = quantised([node("ConvTranspose", "x w b", "c", **attributes)], {"x": ((1, 4, 5, 4), 0.02, 7)}, (0.05, -9),
                      constants)
    (op,) = check(model, {"x": noise(1, 4, 5, 4)}, atol=0.0501).plan.program.ops
    assert (op.kind, op.dtype) == (OpKind.TRANSPOSE_CONV, DType.INT8)


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize(("height", "width", "scales", "as_node"), [
    (10, 5, [1, 1, 1.3, 0.7], False), (10, 10, [1, 1, 0.7, 1.1], True), (20, 3, [1, 1, 1.15, 2.45], False)])
def test_sizes_are_products_in_float32(height: int, width: int, scales: list[float], as_node: bool,
                                       coordinates: str) -> None:
    """10 times 1.3 are 13, as torch.onnx declares and onnxruntime computes; onnx finds 12. Twice in a row."""
    weights = {"s": np.array(scales, np.float32)}
    nodes = [node("Resize", "x - s", "r", mode="linear", coordinate_transformation_mode=coordinates),
             node("Relu", "r", "q"), node("Resize", "q - s", "y", "again", mode="nearest")]
    if as_node:
        nodes.insert(0, helper.make_node("Constant", [], ["s"], value=onnx.numpy_helper.from_array(weights.pop("s"))))
    check(make(nodes, {"x": (1, 2, height, width)}, ["y"], weights, 19), {"x": noise(1, 2, height, width)}, atol=2e-5)


@pytest.mark.parametrize(("mode", "last"), [("nearest", 0), ("linear", 2)])
def test_twofold_upsampling_rolls(mode: str, last: int) -> None:
    """Nearest and linear upsampling read a few rows for each output row."""
    weights = {"s": np.array([1, 1, 2, 2], np.float32)}
    (op,) = program(make([node("Resize", "x - s", "y", mode=mode)], {"x": (1, 3, 16, 16)}, ["y"], weights)).ops
    rows = op.operands[0].rows
    assert (rows.numerator, rows.denominator) == (1, 2) and rows.last - rows.first <= last
    assert not op.blobs or mode == "linear"


def test_grid_sample_with_a_computed_grid_is_refused() -> None:
    model = make([node("GridSample", "x g", "y", "warp")], {"x": (1, 3, 5, 6), "g": (1, 2, 2, 2)}, ["y"], opset=20)
    with pytest.raises(UnsupportedError, match=r"warp.*run time"):
        program(model)

"""Pooling over three axes and of powers, run by the runtime, equals onnxruntime."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from tests.compiler.models import Quantiser, make, node, ort, program
from tigris_pio import Session, compile_model
from tigris_pio.errors import UnsupportedError
from tigris_pio.format.enums import DType, OpKind

RANDOM = np.random.default_rng(31)


def noise(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def check(model: onnx.ModelProto, x: np.ndarray, tolerance: float = 1e-5) -> None:
    with Session(compile_model(model, fast="1M")) as session:
        got = session.run({"x": x})["y"]
    expected = ort(model, {"x": x})["y"]
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize("attributes", [
    {"kernel_shape": [2, 2, 2]},
    {"kernel_shape": [3, 2, 1], "strides": [2, 1, 3], "pads": [1, 0, 0, 1, 1, 0]},
    {"kernel_shape": [3, 3, 3], "strides": [2, 2, 2], "ceil_mode": 1},
    {"kernel_shape": [3, 3, 3], "strides": [2, 2, 2], "auto_pad": "SAME_UPPER"},
    {"kernel_shape": [2, 2, 2], "dilations": [2, 1, 3]},
])
def test_pools_over_three_axes(op: str, attributes: dict[str, object]) -> None:
    model = make([node(op, "x", "y", **attributes)], {"x": (2, 3, 6, 7, 8)}, ["y"], opset=19)
    check(model, noise(2, 3, 6, 7, 8))


@pytest.mark.parametrize("pads", [[1, 1, 1, 1, 1, 1], [0, 1, 0, 0, 0, 1]])
def test_average_over_three_axes_counts_padding(pads: list[int]) -> None:
    model = make([node("AveragePool", "x", "y", kernel_shape=[3, 3, 3], pads=pads, count_include_pad=1)],
                 {"x": (1, 2, 5, 4, 6)}, ["y"])
    check(model, noise(1, 2, 5, 4, 6))


@pytest.mark.parametrize("op", ["GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"])
@pytest.mark.parametrize("shape", [(2, 3, 7), (1, 3, 4, 5), (2, 3, 4, 5, 6)])
def test_global_pools(op: str, shape: tuple[int, ...]) -> None:
    check(make([node(op, "x", "y")], {"x": shape}, ["y"]), noise(*shape))


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("shape", [(1, 2, 9), (2, 3, 7, 8)])
def test_lp_pool(p: int, shape: tuple[int, ...]) -> None:
    axes = len(shape) - 2
    attributes = {"kernel_shape": [3] * axes, "strides": [2] * axes, "pads": [1] * 2 * axes, "p": p}
    check(make([node("LpPool", "x", "y", **attributes)], {"x": shape}, ["y"], opset=18), noise(*shape))
    check(make([node("GlobalLpPool", "x", "y", p=p)], {"x": shape}, ["y"]), noise(*shape))


def test_int8_maximum_over_three_axes_stays_int8() -> None:
    q = Quantiser()
    source = q.pair("x", 0.05, 3)
    q.add(node("MaxPool", source, "m", kernel_shape=[2, 3, 2]), node("Identity", q.pair("m", 0.05, 3), "y"))
    model = make(q.nodes, {"x": (1, 2, 4, 5, 6)}, ["y"], q.weights)
    lowered = [op for op in program(model).ops if op.kind not in (OpKind.COPY, OpKind.TRANSPOSE)]
    assert [(op.kind, op.dtype) for op in lowered] == [(OpKind.MAX_POOL, DType.INT8)] * 2
    check(model, noise(1, 2, 4, 5, 6))


def test_four_axes_and_indices_are_refused_by_name() -> None:
    model = make([node("MaxPool", "x", "y i", "deep", kernel_shape=[2, 2])], {"x": (1, 2, 4, 4)}, ["y", "i"],
                 types={"i": onnx.TensorProto.INT64})
    with pytest.raises(UnsupportedError, match=r"deep.*indices"):
        program(model)
    model = make([node("MaxPool", "x", "y", "deep", kernel_shape=[2, 2, 2, 2])], {"x": (1, 2, 4, 4, 4, 4)}, ["y"])
    with pytest.raises(UnsupportedError, match=r"deep.*spatial"):
        program(model)


@pytest.mark.parametrize(("image", "block", "extra"), [
    ([5, 6], [2, 3], {}), ([7, 8], [3, 2], {"strides": [2, 2], "pads": [1, 0, 0, 1]}),
    ([9, 9], [2, 3], {"dilations": [3, 2]}),
])
def test_col2im(image: list[int], block: list[int], extra: dict[str, list[int]]) -> None:
    """The adjoint of taking windows: each element of each window is added where it was taken."""
    strides, dilations = extra.get("strides", [1, 1]), extra.get("dilations", [1, 1])
    pads = extra.get("pads", [0, 0, 0, 0])
    grid = [(image[a] + pads[a] + pads[a + 2] - dilations[a] * (block[a] - 1) - 1) // strides[a] + 1 for a in (0, 1)]
    x = noise(2, 3 * block[0] * block[1], grid[0] * grid[1])
    model = make([node("Col2Im", "x i b", "y", **extra)], {"x": x.shape}, ["y"],
                 {"i": np.array(image), "b": np.array(block)}, opset=18)
    with Session(compile_model(model, fast="1M")) as session:
        got = session.run({"x": x})["y"]
    expected = np.zeros((2, 3, image[0] + pads[0] + pads[2], image[1] + pads[1] + pads[3]), np.float32)
    columns = x.reshape(2, 3, *block, *grid)
    for a, b, i, j in np.ndindex(*block, *grid):
        row, column = i * strides[0] + a * dilations[0], j * strides[1] + b * dilations[1]
        expected[:, :, row, column] += columns[:, :, a, b, i, j]
    inside = expected[:, :, pads[0] : pads[0] + image[0], pads[1] : pads[1] + image[1]]
    np.testing.assert_allclose(got, inside, rtol=1e-5, atol=1e-5)

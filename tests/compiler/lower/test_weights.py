"""Weights that cannot be used as they are: what is lost is said in numbers, and what are no numbers is refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import onnx
import pytest

from tests.compiler.lower.compare import check, outputs
from tests.compiler.models import Quantiser, make, node, ort, program
from tigris_pio import compile_model
from tigris_pio.compiler.ir.program import Program
from tigris_pio.errors import ModelError
from tigris_pio.format.enums import DType, OpKind

RANDOM = np.random.default_rng(23)
LOSS = re.compile(r"by up to ([\d.]+) and on average ([\d.]+) of their steps, outputs by some ([\d.]+) steps and at "
                  r"worst (\d+);")


def layer(op: str, weights: np.ndarray, scale: np.ndarray | float, zero: np.ndarray | int, axis: int = 0,
          quantised_output: bool = True) -> onnx.ModelProto:
    """A layer between int8 tensors; weights of any type, scales and zero points."""
    q = Quantiser()
    source = q.pair("x", 0.02, 3)
    q.weights |= {"w_q": weights, "w_s": np.asarray(scale, np.float32), "w_z": np.asarray(zero, weights.dtype)}
    axes = {"axis": axis} if np.ndim(scale) else {}
    q.add(node("DequantizeLinear", "w_q w_s w_z", "w", **axes), node(op, f"{source} w", "c", "layer"))
    shape = (1, 16) if op in ("Gemm", "MatMul") else (1, 16, 5, 5)
    if quantised_output:
        q.add(node("Identity", q.pair("c", 0.2, -3), "y"))
        return make(q.nodes, {"x": shape}, ["y"], q.weights)
    return make(q.nodes, {"x": shape}, ["c"], q.weights)


def integers(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    low = 0 if dtype == "uint8" else -128
    return RANDOM.integers(low, low + 256, shape).astype(dtype)


def losses(lowered: Program) -> tuple[float, ...]:
    (warning,) = lowered.warnings
    found = LOSS.search(warning)
    assert found is not None and warning.startswith("node layer: weights w "), warning
    return tuple(map(float, found.groups()))


@pytest.mark.parametrize(("dtype", "zero"), [("uint8", 200), ("uint8", 90), ("int8", 20), ("int8", -128)])
def test_the_loss_of_asymmetric_weights_is_said(dtype: str, zero: int) -> None:
    """In the weights' own steps, computed here from their definition, and in the output's, which is measured."""
    values = integers((16, 8, 1, 1), dtype)
    model = layer("ConvTranspose", values, 0.01, zero)
    lowered = program(model)
    largest, mean, usual, worst = losses(lowered)
    real = np.moveaxis(values.astype(np.float64) - zero, 1, 0).reshape(8, -1)
    scales = np.abs(real).max(axis=1, keepdims=True) / 127
    fits = (real.min(axis=1, keepdims=True) >= -128) & (real.max(axis=1, keepdims=True) <= 127)
    expected = np.where(fits, 0, np.abs(np.rint(real / scales) * scales - real))
    assert abs(largest - expected.max()) < 0.02 and abs(mean - expected.mean()) < 0.01
    inputs = {"x": RANDOM.uniform(-2.5, 2.4, (1, 16, 5, 5)).astype(np.float32)}
    lowered_output, exact = outputs(compile_model(model), inputs)["y"], ort(model, inputs)["y"]
    inside = np.abs(exact / 0.2 - 3) < 124
    steps = np.abs(lowered_output - exact)[inside] / 0.2
    assert 0 < usual < 3 and steps.max() <= worst + 1


def test_the_loss_of_weights_scaled_along_an_inner_axis_is_said() -> None:
    values = integers((8, 16, 1, 1), "int8")
    lowered = program(layer("Conv", values, np.linspace(0.001, 0.02, 16), np.zeros(16), axis=1))
    largest, mean, usual, worst = losses(lowered)
    assert "8 of 8 output channels" in lowered.warnings[0] and 0 < mean < largest and usual < worst


@pytest.mark.parametrize(("op", "shape"), [("Conv", (8, 16, 1, 1)), ("Gemm", (16, 8)), ("MatMul", (16, 8)),
                                           ("ConvTranspose", (16, 8, 1, 1))])
def test_int8_weights_in_float_are_said(op: str, shape: tuple[int, ...]) -> None:
    lowered = program(layer(op, integers(shape, "int8"), 0.01, 3, quantised_output=False))
    assert [op.dtype for op in lowered.ops if op.name == "layer"] == [DType.FLOAT32]
    (warning,) = lowered.warnings
    assert warning.startswith("node layer: runs in float32 although its weights are int8, because c is not quantised")
    assert "QuantizeLinear and DequantizeLinear there" in warning
    assert not program(layer(op, integers(shape, "int8"), 0.01, 0)).warnings


WINDOWS = {"pads": [1, 0, 2, 1], "strides": [2, 1], "dilations": [1, 2]}


@pytest.mark.parametrize("bias", ["int32", "float", ""])
@pytest.mark.parametrize(("op", "shape", "given", "attributes"), [
    ("Conv", (6, 4, 3, 3), (2, 4, 9, 8), WINDOWS), ("Conv", (6, 4, 1, 1), (1, 4, 5, 3), {}),
    ("Conv", (6, 4, 1, 3), (1, 4, 5, 6), {"auto_pad": "SAME_UPPER"}), ("Gemm", (6, 36), (1, 36), {"transB": 1}),
    ("Gemm", (36, 6), (5, 36), {"alpha": 0.5}), ("MatMul", (12, 6), (2, 3, 12), {})])
def test_results_that_nobody_quantised_are_sums_times_scales(op: str, shape: tuple[int, ...], given: tuple[int, ...],
                                                             attributes: dict[str, Any], bias: str) -> None:
    q, axis = Quantiser(), 0 if op == "Conv" or "transB" in attributes else len(shape) - 1
    scales = np.linspace(0.005, 0.02, 6)
    names = [q.pair("x", 0.05, -20), q.constant("w", integers(shape, "int8"), scales, axis)]
    if bias == "int32" and op != "MatMul":
        names.append(q.constant("b", np.arange(-300, 300, 100, dtype=np.int32),
                                (np.float32(0.05) * scales.astype(np.float32)) * attributes.get("alpha", 1.0)))
    elif bias and op != "MatMul":
        q.weights["b"] = np.linspace(-1, 1, 6, dtype=np.float32)
        names.append("b")
    q.add(node(op, " ".join(names), "c", **attributes), node("Relu", "c", "y"))
    model = make(q.nodes, {"x": given}, ["y"], q.weights)
    compiled = check(model, {"x": RANDOM.normal(0, 2, given).astype(np.float32)}, rtol=1e-5, atol=1e-5)
    assert [item.dtype for item in compiled.plan.program.ops if item.kind is OpKind.FULLY_CONNECTED] == [DType.INT32]
    assert not compiled.report["warnings"]


def diverged(op: str, bad: str, value: float) -> onnx.ModelProto:
    shapes = {
        "Conv": {"w": (4, 3, 3, 3), "b": (4,)}, "ConvTranspose": {"w": (3, 4, 2, 2), "b": (4,)},
        "BatchNormalization": {"w": (3,), "b": (3,), "m": (3,), "v": (3,)},
        "Gemm": {"w": (8, 4), "b": (4,)}, "MatMul": {"w": (8, 4)}, "Add": {"w": (3, 1, 1)},
        "LayerNormalization": {"w": (8,), "b": (8,)}, "Where": {"w": (1, 3, 8, 8)},
    }[op]
    weights = {name: np.ones(shape, np.float32) for name, shape in shapes.items()}
    weights[bad].reshape(-1)[1:3] = value
    names = " ".join(weights)
    if op == "Where":
        weights["c"] = np.array(True)
        names = "c x w"
    nodes = [node(op, names if op == "Where" else f"x {names}", "r", "culprit"), node("Relu", "r", "y")]
    return make(nodes, {"x": (1, 8) if op in ("Gemm", "MatMul") else (1, 3, 8, 8)}, ["y"], weights)


@pytest.mark.parametrize(("op", "bad"), [
    ("Conv", "w"), ("ConvTranspose", "w"), ("BatchNormalization", "v"), ("Gemm", "b"), ("Add", "w"),
    ("LayerNormalization", "b"), ("Where", "w"),
])
def test_nan_in_constants_is_refused(op: str, bad: str) -> None:
    text = rf"node culprit \({op}\): constant {bad} holds 2 NaN of \d+ elements; export the model again"
    with pytest.raises(ModelError, match=text):
        compile_model(diverged(op, bad, float("nan")))


@pytest.mark.parametrize(("op", "value"), [("Conv", float("inf")), ("MatMul", -float("inf"))])
def test_infinite_weights_are_refused(op: str, value: float) -> None:
    with pytest.raises(ModelError, match=r"node culprit .*: constant w holds 2 infinite of"):
        compile_model(diverged(op, "w", value))


def test_infinite_masks_and_bounds_are_not() -> None:
    for op in ("Add", "Where"):
        compile_model(diverged(op, "w", -float("inf")))

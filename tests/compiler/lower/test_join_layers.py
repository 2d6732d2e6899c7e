"""Layers of the same vectors that are joined are one layer, to the byte."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from tests.compiler.lower.program_interpreter import run
from tests.compiler.models import Quantiser, make, node, ort, program
from tigris_pio import Session, compile_model
from tigris_pio.format.enums import OpKind

RANDOM = np.random.default_rng(4)


def noise(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def joined(shape: tuple[int, ...], sizes: tuple[int, ...], outputs: tuple[str, ...] = ("y",)) -> onnx.ModelProto:
    """Layers of x with so many outputs each, joined along the last axis."""
    weights = {f"w{i}": noise(shape[-1], size) for i, size in enumerate(sizes)}
    nodes = [node("MatMul", f"x w{i}", f"p{i}") for i in range(len(sizes))]
    nodes.append(node("Concat", " ".join(f"p{i}" for i in range(len(sizes))), "y", axis=len(shape) - 1))
    return make(nodes, {"x": shape}, list(outputs), weights)


def kinds(model: onnx.ModelProto) -> list[OpKind]:
    return [op.kind for op in program(model).ops if op.kind not in (OpKind.QUANTIZE, OpKind.DEQUANTIZE)]


@pytest.mark.parametrize("shape", [(1, 16), (1, 6, 16)])
def test_float(shape: tuple[int, ...]) -> None:
    model, x = joined(shape, (5, 8, 3)), noise(*shape)
    assert kinds(model) == [OpKind.FULLY_CONNECTED]
    expected = ort(model, {"x": x})["y"]
    with Session(compile_model(model)) as session:
        np.testing.assert_allclose(session.run({"x": x})["y"], expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(run(program(model), {"x": x})["y"], expected, rtol=1e-5, atol=1e-5)


def test_int8() -> None:
    """Where the join has the scale of both; each output keeps its own scale of products."""
    q = Quantiser()
    x, sizes = q.pair("x", 0.03, 3), (5, 8)
    for i, size in enumerate(sizes):
        values = RANDOM.integers(-127, 128, (16, size)).astype(np.int8)
        scale = RANDOM.uniform(0.002, 0.01, size).astype(np.float32) if i else 0.004
        q.add(node("MatMul", f"{x} {q.constant(f'w{i}', values, scale, axis=1)}", f"p{i}"))
    parts = [q.pair(f"p{i}", 0.07, -4) for i in range(len(sizes))]
    q.add(node("Concat", " ".join(parts), "c", axis=1), node("Identity", q.pair("c", 0.07, -4), "y"))
    model, data = make(q.nodes, {"x": (1, 16)}, ["y"], q.weights), {"x": noise(1, 16)}
    assert kinds(model) == [OpKind.FULLY_CONNECTED]
    with Session(compile_model(model)) as session:
        got = session.run(data)["y"]
    np.testing.assert_array_equal(got, run(program(model), data)["y"])
    np.testing.assert_allclose(got, ort(model, data)["y"], atol=0.0701)
    assert len(np.unique(got)) > 8


def test_layers_that_somebody_else_reads_stay() -> None:
    assert kinds(joined((1, 16), (5, 8), ("y", "p0"))).count(OpKind.FULLY_CONNECTED) == 2


def test_layers_of_different_vectors_stay() -> None:
    nodes = [node("MatMul", "x w", "p"), node("MatMul", "z w", "q"), node("Concat", "p q", "y", axis=1)]
    model = make(nodes, {"x": (1, 16), "z": (1, 16)}, ["y"], {"w": noise(16, 4)})
    assert kinds(model).count(OpKind.FULLY_CONNECTED) == 2

"""Layers of the same vectors that are joined are one layer, to the byte."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from tests.compiler.lower.compare import check, kinds, noise
from tests.compiler.models import Quantiser, make, node
from tigris_pio import compile_model
from tigris_pio.format.enums import OpKind

RANDOM = np.random.default_rng(4)


def joined(shape: tuple[int, ...], sizes: tuple[int, ...], outputs: tuple[str, ...] = ("y",)) -> onnx.ModelProto:
    """Layers of x with so many outputs each, joined along the last axis."""
    weights = {f"w{i}": noise(shape[-1], size) for i, size in enumerate(sizes)}
    nodes = [node("MatMul", f"x w{i}", f"p{i}") for i in range(len(sizes))]
    nodes.append(node("Concat", " ".join(f"p{i}" for i in range(len(sizes))), "y", axis=len(shape) - 1))
    return make(nodes, {"x": shape}, list(outputs), weights)


@pytest.mark.parametrize("shape", [(1, 16), (1, 6, 16)])
def test_float(shape: tuple[int, ...]) -> None:
    compiled = check(joined(shape, (5, 8, 3)), {"x": noise(*shape)})
    assert kinds(compiled) == [OpKind.FULLY_CONNECTED]


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
    assert kinds(check(model, data, rtol=0, atol=0.0701)) == [OpKind.FULLY_CONNECTED]


def test_layers_that_somebody_else_reads_stay() -> None:
    assert kinds(compile_model(joined((1, 16), (5, 8), ("y", "p0")))).count(OpKind.FULLY_CONNECTED) == 2


def test_layers_of_different_vectors_stay() -> None:
    nodes = [node("MatMul", "x w", "p"), node("MatMul", "z w", "q"), node("Concat", "p q", "y", axis=1)]
    model = make(nodes, {"x": (1, 16), "z": (1, 16)}, ["y"], {"w": noise(16, 4)})
    assert kinds(compile_model(model)).count(OpKind.FULLY_CONNECTED) == 2

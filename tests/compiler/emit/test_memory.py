"""Lowering and emission keep one copy of the weights in the graph and one in the plan."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import onnx

from tests.compiler.models import make, node
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import back, front

SHAPE, OUTPUTS = (1, 64, 8, 8), 1024
MATRIX_BYTES = 4 * 64 * 8 * 8 * OUTPUTS
T = TypeVar("T")


def large_model() -> onnx.ModelProto:
    """A convolution, and a matrix of 16 MiB whose columns the plan stores in another order."""
    weights = {"w": np.ones((64, 64, 3, 3), np.float32), "m": np.ones((OUTPUTS, 64 * 8 * 8), np.float32)}
    nodes = [node("Conv", "x w", "c", pads=[1] * 4), node("Flatten", "c", "f"), node("Gemm", "f m", "y", transB=1)]
    return make(nodes, {"x": SHAPE}, ["y"], weights)


def peak_of(work: Callable[[], T]) -> tuple[T, int]:
    """The result, and the peak of allocated bytes."""
    tracemalloc.start()
    try:
        return work(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_lowering_and_emitting_copy_no_weights() -> None:
    model = large_model()
    start, lowering = peak_of(lambda: front(model, CompileOptions()))
    compiled, emitting = peak_of(lambda: back(start, CompileOptions()))
    assert len(compiled.data) > MATRIX_BYTES
    assert lowering < 1.5 * MATRIX_BYTES, "the array read from the protobuf"
    assert emitting < 1.5 * MATRIX_BYTES, "the plan and one piece of the matrix"

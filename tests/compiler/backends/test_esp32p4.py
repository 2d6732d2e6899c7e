"""What ESP-NN's kernels for the ESP32-P4 get wrong is not asked of them."""

from __future__ import annotations

import numpy as np
import pytest

from bench.layers import Layer, build_layer
from tigris_pio import compile_model
from tigris_pio.compiler.backends.esp_nn import refuses_on
from tigris_pio.compiler.backends.shape import PlainShape
from tigris_pio.compiler.ir.program import ProgramOp
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import FullyConnectedInt8Params


def layer(weights: np.ndarray) -> tuple[ProgramOp, PlainShape]:
    """A fully connected layer of those weights."""
    outputs, inputs = weights.shape
    params = FullyConnectedInt8Params(1, inputs, outputs, 0, 0, -128, 127, 0, 0, 0, 0)
    op = ProgramOp("layer", OpKind.FULLY_CONNECTED, DType.INT8, (), "out", params, {"weights": weights})
    return op, PlainShape(inputs, outputs, 1, 1, 1, 1, dense=True)


SUMS = [(-128, 511, False), (-128, 512, True), (127, 516, False), (127, 517, True), (1, 65535, False), (1, 65536, True)]


@pytest.mark.parametrize("weight, inputs, refused", SUMS)
def test_sums_of_more_than_24_bits(weight: int, inputs: int, refused: bool) -> None:
    """One output's that can be as much as 2^23 is enough; below, none."""
    weights = np.zeros((3, inputs), np.int8)
    weights[1] = weight
    op, shape = layer(weights)
    assert bool(refuses_on(op, shape, "esp32p4")) is bool(refuses_on(op, shape, "")) is refused
    assert refuses_on(op, shape, "esp32s3") is None


@pytest.mark.parametrize("own, why", [
    (Layer("small", (1, 1, 8, 8), (4, 1, 3, 3), 1), "padded windows of less than 16"),
    (Layer("deep", (1, 272, 4, 4), (272, 1, 3, 3), 1, 272), "no bias beyond 256 channels"),
])  # fmt: skip
def test_layers_of_one_chip(own: Layer, why: str) -> None:
    model = build_layer(own)
    found = compile_model(model, backend="esp-nn", chip="esp32p4").report["backend"]
    assert found["ops"] == 0 and why in found["portable"][0]["reason"]
    assert compile_model(model, backend="esp-nn", chip="esp32s3").report["backend"]["ops"] == 1

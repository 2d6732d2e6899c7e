"""Multipliers to the last bit: sums whose output depends on whether the scales' product is rounded to float32."""

from __future__ import annotations

import numpy as np

from tests.tflite.compare import check_exact
from tests.tflite.writer import Operator, Tensor, constant, write
from tigris_pio import Session, compile_model
from tigris_pio.compiler.lower.numerics import multiplied, quantize_multiplier


def decisive_sums() -> tuple[float, float, float, np.ndarray]:
    """Scales of input, weights and output, and sums whose output depends on the rounding of their product."""
    random = np.random.default_rng(0)
    sums = np.arange(-1_000_000, 1_000_000, dtype=np.int64)
    while True:
        first, second = (np.float32(random.uniform(0.01, 0.1)) for _ in range(2))
        result = np.float32(first * second * 8000)
        double, single = float(first) * float(second), float(np.float32(first * second))
        found = [multiplied(sums, *quantize_multiplier(product / float(result))) for product in (double, single)]
        differ = sums[found[0] != found[1]]
        differ = differ[np.abs(multiplied(differ, *quantize_multiplier(double / float(result)))) < 100]
        if len(differ) >= 4:
            return float(first), float(second), float(result), differ[:64]


def test_a_fully_connected_layer_keeps_the_scales_product_in_double() -> None:
    """The input is zero, so the sums are the biases."""
    first, second, result, sums = decisive_sums()
    tensors = [Tensor("x", (1, 4), "int8", first, 7), constant("w", np.ones((len(sums), 4), np.int8), second),
               constant("b", sums.astype(np.int32), first * second), Tensor("y", (1, len(sums)), "int8", result, 0)]
    data = write(tensors, [Operator("FULLY_CONNECTED", ["x", "w", "b"], ["y"])], ["x"], ["y"])
    check_exact(data, data, {"x": np.full((1, 4), 7, np.int8)})


def test_a_convolution_of_uint8_with_a_zero_point_of_its_weights_rounds_it() -> None:
    """As LiteRT's reference kernels do; TensorFlow Lite Micro has no such kernel."""
    first, second, result, sums = decisive_sums()
    single = float(np.float32(first) * np.float32(second))
    tensors = [
        Tensor("x", (1, 1, 1, 4), "uint8", first, 7), Tensor("y", (1, 1, 1, len(sums)), "uint8", result, 128),
        constant("w", np.full((len(sums), 1, 1, 4), 255, np.uint8), second, 0),
        constant("b", sums.astype(np.int32), first * second),
    ]  # fmt: skip
    options = {"strideW": 1, "strideH": 1, "dilationWFactor": 1, "dilationHFactor": 1}
    data = write(tensors, [Operator("CONV_2D", ["x", "w", "b"], ["y"], options)], ["x"], ["y"])
    with Session(compile_model(data)) as session:
        got = session.run({"x": np.full((1, 1, 1, 4), 7, np.uint8)})["y"].reshape(-1)
    expected = multiplied(sums, *quantize_multiplier(single / result)) + 128
    assert got.tolist() == expected.tolist()

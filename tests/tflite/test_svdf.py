"""SVDF against TensorFlow Lite Micro over several runs: its memory is a state."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tflite.compare import check_exact, random_input
from tests.tflite.tflm import Tflm
from tests.tflite.writer import NONE, RELU, Operator, Tensor, constant, write
from tigris_pio import Session, UnsupportedError, compile_model

FILTERS, ROWS, INPUTS = 6, 4, 5


def svdf(rank: int, bias: bool, kind: str, rows: int = ROWS, zero: int = -128, time: str = "") -> bytes:
    units, random = FILTERS // rank, np.random.default_rng(rank)
    if kind == "float32":
        features, time, offsets = (random.uniform(-1, 1, shape).astype(np.float32)
                                   for shape in ((FILTERS, INPUTS), (FILTERS, rows), (units,)))
        ends = [Tensor("x", (1, INPUTS), kind), Tensor("y", (1, units), kind),
                constant("f", features), constant("t", time), constant("b", offsets),
                Tensor("m", (1, FILTERS * rows), kind, variable=True)]
    else:
        ends = [Tensor("x", (1, INPUTS), "int8", 0.1, 3),
                Tensor("y", (1, units), "int8", 0.4 if kind == "int8" else 2.0, zero),
                constant("f", random_input((FILTERS, INPUTS), seed=1), 0.02),
                constant("t", random_input((FILTERS, rows), time or kind, 2), 0.01 if kind == "int8" else 7e-5),
                constant("b", random.integers(-99, 99, units).astype(np.int32), 0.0008 if kind == "int8" else 7e-8),
                Tensor("m", (1, FILTERS * rows), kind, 0.08 if kind == "int8" else 1e-3,
                       -7 if kind == "int8" else 0, variable=True)]
    options = {"rank": rank, "fusedActivationFunction": RELU if kind != "float32" or bias else NONE}
    return write(ends, [Operator("SVDF", ["x", "f", "t", "b" if bias else "", "m"], ["y"], options)], ["x"], ["y"])


@pytest.mark.parametrize("kind", ("int8", "int16"))
@pytest.mark.parametrize("rows", (ROWS, 1))
@pytest.mark.parametrize("rank", (1, 2))
def test_int8_has_the_references_bytes(rank: int, rows: int, kind: str) -> None:
    """With a bias, without which the reference crashes; with a memory of int8 and of int16."""
    data = svdf(rank, True, kind, rows, zero=-128 if kind == "int8" else 3)
    check_exact(data, data, {"x": random_input((1, INPUTS))}, runs=7)


@pytest.mark.parametrize("rank", (1, 2))
def test_float32_agrees(rank: int) -> None:
    data = svdf(rank, True, "float32")
    reference = Tflm(data)
    with Session(compile_model(data)) as session:
        for seed in range(7):
            x = random_input((1, INPUTS), "float32", seed)
            np.testing.assert_allclose(session.run({"x": x})["y"], reference.run([x])[0], rtol=1e-5, atol=1e-6)


def test_a_memory_of_another_type_than_the_weights_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"SVDF_0 .*a memory of int16 and time weights of int8"):
        compile_model(svdf(1, True, "int16", time="int8"))

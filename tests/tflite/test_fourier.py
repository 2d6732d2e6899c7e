"""RFFT2D and the operators that read complex numbers; TensorFlow Lite Micro has none of them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tflite.writer import Operator, Tensor, constant, write
from tigris_pio import Session, UnsupportedError, compile_model

Shape = tuple[int, ...]
PARTS = {"COMPLEX_ABS": np.abs, "REAL": np.real, "IMAG": np.imag}


def spectrum(shape: Shape, rows: int, columns: int, reader: str) -> bytes:
    """A transform whose result is squeezed, as converters write one of one axis, and an operator that reads it."""
    terms = (*shape[:-2], rows, columns // 2 + 1)
    flat = tuple(size for place, size in enumerate(terms) if size > 1 or place == len(terms) - 1)
    tensors = [Tensor("x", shape, "float32"), constant("n", np.array([rows, columns], np.int32)),
               Tensor("s", terms, "complex64"), constant("t", np.array(flat, np.int32)), Tensor("c", flat, "complex64"),
               Tensor("y", flat, "float32")]
    operators = [Operator("RFFT2D", ["x", "n"], ["s"]), Operator("RESHAPE", ["s", "t"], ["c"]),
                 Operator(reader, ["c"], ["y"])]
    return write(tensors, operators, ["x"], ["y"])


@pytest.mark.parametrize(("shape", "rows", "columns"), [
    ((5, 1, 16), 1, 16), ((5, 1, 10), 1, 16), ((2, 1, 24), 1, 16), ((2, 4, 8), 4, 8), ((3, 6), 8, 8), ((6, 8), 1, 8),
])
@pytest.mark.parametrize("reader", PARTS)
def test_spectra(shape: Shape, rows: int, columns: int, reader: str) -> None:
    """Signals as long as the transform, shorter and longer, in one and two dimensions."""
    x = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    with Session(compile_model(spectrum(shape, rows, columns, reader))) as session:
        got = session.run({"x": x})["y"]
    want = PARTS[reader](np.fft.rfft2(x.astype(np.float64), (rows, columns)))
    np.testing.assert_allclose(got.reshape(-1), want.reshape(-1), rtol=0, atol=2e-5)


def test_complex_numbers_elsewhere_are_refused_by_name() -> None:
    tensors = [Tensor("x", (2, 8), "float32"), constant("n", np.array([2, 8], np.int32)),
               Tensor("s", (2, 5), "complex64"), Tensor("y", (2, 5), "complex64")]
    data = write(tensors, [Operator("RFFT2D", ["x", "n"], ["s"]), Operator("NEG", ["s"], ["y"])], ["x"], ["y"])
    with pytest.raises(UnsupportedError, match=r"complex64"):
        compile_model(data)

"""Fourier transforms, and the operators that read their complex results."""

from __future__ import annotations

from tigris_pio.compiler.load.tflite.layer import COMPLEX, Layer
from tigris_pio.compiler.load.tflite.network import Unsupported
from tigris_pio.compiler.load.tflite.operators.registry import handler


@handler("RFFT2D", summary="constant length; its output read by COMPLEX_ABS, REAL and IMAG; computed in float32")
def read_rfft2d(layer: Layer) -> None:
    """DFT along the last axis, and along the one before if it is longer than 1."""
    (rows, columns), shape = layer.integers(1, "lengths"), layer.shape(0)
    if len(shape) < 2 or rows < 1 or columns < 1 or layer.declared(0).type != "float32":
        raise layer.fault(f"lengths {[rows, columns]} of {list(shape)}")
    terms = columns // 2 + 1
    name = layer.reshaped(layer.input(0), (*shape, 1))
    name = _dft(layer, name, (*shape[:-1], terms, 2), columns, -2, 1)
    if rows > 1 or shape[-2] > 1:
        name = _dft(layer, name, (*shape[:-2], rows, terms, 2), rows, -3, 0)
    layer.pass_on(name)


def _dft(layer: Layer, name: str, shape: tuple[int, ...], length: int, axis: int, onesided: int) -> str:
    inputs = [name, layer.index(length), layer.index(axis)]
    return layer.part("DFT", inputs, shape, {"onesided": onesided}, real=True)


@handler("COMPLEX_ABS", summary="of RFFT2D's output")
def read_complex_abs(layer: Layer) -> None:
    """The root of the sum of squares."""
    layer.write("ReduceL2", [_pairs(layer), layer.numbers([-1])], layer.shape(0), {"keepdims": 0})


@handler("REAL", "IMAG", summary="of RFFT2D's output")
def read_part(layer: Layer) -> None:
    """Gather of one number of each pair."""
    position = int(layer.operator.name == "IMAG")
    layer.write("Gather", [_pairs(layer), layer.index(position)], layer.shape(0), {"axis": -1})


def _pairs(layer: Layer) -> str:
    if layer.declared(0).type != COMPLEX:
        raise Unsupported(f"from {layer.declared(0).type}; complex64 is read")
    return layer.input(0)

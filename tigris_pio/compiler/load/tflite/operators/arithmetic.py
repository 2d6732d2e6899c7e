"""Arithmetic of two tensors, element by element."""

from __future__ import annotations

import numpy as np

from tigris_pio.compiler.load.tflite.layer import Layer
from tigris_pio.compiler.load.tflite.operators.registry import handler

_FUSED = {"ADD": ("Add", "AddOptions"), "SUB": ("Sub", "SubOptions"), "MUL": ("Mul", "MulOptions"),
          "DIV": ("Div", "DivOptions")}
_PLAIN = {"MAXIMUM": "Max", "MINIMUM": "Min", "POW": "Pow", "EQUAL": "Equal", "LESS": "Less", "GREATER": "Greater",
          "LESS_EQUAL": "LessOrEqual", "GREATER_EQUAL": "GreaterOrEqual", "LOGICAL_AND": "And", "LOGICAL_OR": "Or"}


@handler(*_FUSED, summary="any broadcasting")
def read_fused(layer: Layer) -> None:
    """Add, Sub, Mul, Div with a fused activation."""
    op, kind = _FUSED[layer.operator.name]
    activation = layer.options(kind)["FusedActivationFunction"]
    if op == "Div" and is_int8(layer):
        layer.elementwise("DIV", (0, 1), activation=activation, domain="tflite")
    else:
        layer.elementwise(op, (0, 1), activation=activation)


@handler(*_PLAIN, summary="any broadcasting")
def read_plain(layer: Layer) -> None:
    """The operators of one node."""
    layer.elementwise(_PLAIN[layer.operator.name], (0, 1))


@handler("SQUARED_DIFFERENCE", summary="any broadcasting")
def read_squared_difference(layer: Layer) -> None:
    """Its own arithmetic in int8; else Sub, and Mul by itself."""
    shape = layer.broadcast(0, 1)
    if is_int8(layer):
        layer.elementwise("SQUARED_DIFFERENCE", (0, 1), domain="tflite")
        return
    difference = layer.part("Sub", [layer.input(0), layer.input(1)], shape, real=True)
    layer.write("Mul", [difference, difference], shape)


@handler("NOT_EQUAL", summary="any broadcasting")
def read_not_equal(layer: Layer) -> None:
    """Equal, Not."""
    shape = layer.broadcast(0, 1)
    layer.write("Not", [layer.part("Equal", [layer.input(0), layer.input(1)], shape)], shape)


@handler("SELECT", "SELECT_V2", summary="any broadcasting")
def read_select(layer: Layer) -> None:
    """Where. SELECT may have one condition for each index of the first axis."""
    if layer.operator.name == "SELECT" and len(layer.shape(0)) == 1 < len(layer.shape(1)):
        shape = layer.broadcast(1, 2)
        condition = layer.reshaped(layer.input(0), (*layer.shape(0), *(1,) * (len(shape) - 1)))
        layer.write("Where", [condition, layer.input(1), layer.input(2)], shape)
        return
    layer.elementwise("Where", (0, 1, 2))


@handler("ADD_N", summary="any number of inputs")
def read_add_n(layer: Layer) -> None:
    """Sum."""
    layer.elementwise("Sum", range(layer.count))


@handler("FLOOR_DIV", summary="any broadcasting; float32, and constants of integers")
def read_floor_div(layer: Layer) -> None:
    """Div, Floor."""
    values = [layer.constant(place) for place in (0, 1)]
    if values[0] is not None and values[1] is not None and values[0].dtype.kind in "iu" and values[1].all():
        layer.write_constant(values[0] // values[1])
        return
    shape = layer.broadcast(0, 1)
    layer.write("Floor", [layer.part("Div", [layer.input(0), layer.input(1)], shape)], shape)


@handler("FLOOR_MOD", summary="any broadcasting; float32, and constants of integers")
def read_floor_mod(layer: Layer) -> None:
    """x - y * floor(x / y)."""
    values = [layer.constant(place) for place in (0, 1)]
    if values[0] is not None and values[1] is not None and values[0].dtype.kind in "iu" and values[1].all():
        layer.write_constant(values[0] % values[1])
        return
    shape, (first, second) = layer.broadcast(0, 1), (layer.input(0), layer.input(1))
    whole = layer.part("Floor", [layer.part("Div", [first, second], shape)], shape)
    layer.write("Sub", [first, layer.part("Mul", [second, whole], shape)], shape)


def is_int8(layer: Layer) -> bool:
    """Whether the first input is int8 with a scale."""
    said = layer.quantisation(0)
    return said is not None and said.dtype == np.int8

"""Arithmetic of two tensors, element by element."""

from __future__ import annotations

import numpy as np
import onnx

from tigris_pio.compiler.load.tflite.layer import Layer
from tigris_pio.compiler.load.tflite.operators.registry import handler

_FLOAT = onnx.TensorProto.FLOAT
_FUSED = {"ADD": ("Add", "AddOptions"), "SUB": ("Sub", "SubOptions"), "MUL": ("Mul", "MulOptions"),
          "DIV": ("Div", "DivOptions")}
_PLAIN = {"MAXIMUM": "Max", "MINIMUM": "Min", "POW": "Pow", "LOGICAL_AND": "And", "LOGICAL_OR": "Or"}
_COMPARISONS = {"EQUAL": "Equal", "LESS": "Less", "GREATER": "Greater", "LESS_EQUAL": "LessOrEqual",
                "GREATER_EQUAL": "GreaterOrEqual"}


@handler(*_FUSED, summary="any broadcasting")
def read_fused(layer: Layer) -> None:
    """Add, Sub, Mul, Div with a fused activation."""
    op, kind = _FUSED[layer.operator.name]
    activation = layer.options(kind)["FusedActivationFunction"]
    if layer.declared(0).type in ("int32", "int64"):
        _read_integers(layer, op, activation)
        return
    if op == "Div" and is_int8(layer):
        layer.elementwise("DIV", (0, 1), activation=activation, domain="tflite")
    else:
        layer.elementwise(op, (0, 1), activation=activation)


def _read_integers(layer: Layer, op: str, activation: int = 0) -> None:
    """Computes integers in float32, which is exact up to 2^24, with a warning. Quotients are rounded towards zero."""
    if layer.network.is_constant(layer.input(0)) and layer.network.is_constant(layer.input(1)) and not activation:
        layer.elementwise(op, (0, 1))
        return
    network, shape, names = layer.network, layer.broadcast(0, 1), [layer.input(position) for position in (0, 1)]
    pair = [network.add_constant(f"{layer.name}/real", network.weights[name].astype(np.float32))
            if network.is_constant(name) else layer.real(name) for name in names]
    known = layer.scope.steps.get(layer.output().index)
    if known is None or abs(known.values).max() > 1 << 24:
        network.warnings.append(f"node {layer.name}: results beyond {1 << 24} are rounded, because integers are "
                                "computed in float32")
    if op == "Square":
        pair = [layer.part("Sub", pair, shape, real=True)] * 2
    if op == "Div":  # without its remainder, so that the quotient is exact but for rounding
        rest = layer.part("Mod", pair, shape, {"fmod": 1}, real=True)
        pair = [layer.part("Sub", [pair[0], rest], shape, real=True), pair[1]]
    result = layer.part("Mul" if op == "Square" else op, pair, shape, real=True)
    result = layer.part("Round", [result], shape, real=True) if op == "Div" else result
    if activation and op != "Add":  # TensorFlow Lite Micro ignores the activation of an integer ADD
        result = layer.clipped(result, activation)
    to = onnx.helper.np_dtype_to_tensor_dtype(layer.annotation()[0])
    layer.write("Cast", [result], shape, {"to": to})


@handler(*_PLAIN, summary="any broadcasting")
def read_plain(layer: Layer) -> None:
    """Reads operators that become one node."""
    layer.elementwise(_PLAIN[layer.operator.name], (0, 1))


@handler("SQUARED_DIFFERENCE", summary="any broadcasting")
def read_squared_difference(layer: Layer) -> None:
    """Its own arithmetic in int8; Sub, and Mul by itself, in other types."""
    if is_int8(layer):
        layer.elementwise("SQUARED_DIFFERENCE", (0, 1), domain="tflite")
        return
    integers = layer.declared(0).type in ("int32", "int64")
    if integers and not all(layer.network.is_constant(layer.input(position)) for position in (0, 1)):
        _read_integers(layer, "Square")
        return
    names, shape, image = layer.operands(0, 1)
    difference = layer.part("Sub", names, shape, real=not integers)
    layer.write("Mul", [difference, difference], layer.broadcast(0, 1), image=image)


@handler(*_COMPARISONS, summary="any broadcasting")
def read_comparison(layer: Layer) -> None:
    """Reads comparisons; with their own arithmetic in int8."""
    name = layer.operator.name
    if _is_scaled(layer):
        layer.elementwise(name, (0, 1), domain="tflite")
    else:
        layer.elementwise(_COMPARISONS[name], (0, 1))


def _is_scaled(layer: Layer) -> bool:
    """Whether a comparison is of int8 with scales below 1, which TensorFlow Lite Micro requires."""
    found = [layer.quantisation(position) for position in (0, 1)]
    return layer.declared(0).type == "int8" and all(item is not None and np.all(item.scale < 1) for item in found)


@handler("NOT_EQUAL", summary="any broadcasting")
def read_not_equal(layer: Layer) -> None:
    """Equal, Not."""
    shape, pair = layer.broadcast(0, 1), [layer.input(0), layer.input(1)]
    scaled = _is_scaled(layer)
    equal = layer.part("EQUAL" if scaled else "Equal", pair, shape, domain="tflite" if scaled else "")
    layer.write("Not", [equal], shape)


@handler("SELECT", "SELECT_V2", summary="any broadcasting")
def read_select(layer: Layer) -> None:
    """Where. The condition of SELECT may be a vector along the first axis."""
    if layer.operator.name == "SELECT" and len(layer.shape(0)) == 1 < len(layer.shape(1)):
        shape = layer.broadcast(1, 2)
        condition = layer.reshaped(layer.input(0), (*layer.shape(0), *(1,) * (len(shape) - 1)))
        layer.write("Where", [condition, layer.input(1), layer.input(2)], shape)
        return
    layer.elementwise("Where", (0, 1, 2))


@handler("ADD_N", summary="any number of inputs")
def read_add_n(layer: Layer) -> None:
    """Sum. In int8 with one scale, TensorFlow Lite Micro computes the last of the inputs' cumulative sums."""
    shape, names = layer.broadcast(*range(layer.count)), layer.inputs()
    quantisation = {layer.quantisation(position) for position in range(layer.count)}
    if not is_int8(layer) or None in quantisation or len(quantisation) != 1 or layer.annotation()[1] is None:
        layer.elementwise("Sum", range(layer.count))
        return
    rows = [layer.reshaped(name, (1, *shape)) for name in names]
    joined = layer.part("Concat", rows, (len(names), *shape), {"axis": 0}, like=names[0])
    sums = layer.part("CUMSUM", [joined], (len(names), *shape), {"axis": 0}, domain="tflite")
    last = layer.part("Slice", [sums, *layer.limits([len(names) - 1], [len(names)], [0])], (1, *shape))
    layer.write("Reshape", [last, layer.numbers(shape)], shape)


@handler("FLOOR_DIV", summary="any broadcasting; float32, and constants of integers")
def read_floor_div(layer: Layer) -> None:
    """Div, Floor."""
    if _write_constant(layer, np.floor_divide):
        return
    names, shape, image = layer.operands(0, 1)
    layer.write("Floor", [layer.part("Div", names, shape)], layer.broadcast(0, 1), image=image)


@handler("FLOOR_MOD", summary="any broadcasting; float32, and constants of integers")
def read_floor_mod(layer: Layer) -> None:
    """x - y * floor(x / y)."""
    if _write_constant(layer, np.mod):
        return
    (first, second), shape, image = layer.operands(0, 1)
    whole = layer.part("Floor", [layer.part("Div", [first, second], shape)], shape)
    layer.write("Sub", [first, layer.part("Mul", [second, whole], shape)], layer.broadcast(0, 1), image=image)


def _write_constant(layer: Layer, function: np.ufunc) -> bool:
    """Writes the output of two constants of integers; False for other inputs."""
    first, second = (layer.constant(position) for position in (0, 1))
    if first is None or second is None or first.dtype.kind not in "iu" or not second.all():
        return False
    layer.write_constant(function(first, second))
    return True


def is_int8(layer: Layer) -> bool:
    """Whether the first input is int8 with a scale."""
    quantisation = layer.quantisation(0)
    return quantisation is not None and quantisation.dtype == np.int8

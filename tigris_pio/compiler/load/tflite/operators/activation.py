"""Functions of one tensor, element by element, and softmax."""

from __future__ import annotations

import numpy as np

from tigris_pio.compiler.load.tflite.layer import Layer
from tigris_pio.compiler.load.tflite.operators.registry import handler

_PLAIN = {
    "RELU": "Relu", "LOGISTIC": "Sigmoid", "TANH": "Tanh", "HARD_SWISH": "HardSwish", "ELU": "Elu", "EXP": "Exp",
    "LOG": "Log", "SQRT": "Sqrt", "ABS": "Abs", "NEG": "Neg", "FLOOR": "Floor", "CEIL": "Ceil", "ROUND": "Round",
    "SIN": "Sin", "COS": "Cos", "SIGN": "Sign", "LOGICAL_NOT": "Not", "RELU6": "Clip", "RELU_N1_TO_1": "Clip",
    "RELU_0_TO_1": "Clip",
}
#: Operators with TensorFlow Lite's own arithmetic in int8, and those with its own in int16.
_OWN = frozenset(("ABS", "RELU", "ELU", "HARD_SWISH"))
_OWN_INT16 = frozenset(("ABS", "RELU"))
#: Operators with TensorFlow Lite's own arithmetic in int8 if the output has this scale and zero point.
_OWN_OUTPUTS = {"LOGISTIC": (1 / 256, -128), "TANH": (1 / 128, 0)}
_BOUNDS = {"RELU6": (0.0, 6.0), "RELU_N1_TO_1": (-1.0, 1.0), "RELU_0_TO_1": (0.0, 1.0)}


@handler(*_PLAIN, summary="elementwise")
def read_plain(layer: Layer) -> None:
    """Reads operators that become one node."""
    name = layer.operator.name
    quantisation = layer.quantisation(0)
    own = name in _OWN and quantisation is not None and (quantisation.dtype == np.int8 or name in _OWN_INT16)
    if own or (name in _OWN_OUTPUTS and _has_own_output(layer, *_OWN_OUTPUTS[name])):
        layer.elementwise(name, (0,), domain="tflite")
        return
    image = layer.as_images(0)
    source = layer.image(0) if image else layer.input(0)
    bounds = [layer.number(value) for value in _BOUNDS.get(name, ())]
    if name == "RELU6" and layer.declared(0).type == "int8" and layer.quantisation(0) != layer.annotation()[1]:
        clipped = layer.part("Clip", [layer.input(0), *bounds], layer.shape(0), like=layer.input(0))
        layer.write("Identity", [layer.network.recoded(clipped, layer.output_like())], layer.shape(0))
        return  # clips the input's integers, whatever the output's scale
    layer.write(_PLAIN[name], [source, *bounds], layer.shape(0), image=image)


def _has_own_output(layer: Layer, scale: float, zero_point: int) -> bool:
    """Whether the operator is int8 to int8, and its output has this scale and zero point."""
    _, result = layer.annotation()
    return (layer.declared(0).type == layer.output().type == "int8" and layer.quantisation(0) is not None
            and result is not None and float(result.scale) == scale and int(result.zero_point) == zero_point)


@handler("LEAKY_RELU", summary="elementwise")
def read_leaky_relu(layer: Layer) -> None:
    """LeakyRelu; with its own arithmetic if quantised."""
    alpha = {"alpha": float(layer.options("LeakyReluOptions")["Alpha"])}
    if layer.quantisation(0) is not None:
        layer.elementwise("LEAKY_RELU", (0,), alpha, domain="tflite")
    else:
        layer.elementwise("LeakyRelu", (0,), alpha)


@handler("GELU", summary="elementwise, exact and with tanh")
def read_gelu(layer: Layer) -> None:
    """Gelu."""
    approximate = "tanh" if layer.options("GeluOptions")["Approximate"] else "none"
    layer.elementwise("Gelu", (0,), {"approximate": approximate})


@handler("PRELU", summary="any broadcasting of constant slopes")
@handler("SQUARE", summary="elementwise")
def read_pair(layer: Layer) -> None:
    """PRelu; Mul of the input by itself."""
    layer.elementwise(*{"PRELU": ("PRelu", (0, 1)), "SQUARE": ("Mul", (0, 0))}[layer.operator.name])


@handler("RSQRT", summary="elementwise")
def read_rsqrt(layer: Layer) -> None:
    """Its own arithmetic in int8; Sqrt and Reciprocal in other types."""
    quantisation = layer.quantisation(0)
    if quantisation is not None and quantisation.dtype == np.int8:
        layer.elementwise("RSQRT", (0,), domain="tflite")
        return
    names, shape, image = layer.operands(0)
    layer.write("Reciprocal", [layer.part("Sqrt", names, shape, real=True)], layer.shape(0), image=image)


@handler("SOFTMAX", summary="along the last axis; any beta")
def read_softmax(layer: Layer) -> None:
    """Softmax of the input times beta."""
    beta = float(layer.options("SoftmaxOptions")["Beta"])
    source, quantisation = layer.input(0), layer.quantisation(0)
    wide = quantisation is not None and layer.output().type == "int16"
    if quantisation is not None and (quantisation.dtype == np.int16 or wide or _has_own_output(layer, 1 / 256, -128)):
        layer.write("Softmax", [source], layer.shape(0), {"axis": -1, "beta": beta})
        return
    if beta != 1.0:
        source = layer.part("Mul", [source, layer.number(beta)], layer.shape(0), real=True)
    layer.write("Softmax", [source], layer.shape(0), {"axis": -1})


@handler("LOG_SOFTMAX", summary="along the last axis")
def read_log_softmax(layer: Layer) -> None:
    """LogSoftmax; with its own arithmetic in int8."""
    if _has_own_output(layer, 1 / 16, 127):
        layer.write("LOG_SOFTMAX", [layer.input(0)], layer.shape(0), domain="tflite")
        return
    layer.write("LogSoftmax", [layer.input(0)], layer.shape(0), {"axis": -1})

"""Operators that change the element type."""

from __future__ import annotations

import numpy as np

from tigris_pio.compiler.ir.graph import Quantisation
from tigris_pio.compiler.load.tflite.annotation import DTYPES
from tigris_pio.compiler.load.tflite.file import FlatTensor
from tigris_pio.compiler.load.tflite.layer import Layer
from tigris_pio.compiler.load.tflite.network import Unsupported
from tigris_pio.compiler.load.tflite.operators.registry import handler

_ONNX_TYPES = {"float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9,
               "float64": 11, "uint32": 12, "uint64": 13}

_QUANTISED = ("int8", "uint8", "int16")


@handler("QUANTIZE", summary="float32, int8, uint8 and int16 to int8, uint8 and int16; int8 and int16 to int32")
def read_quantize(layer: Layer) -> None:
    """QUANTIZE, with its own arithmetic; QuantizeLinear at an input of the model, so that the plan takes integers."""
    if _is_scaled_number(layer.output()):
        _quantize_to_numbers(layer)
        return
    for tensor, types, what in ((layer.declared(0), ("float32", *_QUANTISED), "from"),
                                 (layer.output(), _QUANTISED, "to")):
        if tensor.type not in types:
            raise Unsupported(f"{what} {tensor.type} ({tensor.name}); {', '.join(types)} are supported")
    _, quantisation = layer.annotation()
    if quantisation is None:
        raise layer.fault("its output has no scale")
    name = layer.input(0)
    if name in layer.network.inputs and layer.quantisation(0) is None:
        layer.write("QuantizeLinear", [name, *_constants(layer, quantisation)], layer.shape(0))
        return
    layer.elementwise("QUANTIZE", (0,), domain="tflite")


@handler("DEQUANTIZE", summary="int8, uint8 and int16 to float32; constants of half precision")
def read_dequantize(layer: Layer) -> None:
    """DEQUANTIZE, with its own arithmetic; DequantizeLinear at an output, so that the plan gives integers."""
    if layer.declared(0).type in ("int32", "int64"):  # the graph has no scales for these
        raise Unsupported(f"from {layer.declared(0).type} ({layer.declared(0).name})")
    name = layer.input(0)
    quantisation = layer.quantisation(0)
    if layer.network.is_constant(name):
        if quantisation is not None:
            layer.network.hybrid.append(layer.name)
        layer.write_constant(layer.network.real(name))
    elif quantisation is None:
        layer.write("Identity", [name], layer.shape(0))
    elif layer.output().index in layer.scope.given:
        layer.write("DequantizeLinear", [name, *_constants(layer, quantisation)], layer.shape(0))
    else:
        layer.elementwise("DEQUANTIZE", (0,), domain="tflite")


def _is_scaled_number(tensor: FlatTensor) -> bool:
    """Whether a tensor is int32 with a scale."""
    return tensor.type == "int32" and len(tensor.scale) > 0


def _quantize_to_numbers(layer: Layer) -> None:
    """Quantises to int16 with the output's scale, and then converts the integers to int32; none may exceed int16.

    The conversion runs in float32, with an error below 0.01, so that Round gives the exact integers.
    """
    declared, source = layer.output(), layer.quantisation(0)
    scale, zero = np.float32(declared.scale[0]), int(declared.zero_point[0]) if declared.zero_point else 0
    if len(declared.scale) != 1 or not (np.isfinite(scale) and scale > 0):
        raise layer.fault("its output's scale is no positive number")
    if source is None or source.axis is not None:
        raise Unsupported(f"its output {declared.name} is int32 of {layer.declared(0).type}")
    limits = np.iinfo(source.dtype)
    ends = [(end - int(source.zero_point)) * float(source.scale) / float(scale) for end in (limits.min, limits.max)]
    if min(ends) <= -32768.5 or max(ends) >= 32767.5:
        raise Unsupported(f"its output {declared.name} holds numbers beyond int16")
    steps = Quantisation(scale, np.array(0, np.int64), np.dtype(np.int16))
    shape = layer.shape(0)
    rounded = layer.part("QUANTIZE", [layer.input(0)], shape, quantised=steps, domain="tflite")
    real = layer.part("DEQUANTIZE", [rounded], shape, real=True, domain="tflite")
    numbers = layer.part("Mul", [real, layer.number(float(1 / scale))], shape, real=True)
    numbers = layer.part("Round", [numbers], shape, real=True)
    if zero:
        numbers = layer.part("Add", [numbers, layer.number(zero)], shape, real=True)
    layer.write("Cast", [numbers], shape, {"to": _ONNX_TYPES["int32"]})


def _constants(layer: Layer, quantisation: Quantisation) -> list[str]:
    """The names of constants for the scale and zero point that ONNX's operators read."""
    zero = quantisation.zero_point.astype(quantisation.dtype)
    return [layer.network.add_constant(f"{layer.name}/{name}", value)
            for name, value in (("scale", quantisation.scale), ("zero_point", zero))]


@handler("CAST", summary="numbers of any type")
def read_cast(layer: Layer) -> None:
    """Cast."""
    dtype = DTYPES.get(layer.output().type)
    if dtype is None or str(dtype) not in _ONNX_TYPES:
        raise layer.fault(f"to type {layer.output().type}")
    layer.elementwise("Cast", (0,), {"to": _ONNX_TYPES[str(dtype)]})


@handler("DENSIFY", summary="sparse constants")
def read_densify(layer: Layer) -> None:
    """A constant, which is dense already since it was read."""
    if layer.constant(0) is None:
        raise layer.fault("its input is no constant")
    layer.pass_on(layer.input(0))

"""Pools over rows and columns."""

from __future__ import annotations

from tigris_pio.compiler.load.tflite.layer import Layer
from tigris_pio.compiler.load.tflite.operators.kernel_size import attributes, kernel_size, output_size
from tigris_pio.compiler.load.tflite.operators.registry import handler

_OPS = {"AVERAGE_POOL_2D": "AveragePool", "MAX_POOL_2D": "MaxPool"}


@handler(*_OPS, summary="any window; padding does not count")
def read_pool(layer: Layer) -> None:
    """AveragePool, MaxPool."""
    options = layer.options("Pool2DOptions")
    shape = layer.shape(0)
    if len(shape) != 4:
        raise layer.fault(f"its input has shape {list(shape)} instead of four axes")
    batch, *size, channels = shape
    found = kernel_size(layer, (int(options["FilterHeight"]), int(options["FilterWidth"])), options)
    result = output_size(layer, size, found)
    given = attributes(size, result, found)
    if layer.declared(0).type == "uint8":
        given = {**given, "half_up": 1}
    layer.write(_OPS[layer.operator.name], [layer.image(0)], (batch, *result, channels), given, image=True,
                activation=options["FusedActivationFunction"])


@handler("L2_POOL_2D", summary="any window; computed in float32")
def read_l2_pool(layer: Layer) -> None:
    """The root of the mean of the squares."""
    options, shape = layer.options("Pool2DOptions"), layer.shape(0)
    if len(shape) != 4:
        raise layer.fault(f"its input has shape {list(shape)} instead of four axes")
    batch, *size, channels = shape
    found = kernel_size(layer, (int(options["FilterHeight"]), int(options["FilterWidth"])), options)
    result = output_size(layer, size, found)
    source = layer.image(0)
    squares = layer.part("Mul", [source, source], (batch, channels, *size), real=True)
    means = layer.part("AveragePool", [squares], (batch, channels, *result), attributes(size, result, found), real=True)
    layer.write("Sqrt", [means], (batch, *result, channels), image=True, activation=options["FusedActivationFunction"])

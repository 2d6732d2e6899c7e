"""Operators that fill a tensor; CUMSUM and EMBEDDING_LOOKUP."""

from __future__ import annotations

import math

import numpy as np

from tigris_pio.compiler.load.tflite.layer import Layer
from tigris_pio.compiler.load.tflite.network import Unsupported
from tigris_pio.compiler.load.tflite.operators.registry import handler


@handler("FILL", summary="constant sizes; any value")
def read_fill(layer: Layer) -> None:
    """Expand of the value."""
    target = tuple(layer.integers(0, "sizes"))
    if min(target, default=0) < 0 or math.prod(layer.shape(1)) != 1:
        raise layer.fault(f"{list(layer.shape(1))} as {list(target)}")
    value = layer.reshaped(layer.input(1), ())
    layer.network.limits.check("elements", math.prod(target), layer.where)
    layer.write("Expand", [value, layer.numbers(target)], target)


@handler("ZEROS_LIKE", summary="a constant")
def read_zeros_like(layer: Layer) -> None:
    """Zeros: the file's integers are 0, whatever the zero point."""
    dtype, quantisation = layer.annotation()
    shape = layer.shape(0)
    layer.network.limits.check("elements", math.prod(shape), layer.where)
    if quantisation is None:
        layer.write_constant(np.zeros(shape, dtype))
    else:
        zeros = np.full(shape, -128 if layer.output().type == "uint8" else 0, quantisation.dtype)
        layer.write_constant(zeros, 0, quantisation)


@handler("BROADCAST_ARGS", summary="constant shapes")
def read_broadcast_args(layer: Layer) -> None:
    """A constant: the shape of two shapes broadcast against each other."""
    dtype, _ = layer.annotation()
    first, second = (layer.integers(position, "sizes") for position in (0, 1))
    layer.write_constant(np.array(layer.joint(first, second), dtype))


@handler("RANGE", summary="constant")
def read_range(layer: Layer) -> None:
    """A constant."""
    values = [layer.constant(position) for position in range(3)]
    if any(value is None for value in values):
        raise Unsupported("its ends are computed at run time")
    start, limit, step = (float(value.reshape(-1)[0]) for value in values if value is not None and value.size)
    if not step or not all(map(math.isfinite, (start, limit, step))):
        raise layer.fault(f"from {start} to {limit} by {step}")
    count = max(0, math.ceil((limit - start) / step))
    layer.network.limits.check("elements", count, layer.where)
    dtype, _ = layer.annotation()
    layer.write_constant((start + np.arange(count) * step).astype(dtype))


@handler("CUMSUM", summary="constant axis; int8 and float32")
def read_cumsum(layer: Layer) -> None:
    """CumSum; with its own arithmetic in int8."""
    options, shape = layer.options("CumsumOptions"), layer.shape(0)
    if layer.declared(0).type == "int8" and layer.quantisation(0) is not None:
        attributes = {"axis": layer.axis(1, len(shape)), "exclusive": int(options["Exclusive"]),
                      "reverse": int(options["Reverse"])}
        layer.write("CUMSUM", [layer.input(0)], shape, attributes, domain="tflite")
        return
    axis = layer.index(layer.axis(1, len(shape)))
    attributes = {"exclusive": int(options["Exclusive"]), "reverse": int(options["Reverse"])}
    layer.write("CumSum", [layer.input(0), axis], shape, attributes)


@handler("EMBEDDING_LOOKUP", summary="rows of a constant, at constant or computed indices")
def read_embedding_lookup(layer: Layer) -> None:
    """Gather along the first axis."""
    positions, table = layer.shape(0), layer.shape(1)
    if not table:
        raise layer.fault("a table without axes")
    layer.write("Gather", [layer.input(1), layer.input(0)], (*positions, *table[1:]), {"axis": 0})

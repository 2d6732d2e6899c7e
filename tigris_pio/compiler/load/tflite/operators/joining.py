"""Operators that put tensors together or fill one; CUMSUM and EMBEDDING_LOOKUP."""

from __future__ import annotations

import math

import numpy as np

from tigris_pio.compiler.load.tflite.layer import Layer
from tigris_pio.compiler.load.tflite.network import TO_IMAGE, Unsupported
from tigris_pio.compiler.load.tflite.operators.registry import handler


@handler("CONCATENATION", summary="any axis, any number of inputs")
def read_concatenation(layer: Layer) -> None:
    """Concat."""
    options = layer.options("ConcatenationOptions")
    shapes = [layer.shape(index) for index in range(layer.count)]
    first, axis = shapes[0] if shapes else (), int(options["Axis"])
    if not -len(first) <= axis < len(first):
        raise layer.fault(f"axis {axis} of {list(first)}")
    axis %= len(first)
    if any(shape[:axis] + shape[axis + 1 :] != first[:axis] + first[axis + 1 :] for shape in shapes):
        raise layer.fault(f"shapes {', '.join(str(list(shape)) for shape in shapes)} along axis {axis}")
    result = (*first[:axis], sum(shape[axis] for shape in shapes), *first[axis + 1 :])
    image = len(first) == 4
    names = [layer.image(index) if image else layer.input(index) for index in range(layer.count)]
    layer.write("Concat", names, result, {"axis": TO_IMAGE.index(axis) if image else axis}, image=image,
                activation=options["FusedActivationFunction"])


@handler("PACK", summary="any axis, any number of inputs")
def read_pack(layer: Layer) -> None:
    """Reshape of each input to add the new axis, and Concat."""
    options = layer.options("PackOptions")
    shapes = [layer.shape(index) for index in range(layer.count)]
    first, axis = shapes[0] if shapes else (), int(options["Axis"])
    if not shapes or any(shape != first for shape in shapes) or not -len(first) - 1 <= axis <= len(first):
        raise layer.fault(f"shapes {', '.join(str(list(shape)) for shape in shapes)} along axis {axis}")
    axis %= len(first) + 1
    parts = [layer.reshaped(layer.input(index), (*first[:axis], 1, *first[axis:])) for index in range(layer.count)]
    layer.write("Concat", parts, (*first[:axis], len(shapes), *first[axis:]), {"axis": axis})


@handler("TILE", summary="constant multiples")
def read_tile(layer: Layer) -> None:
    """Tile."""
    shape, times = layer.shape(0), layer.integers(1, "multiples")
    if len(times) != len(shape) or min(times, default=1) < 1:
        raise layer.fault(f"multiples {times} of {list(shape)}")
    result = tuple(size * count for size, count in zip(shape, times, strict=True))
    layer.write("Tile", [layer.input(0), layer.numbers(times)], result)


@handler("BROADCAST_TO", summary="constant shape")
def read_broadcast_to(layer: Layer) -> None:
    """Expand."""
    target = tuple(layer.integers(1, "sizes"))
    if layer.joint(layer.shape(0), target) != target:
        raise layer.fault(f"{list(layer.shape(0))} does not become {list(target)}")
    layer.write("Expand", [layer.input(0), layer.numbers(target)], target)


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
    attributes = {name.lower(): int(options[name]) for name in ("Exclusive", "Reverse")}
    axis = layer.axis(1, len(shape))
    if layer.declared(0).type == "int8" and layer.quantisation(0) is not None:
        layer.write("CUMSUM", [layer.input(0)], shape, {"axis": axis, **attributes}, domain="tflite")
    else:
        layer.write("CumSum", [layer.input(0), layer.index(axis)], shape, attributes)


@handler("EMBEDDING_LOOKUP", summary="rows of a constant, at constant or computed indices")
def read_embedding_lookup(layer: Layer) -> None:
    """Gather along the first axis."""
    positions, table = layer.shape(0), layer.shape(1)
    if not table:
        raise layer.fault("a table without axes")
    layer.write("Gather", [layer.input(1), layer.input(0)], (*positions, *table[1:]), {"axis": 0})

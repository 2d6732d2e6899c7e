"""Operators that put tensors together."""

from __future__ import annotations

from tigris_pio.compiler.load.tflite.layer import Layer
from tigris_pio.compiler.load.tflite.network import TO_IMAGE
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

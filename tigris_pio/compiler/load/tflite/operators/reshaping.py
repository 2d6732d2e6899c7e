"""Operators that change the shape or permute axes."""

from __future__ import annotations

import math

import numpy as np

from tigris_pio.compiler.load.tflite.layer import COMPLEX, Layer
from tigris_pio.compiler.load.tflite.operators.registry import handler


@handler("RESHAPE", summary="constant shape, with one -1")
def read_reshape(layer: Layer) -> None:
    """Reshape. The shape is a constant input, an option of old files, or else the output's declared shape."""
    shape = layer.shape(0)
    if layer.has_input(1) and layer.constant(1) is not None:
        target = layer.integers(1, "sizes")
    elif layer.operator.options.get("NewShape"):
        target = list(layer.operator.options["NewShape"])
    else:
        target = list(layer.output().signature)
    result = _resolved(layer, shape, target)
    _write(layer, result)


def _write(layer: Layer, shape: tuple[int, ...]) -> None:
    if layer.declared(0).type == COMPLEX:
        layer.pass_on(layer.part("Reshape", [layer.input(0), layer.numbers((*shape, 2))], (*shape, 2), real=True))
        return
    layer.write("Reshape", [layer.input(0), layer.numbers(shape)], shape)


def _resolved(layer: Layer, shape: tuple[int, ...], target: list[int]) -> tuple[int, ...]:
    count, known = math.prod(shape), math.prod(size for size in target if size != -1)
    if target.count(-1) == 1 and known and not count % known:
        target = [count // known if size == -1 else size for size in target]
    if min(target, default=0) < 0 or math.prod(target) != count:
        raise layer.fault(f"{list(shape)} and {target} differ in their number of elements")
    return tuple(target)


@handler("SQUEEZE", summary="given axes, or all of size one")
def read_squeeze(layer: Layer) -> None:
    """Reshape."""
    shape = layer.shape(0)
    given = [int(axis) for axis in layer.options("SqueezeOptions")["SqueezeDims"]]
    if any(not -len(shape) <= axis < len(shape) or shape[axis] != 1 for axis in given):
        raise layer.fault(f"axes {given} of {list(shape)}")
    axes = {axis % len(shape) for axis in given} or {axis for axis, size in enumerate(shape) if size == 1}
    result = tuple(size for axis, size in enumerate(shape) if axis not in axes)
    _write(layer, result)


@handler("EXPAND_DIMS", summary="constant axis")
def read_expand_dims(layer: Layer) -> None:
    """Reshape."""
    shape = layer.shape(0)
    axis = layer.axis(1, len(shape) + 1)
    result = (*shape[:axis], 1, *shape[axis:])
    _write(layer, result)


@handler("TRANSPOSE", summary="constant permutation")
def read_transpose(layer: Layer) -> None:
    """Transpose."""
    shape, order = layer.shape(0), layer.integers(1, "permutation")
    if sorted(axis % (len(shape) or 1) for axis in order) != list(range(len(shape))):
        raise layer.fault(f"permutation {order} of the axes of {list(shape)}")
    order = [axis % len(shape) for axis in order]
    layer.write("Transpose", [layer.input(0)], tuple(shape[axis] for axis in order), {"perm": tuple(order)})


@handler("SHAPE", "RANK", summary="a constant: shapes are known")
def read_shape(layer: Layer) -> None:
    """A constant."""
    shape = layer.shape(0)
    dtype, _ = layer.annotation()
    found = shape if layer.operator.name == "SHAPE" else len(shape)
    layer.write_constant(np.array(found, dtype))


@handler("DEPTH_TO_SPACE", "SPACE_TO_DEPTH", summary="any block")
def read_blocks(layer: Layer) -> None:
    """DepthToSpace, SpaceToDepth."""
    to_space = layer.operator.name == "DEPTH_TO_SPACE"
    options = layer.options("DepthToSpaceOptions" if to_space else "SpaceToDepthOptions")
    block, shape = int(options["BlockSize"]), layer.shape(0)
    if len(shape) != 4 or block < 1 or (shape[3] % block**2 if to_space else shape[1] % block or shape[2] % block):
        raise layer.fault(f"blocks of {block} in {list(shape)}")
    batch, rows, columns, channels = shape
    if to_space:
        result = (batch, rows * block, columns * block, channels // block**2)
    else:
        result = (batch, rows // block, columns // block, channels * block**2)
    layer.write("DepthToSpace" if to_space else "SpaceToDepth", [layer.image(0)], result, {"blocksize": block},
                image=True)

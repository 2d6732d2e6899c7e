"""Operators that change the shape, permute axes, move blocks or resize images; GATHER_ND."""

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


_RESIZING = {"RESIZE_BILINEAR": ("linear", "ResizeBilinearOptions"),
          "RESIZE_NEAREST_NEIGHBOR": ("nearest", "ResizeNearestNeighborOptions")}


@handler(*_RESIZING, summary="constant size; align_corners, half_pixel_centers and neither")
def read_resize(layer: Layer) -> None:
    """Resize to sizes."""
    mode, kind = _RESIZING[layer.operator.name]
    options, shape, size = layer.options(kind), layer.shape(0), layer.integers(1, "sizes")
    if len(shape) != 4 or len(size) != 2 or min(size) < 1:
        raise layer.fault(f"{list(shape)} to {size}")
    corners, half = bool(options["AlignCorners"]), bool(options["HalfPixelCenters"])
    coordinates = "align_corners" if corners else "half_pixel" if half else "asymmetric"
    attributes = {"mode": mode, "coordinate_transformation_mode": coordinates}
    if mode == "nearest":
        # With aligned corners or half-pixel centres, a point in the middle between two is rounded up.
        attributes["nearest_mode"] = "round_prefer_ceil" if corners else "floor"
        if half and not corners:
            attributes["nearest_mode"] = "round_prefer_ceil"
    sizes = layer.numbers((shape[0], shape[3], *size))
    layer.write("Resize", [layer.image(0), "", "", sizes], (shape[0], *size, shape[3]), attributes, image=True)


def _sizes(layer: Layer, what: str) -> tuple[tuple[int, ...], list[int], list[tuple[int, int]]]:
    """The input's shape, the block of each axis behind the batch, and the padding or crop on each side of the axis."""
    shape, block, edges = layer.shape(0), layer.integers(1, "block sizes"), layer.integers(2, what)
    if len(edges) != 2 * len(block) or not 0 < len(block) < len(shape) or min(block) < 1 or min(edges) < 0:
        raise layer.fault(f"blocks {block} and {what} {edges} of {list(shape)}")
    return shape, block, list(zip(edges[::2], edges[1::2], strict=True))


@handler("SPACE_TO_BATCH_ND", summary="constant blocks and paddings")
def read_space_to_batch(layer: Layer) -> None:
    """Pad; Reshape that splits each axis into blocks; Transpose that moves positions within a block first; Reshape."""
    shape, block, pads = _sizes(layer, "paddings")
    count, last = len(block), shape[1 + len(block) :]
    padded = (shape[0], *(size + sum(pad) for size, pad in zip(shape[1:], pads, strict=False)), *last)
    if any(size % one for size, one in zip(padded[1:], block, strict=False)):
        raise layer.fault(f"blocks {block} of {list(padded)}")
    source = layer.input(0)
    if padded != shape:
        begin, end = ([0, *(pad[side] for pad in pads), *[0] * len(last)] for side in (0, 1))
        source = layer.part("Pad", [source, layer.numbers([*begin, *end])], padded, {"mode": "constant"}, like=source)
    outer = [size // one for size, one in zip(padded[1:], block, strict=False)]
    split = [shape[0], *(size for pair in zip(outer, block, strict=True) for size in pair), *last]
    order = [*(2 + 2 * axis for axis in range(count)), 0, *(1 + 2 * axis for axis in range(count)),
             *range(1 + 2 * count, len(split))]
    _moved(layer, source, split, order, (shape[0] * int(np.prod(block)), *outer, *last))


@handler("BATCH_TO_SPACE_ND", summary="constant blocks and crops")
def read_batch_to_space(layer: Layer) -> None:
    """The inverse of SPACE_TO_BATCH_ND: Reshape, Transpose, Reshape, and Slice."""
    shape, block, crops = _sizes(layer, "crops")
    count, last = len(block), shape[1 + len(block) :]
    inside = int(np.prod(block))
    whole = (shape[0] // inside, *(size * one for size, one in zip(shape[1:], block, strict=False)), *last)
    kept = (whole[0], *(size - sum(crop) for size, crop in zip(whole[1:], crops, strict=False)), *last)
    if shape[0] % inside or min(kept) < 1:
        raise layer.fault(f"blocks {block} and crops {crops} of {list(shape)}")
    split = [*block, whole[0], *shape[1:]]
    order = [count, *(axis for position in range(count) for axis in (count + 1 + position, position)),
             *range(2 * count + 1, len(split))]
    if kept == whole:
        _moved(layer, layer.input(0), split, order, whole)
        return
    source = layer.input(0)
    parts = layer.part("Reshape", [source, layer.numbers(split)], split, like=source)
    turned = layer.part("Transpose", [parts], [split[axis] for axis in order], {"perm": tuple(order)}, like=source)
    joined = layer.part("Reshape", [turned, layer.numbers(whole)], whole, like=source)
    starts = [0, *(crop[0] for crop in crops), *[0] * len(last)]
    ends = [start + size for start, size in zip(starts, kept, strict=True)]
    layer.write("Slice", [joined, *layer.limits(starts, ends, range(len(kept)))], kept)


def _moved(layer: Layer, source: str, split: list[int], order: list[int], result: tuple[int, ...]) -> None:
    parts = layer.part("Reshape", [source, layer.numbers(split)], split, like=source)
    turned = layer.part("Transpose", [parts], [split[axis] for axis in order], {"perm": tuple(order)}, like=source)
    layer.write("Reshape", [turned, layer.numbers(result)], result)


@handler("GATHER_ND", summary="any indices")
def read_gather_nd(layer: Layer) -> None:
    """GatherND."""
    shape, positions = layer.shape(0), layer.shape(1)
    if not positions or positions[-1] > len(shape):
        raise layer.fault(f"indices {list(positions)} of {list(shape)}")
    layer.write("GatherND", [layer.input(0), layer.whole(layer.input(1))], (*positions[:-1], *shape[positions[-1] :]))

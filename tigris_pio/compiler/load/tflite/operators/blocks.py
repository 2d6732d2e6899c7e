"""SPACE_TO_BATCH_ND, BATCH_TO_SPACE_ND and GATHER_ND."""

from __future__ import annotations

import numpy as np

from tigris_pio.compiler.load.tflite.layer import Layer
from tigris_pio.compiler.load.tflite.operators.registry import handler


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
    limits = [layer.numbers(values) for values in (starts, ends, range(len(kept)), [1] * len(kept))]
    layer.write("Slice", [joined, *limits], kept)


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

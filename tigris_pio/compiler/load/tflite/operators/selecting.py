"""Operators that keep, repeat or pad a range of each axis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tigris_pio.compiler.load.tflite.layer import Layer
from tigris_pio.compiler.load.tflite.network import TO_IMAGE, Unsupported
from tigris_pio.compiler.load.tflite.operators.registry import handler

_END = np.iinfo(np.int64).max


@handler("SLICE", summary="constant begin and size")
def read_slice(layer: Layer) -> None:
    """Slice."""
    shape, begin, size = layer.shape(0), layer.integers(1, "begin"), layer.integers(2, "size")
    if not len(begin) == len(size) == len(shape):
        raise layer.fault(f"begin {begin} and size {size} of {list(shape)}")
    end = [full if count == -1 else start + count for start, count, full in zip(begin, size, shape, strict=True)]
    if any(not 0 <= low <= high <= full for low, high, full in zip(begin, end, shape, strict=True)):
        raise layer.fault(f"begin {begin} and size {size} of {list(shape)}")
    result = tuple(high - low for low, high in zip(begin, end, strict=True))
    write_slice(layer, begin, end, [1] * len(shape), result, 0)


@handler("STRIDED_SLICE", summary="constant begin, end and strides, all masks")
def read_strided_slice(layer: Layer) -> None:
    """Slice, with a Reshape behind it for axes that are dropped or added."""
    options = layer.options("StridedSliceOptions")
    shape = layer.shape(0)
    begin, end, strides = (layer.integers(index, what) for index, what in ((1, "begin"), (2, "end"), (3, "strides")))
    if not len(begin) == len(end) == len(strides) or 0 in strides:
        raise layer.fault(f"begin {begin}, end {end}, strides {strides}")
    masks = [int(options[name]) for name in ("BeginMask", "EndMask", "EllipsisMask", "NewAxisMask", "ShrinkAxisMask")]
    ranges: list[range] = []
    result: list[int] = []
    given = sum(1 for index in range(len(begin)) if not masks[3] >> index & 1 and not masks[2] >> index & 1)
    for index, (low, high, stride) in enumerate(zip(begin, end, strides, strict=True)):
        if masks[2] >> index & 1:
            rest = shape[len(ranges) : len(ranges) + max(len(shape) - given, 0)]
            ranges += [range(size) for size in rest]
            result += rest
            continue
        if masks[3] >> index & 1:
            result.append(1)
            continue
        if len(ranges) >= len(shape):
            raise layer.fault(f"ranges from {list(begin)} for {list(shape)}")
        size = shape[len(ranges)]
        if masks[4] >> index & 1:
            if not -size <= low < size:
                raise layer.fault(f"element {low} of an axis of {size}")
            ranges.append(range(low % size, low % size + 1))
            continue
        last = high + low if options["Offset"] else high
        ends = (None if masks[0] >> index & 1 else low, None if masks[1] >> index & 1 else last, stride)
        ranges.append(range(*slice(*ends).indices(size)))
        result.append(len(ranges[-1]))
    for size in shape[len(ranges) :]:
        ranges.append(range(size))
        result.append(size)
    _keep_ranges(layer, ranges, tuple(result))


def _keep_ranges(layer: Layer, ranges: Sequence[range], result: tuple[int, ...]) -> None:
    kept = tuple(len(item) for item in ranges)
    starts = [item.start for item in ranges]
    ends = [item.stop if item.stop >= 0 else -_END for item in ranges]
    steps = [item.step for item in ranges]
    if kept == result:
        write_slice(layer, starts, ends, steps, result, 0)
        return
    source = layer.input(0)
    if kept != layer.shape(0) or any(step != 1 for step in steps):
        source = layer.part("Slice", [source, *layer.limits(starts, ends, range(len(kept)), steps)], kept, like=source)
    layer.write("Reshape", [source, layer.numbers(result)], result)


def write_slice(layer: Layer, starts: Sequence[int], ends: Sequence[int], steps: Sequence[int],
                result: tuple[int, ...], output: int) -> None:
    """Writes an output that is a range of each axis of the first input; with four axes as an image."""
    if all(layer.shape(0)) and result == layer.shape(0) and set(steps) <= {1}:
        layer.write("Identity", [layer.input(0)], result, output=output)
        return
    image = len(result) == 4 and not layer.network.is_constant(layer.input(0))
    axes = [TO_IMAGE.index(axis) for axis in range(4)] if image else range(len(result))
    source = layer.image(0) if image else layer.input(0)
    layer.write("Slice", [source, *layer.limits(starts, ends, axes, steps)], result, image=image, output=output)


@handler("SPLIT", summary="constant axis")
def read_split(layer: Layer) -> None:
    """A Slice for each output."""
    count = len(layer.operator.outputs)
    axis = layer.axis(0, len(layer.shape(1)))
    size = layer.shape(1)[axis]
    if size % count:
        raise layer.fault(f"an axis of {size} in equal parts, num_splits = {count}")
    _split(layer, 1, axis, [size // count] * count)


@handler("SPLIT_V", summary="constant axis and sizes")
def read_split_v(layer: Layer) -> None:
    """A Slice for each output."""
    sizes = layer.integers(1, "sizes")
    axis = layer.axis(2, len(layer.shape(0)))
    full = layer.shape(0)[axis]
    if sizes.count(-1) == 1:
        sizes = [full - sum(sizes) - 1 if size == -1 else size for size in sizes]
    if len(sizes) != len(layer.operator.outputs) or min(sizes, default=0) < 0 or sum(sizes) != full:
        raise layer.fault(f"an axis of {full} in parts of {sizes}")
    _split(layer, 0, axis, sizes)


def _split(layer: Layer, index: int, axis: int, sizes: Sequence[int]) -> None:
    shape, start = layer.shape(index), 0
    image = len(shape) == 4
    source = layer.image(index) if image else layer.input(index)
    along = TO_IMAGE.index(axis) if image else axis
    for output, size in enumerate(sizes):
        result = (*shape[:axis], size, *shape[axis + 1 :])
        layer.write("Slice", [source, *layer.limits([start], [start + size], [along])], result, output=output,
                    image=image)
        start += size


@handler("UNPACK", summary="any axis")
def read_unpack(layer: Layer) -> None:
    """A Slice and a Reshape for each output."""
    options, shape, outputs = layer.options("UnpackOptions"), layer.shape(0), len(layer.operator.outputs)
    axis = int(options["Axis"])
    if not -len(shape) <= axis < len(shape) or shape[axis] != outputs:
        raise layer.fault(f"axis {axis} of {list(shape)} in parts, outputs: {outputs}")
    axis %= len(shape)
    kept, result = (*shape[:axis], 1, *shape[axis + 1 :]), shape[:axis] + shape[axis + 1 :]
    for output in range(outputs):
        limits = layer.limits([output], [output + 1], [axis])
        one = layer.part("Slice", [layer.input(0), *limits], kept, like=layer.input(0))
        layer.write("Reshape", [one, layer.numbers(result)], result, output=output)


@handler("PAD", "PADV2", summary="constant paddings")
def read_pad(layer: Layer) -> None:
    """Pad with zero, or with PADV2's constant."""
    fill = layer.input(2) if layer.operator.name == "PADV2" else ""
    if fill and not layer.network.is_constant(fill):
        raise Unsupported("its fill value is computed at run time")
    _pad(layer, {"mode": "constant"}, [fill] if fill else [])


@handler("MIRROR_PAD", summary="constant paddings; REFLECT and SYMMETRIC")
def read_mirror_pad(layer: Layer) -> None:
    """Pad in mode reflect. SYMMETRIC repeats the border element; with a padding of 1 that is mode edge."""
    symmetric = bool(layer.options("MirrorPadOptions")["Mode"])
    pads = layer.integers(1, "paddings")
    if symmetric and max(pads, default=0) > 1:
        _pad_symmetrically(layer, pads)
        return
    _pad(layer, {"mode": "edge" if symmetric else "reflect"}, [])


def _pad_symmetrically(layer: Layer, pads: list[int]) -> None:
    """Gather along each axis in turn."""
    shape = list(layer.shape(0))
    pairs = list(zip(pads[::2], pads[1::2], strict=True)) if len(pads) == 2 * len(shape) else []
    if not pairs or any(not 0 <= number <= size for pair, size in zip(pairs, shape, strict=True) for number in pair):
        raise layer.fault(f"paddings {pads} of {shape}")
    padded = [axis for axis, pair in enumerate(pairs) if any(pair)]
    name = layer.input(0)
    for axis in padded:
        begin, end = pairs[axis]
        size = shape[axis]
        indices = [*range(begin - 1, -1, -1), *range(size), *range(size - 1, size - 1 - end, -1)]
        shape[axis] = len(indices)
        inputs = [name, layer.numbers(indices)]
        if axis == padded[-1]:
            layer.write("Gather", inputs, shape, {"axis": axis})
        else:
            name = layer.part("Gather", inputs, shape, {"axis": axis}, like=name)


def _pad(layer: Layer, attributes: dict[str, str], fill: list[str]) -> None:
    shape, pads = layer.shape(0), layer.integers(1, "paddings")
    if len(pads) != 2 * len(shape) or min(pads, default=0) < 0:
        raise layer.fault(f"paddings {pads} of {list(shape)}")
    begin, end = pads[::2], pads[1::2]
    result = tuple(sum(sizes) for sizes in zip(begin, shape, end, strict=True))
    image = len(shape) == 4
    if image:
        begin, end = ([values[axis] for axis in TO_IMAGE] for values in (begin, end))
    source = layer.image(0) if image else layer.input(0)
    layer.write("Pad", [source, layer.numbers([*begin, *end]), *fill], result, attributes, image=image)


@handler("GATHER", summary="any indices along any axis")
def read_gather(layer: Layer) -> None:
    """Gather; batch axes of size one."""
    options, shape, indices = layer.options("GatherOptions"), layer.shape(0), layer.shape(1)
    axis = int(options["Axis"])
    if options["BatchDims"]:
        raise Unsupported("batch axes")
    if not -len(shape) <= axis < len(shape):
        raise layer.fault(f"axis {axis} of {list(shape)}")
    axis %= len(shape)
    result = (*shape[:axis], *indices, *shape[axis + 1 :])
    layer.write("Gather", [layer.input(0), layer.input(1)], result, {"axis": axis})


@handler("REVERSE_V2", summary="constant axes")
def read_reverse(layer: Layer) -> None:
    """Slice with negative steps."""
    shape = layer.shape(0)
    axes = layer.axes(1, len(shape))
    steps = [-1 if axis in axes else 1 for axis in range(len(shape))]
    starts = [size - 1 if step < 0 else 0 for size, step in zip(shape, steps, strict=True)]
    ends = [-_END if step < 0 else size for size, step in zip(shape, steps, strict=True)]
    write_slice(layer, starts, ends, steps, shape, 0)

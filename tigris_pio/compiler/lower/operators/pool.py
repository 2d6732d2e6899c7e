"""Average and max pooling, windowed and global."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower import numerics
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.operators import fused, map_mean
from tigris_pio.compiler.lower.operators.int16.types import types
from tigris_pio.compiler.lower.operators.pool_3d import lower_pool_3d
from tigris_pio.compiler.lower.operators.select import declare
from tigris_pio.compiler.lower.operators.transpose import transposed_alias
from tigris_pio.compiler.lower.operators.window import Window, image_dims, image_layout, read_window
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import operator
from tigris_pio.compiler.lower.storage import FLOAT, Cell, Numeric
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import BinaryFloatParams, PoolFloatParams, PoolInt8Params
from tigris_pio.format.record import Record

#: Axes of a tensor with depth, rows and columns.
_THREE_SPATIAL = 5
#: An int8 mean has a multiplier for every number of taps.
_MOST_TAPS = 1 << 16
#: An attribute of AveragePool within composed operators: every window counts all taps of its kernel.
WHOLE_KERNEL = "whole_kernel"


@operator("MaxPool", summary="1-D to 3-D, any pads, strides and dilations, ceil_mode; no indices output")
def lower_max_pool(builder: Builder, node: Node) -> None:
    """The maximum of the taps inside the tensor."""
    if any(name and builder.is_read(name) for name in node.outputs[1:]):
        raise Refusal("its output of indices is used")
    if len(builder.shape(node.inputs[0])) == _THREE_SPATIAL:
        lower_pool_3d(builder, node, lower_max_pool)
        return
    _emit(builder, node, OpKind.MAX_POOL, _window(builder, node), False)


@operator("GlobalMaxPool", summary="any number of spatial axes")
def lower_global_max_pool(builder: Builder, node: Node) -> None:
    """One window over the whole map."""
    flat = _flattened(builder, node)
    _emit(builder, flat, OpKind.MAX_POOL, _whole(builder, flat), False)


@operator("AveragePool", summary="1-D to 3-D, any pads, strides and dilations, ceil_mode, count_include_pad")
def lower_average_pool(builder: Builder, node: Node) -> None:
    """The mean of the taps inside the tensor, or of all taps of the padded tensor."""
    if len(builder.shape(node.inputs[0])) == _THREE_SPATIAL:
        lower_pool_3d(builder, node, lower_average_pool)
        return
    window = _window(builder, node)
    if node.attributes.get(WHOLE_KERNEL):
        _emit(builder, node, OpKind.AVERAGE_POOL, window, True)
        return
    include_pad = bool(node.attributes.get("count_include_pad", 0)) and any((*window.pad_begin, *window.pad_end))
    if include_pad and _beyond_padding(builder, node, window):
        _emit_uneven(builder, node, window)
        return
    _emit(builder, node, OpKind.AVERAGE_POOL, window, include_pad)


@operator("GlobalAveragePool", summary="any number of spatial axes")
def lower_global_average_pool(builder: Builder, node: Node) -> None:
    """One window over the whole map."""
    flat = _flattened(builder, node)
    _emit(builder, flat, OpKind.AVERAGE_POOL, _whole(builder, flat), False)


def _flattened(builder: Builder, node: Node) -> Node:
    """The node on rows and columns when there are more spatial axes: all but the last become rows."""
    shape = builder.shape(node.inputs[0])
    if len(shape) < _THREE_SPATIAL:
        return node
    name = declare(builder, f"{node.outputs[0]}/map", (*shape[:2], math.prod(shape[2:-1]), shape[-1]), node.inputs[0])
    transposed_alias(builder, node.inputs[0], name, (0, 1, 2, 3), builder.shape(name))
    return dataclasses.replace(node, inputs=(name,))


def _window(builder: Builder, node: Node) -> Window:
    source, result = builder.shape(node.inputs[0]), builder.shape(node.outputs[0])
    window = read_window(node, source, result, tuple(node.attributes["kernel_shape"]))
    if not window.reaches(image_dims(source)[1:3], image_dims(result)[1:3]):
        raise Refusal(f"a window lies in the padding only: kernel {list(window.kernel)}, pads {list(window.pad_begin)}")
    return window


def _whole(builder: Builder, node: Node) -> Window:
    shape = builder.shape(node.inputs[0])
    if len(shape) not in (3, 4):
        raise Refusal(f"{len(shape) - 2} spatial dimensions; one or two are supported")
    size = image_dims(shape)[1:3]
    return Window((size[0], size[1]), (1, 1), (1, 1), (0, 0), (0, 0))


def _beyond_padding(builder: Builder, node: Node, window: Window) -> bool:
    """Whether the last window ends after the padded tensor, where taps do not count."""
    source, result = image_dims(builder.shape(node.inputs[0])), image_dims(builder.shape(node.outputs[0]))
    return any(
        (result[1 + axis] - 1) * window.stride[axis] + (window.kernel[axis] - 1) * window.dilation[axis] + 1
        > source[1 + axis] + window.pad_begin[axis] + window.pad_end[axis]
        for axis in (0, 1)
    )


def _emit(builder: Builder, node: Node, kind: OpKind, window: Window, include_pad: bool) -> None:
    name, output = node.inputs[0], node.outputs[0]
    if _emit_int16(builder, node, kind, window, include_pad):
        return
    int8 = builder.is_int8(name, output)
    if not int8 and kind == OpKind.MAX_POOL and builder.is_int8(name):
        int8 = True  # a maximum needs no rounding: the result is converted
    source = builder.numeric(name) if int8 else FLOAT
    # A maximum is one of its inputs and keeps their scale; an average is rescaled by its kernel.
    result = source if kind == OpKind.MAX_POOL or not int8 else builder.numeric(output)
    value = builder.arranged(name, image_layout(builder.shape(name)), source)
    storage = builder.with_dims(value, image_dims(builder.shape(name)))
    shape = builder.shape(output)
    params: Record
    if kind == OpKind.AVERAGE_POOL and map_mean.covers(window, builder.dims(storage)):
        map_mean.emit(builder, node, storage, source, result)
        return
    if int8:
        params, blobs = _int8(node, kind, window, include_pad, source, result)
    else:
        params, blobs = PoolFloatParams(**window.fields(), include_pad=int(include_pad),
                                        **fused.float_fields(node)), {}
    builder.emit(kind, DType.INT8 if int8 else DType.FLOAT32, [(storage, window.row_map())], output,
                 image_layout(shape), result, Cell(image_dims(shape), fixed=True), params, blobs=blobs)


def _emit_int16(builder: Builder, node: Node, kind: OpKind, window: Window, include_pad: bool) -> bool:
    """Of int16: sums of up to 2^16 taps fit 32 bits. A maximum keeps its input's type."""
    name, output = node.inputs[0], node.outputs[0]
    found = types(builder, (name,), output)
    if found is None or math.prod(window.kernel) > _MOST_TAPS:
        return False
    source = found.inputs[0]
    result = source if kind == OpKind.MAX_POOL else found.output
    value = builder.arranged(name, image_layout(builder.shape(name)), source)
    storage = builder.with_dims(value, image_dims(builder.shape(name)))
    params, blobs = _int8(node, kind, window, include_pad, source, result)
    shape = builder.shape(output)
    builder.emit(kind, DType.INT16, [(storage, window.row_map())], output, image_layout(shape), result,
                 Cell(image_dims(shape), fixed=True), params, blobs=blobs)
    return True


def _emit_uneven(builder: Builder, node: Node, window: Window) -> None:
    """Padding counts, but not what ceil_mode adds beyond it: the divisor differs from window to window.

    The mean of the taps inside the tensor, times their share of the taps inside the padded tensor.
    """
    name, output = node.inputs[0], node.outputs[0]
    source, result = builder.shape(name), builder.shape(output)
    dims, layout = image_dims(result), image_layout(result)
    storage = builder.with_dims(builder.arranged(name, image_layout(source), FLOAT), image_dims(source))
    plain_node = dataclasses.replace(node, attributes={})
    params = PoolFloatParams(**window.fields(), include_pad=0, **fused.float_fields(plain_node))
    mean = builder.emit_part(f"{output}/mean", OpKind.AVERAGE_POOL, DType.FLOAT32, [(storage, window.row_map())],
                             Cell(dims, fixed=True), FLOAT, params)
    shares = [
        _taps(window, axis, image_dims(source)[1 + axis], dims[1 + axis], 0)
        / _taps(window, axis, image_dims(source)[1 + axis], dims[1 + axis], 1)
        for axis in (0, 1)
    ]
    share = np.outer(*shares).astype(np.float32).reshape(1, dims[1], dims[2], 1)
    factor = builder.add_constant(f"{output}/share", share, FLOAT, (1, dims[1], dims[2], 1))
    steps = BinaryFloatParams(**fused.float_fields(node), row_step=(dims[2] * dims[3], dims[2]),
                              column_step=(dims[3], 1), channel_step=(1, 0))
    builder.emit(OpKind.MUL, DType.FLOAT32, [(mean, RowMap.same()), (factor, RowMap.same())], output, layout, FLOAT,
                 Cell(dims, fixed=True), steps)


def _taps(window: Window, axis: int, size: int, count: int, padded: int) -> np.ndarray:
    """How many taps of each window lie inside the tensor, or inside the padded tensor."""
    low, high = -window.pad_begin[axis] * padded, size + window.pad_end[axis] * padded
    first = np.arange(count) * window.stride[axis] - window.pad_begin[axis]
    # Taps before a place: those at first, first + dilation, … below it.
    below = [-((first - place) // window.dilation[axis]) for place in (low, high)]
    begin, end = (np.clip(number, 0, window.kernel[axis]) for number in below)
    number: np.ndarray = end - begin
    return number


def _multipliers(node: Node, real: float, most: int) -> tuple[np.ndarray, np.ndarray]:
    """For windows of 1 to `most` taps; a mean of the whole map has but one number of taps, and its own rounding."""
    multiplier, shift = numerics.quantize_multipliers(real / np.arange(1, most + 1))
    if node.op == "GlobalAveragePool":
        multiplier[-1], shift[-1] = numerics.mean_multiplier(real, most)
    return multiplier, shift


def _int8(node: Node, kind: OpKind, window: Window, include_pad: bool, source: Numeric,
          result: Numeric) -> tuple[PoolInt8Params, dict[str, np.ndarray]]:
    rescale = kind == OpKind.AVERAGE_POOL and map_mean.is_mean(node, source, result)
    blobs: dict[str, np.ndarray] = {}
    if rescale and math.prod(window.kernel) > _MOST_TAPS:
        raise Refusal(f"an int8 mean of {math.prod(window.kernel)} taps; at most {_MOST_TAPS} have multipliers")
    if rescale:
        try:
            multiplier, shift = _multipliers(node, source.scale / result.scale, math.prod(window.kernel))
        except ValueError as error:
            raise Refusal(str(error)) from None
        blobs = {"multiplier": multiplier, "shift": shift}
    params = PoolInt8Params(
        **window.fields(),
        rescale=map_mean.rounding(node, rescale) if kind == OpKind.AVERAGE_POOL else 0,
        include_pad=int(include_pad), input_zero_point=source.zero_point,
        output_zero_point=result.zero_point, **fused.int8_fields(node, result), multiplier=0, shift=0,
    )
    return params, blobs

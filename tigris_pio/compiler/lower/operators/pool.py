"""Average, max and Lp pooling, local and global.

A pool over three spatial axes runs over rows and columns with depth as a batch, then over depth. The maximum or mean of
a box is that of its planes' maxima or means, because all planes have equally many taps. The reshapes are free: data
stays [N, D, H, W, C].
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower import numerics
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import channels_last
from tigris_pio.compiler.lower.operators import fused, map_mean
from tigris_pio.compiler.lower.operators.aliases import transposed_alias
from tigris_pio.compiler.lower.operators.calls import emit_image, image
from tigris_pio.compiler.lower.operators.compose import Composer
from tigris_pio.compiler.lower.operators.int16.types import int16_types
from tigris_pio.compiler.lower.operators.kernel_geometry import KernelGeometry, image_dims, read_geometry, read_pads
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import REGISTRY, operator
from tigris_pio.compiler.lower.storage import FLOAT, Cell, Numeric
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import BinaryFloatParams, PoolFloatParams, PoolInt8Params
from tigris_pio.format.record import Record

#: The rank of a tensor with depth, rows and columns.
_THREE_SPATIAL = 5
#: The most taps of an int8 mean, which has a multiplier for each number of taps.
_MOST_TAPS = 1 << 16
#: An attribute of AveragePool within composed operators: every mean divides by all taps of the kernel.
WHOLE_KERNEL = "whole_kernel"


@operator("MaxPool", summary="1-D to 3-D, any pads, strides and dilations, ceil_mode; no indices output")
def lower_max_pool(builder: Builder, node: Node) -> None:
    """MAX_POOL of the taps inside the tensor."""
    if any(name and builder.is_read(name) for name in node.outputs[1:]):
        raise Refusal("its output of indices is read")
    if len(builder.shape(node.inputs[0])) == _THREE_SPATIAL:
        _lower_pool_3d(builder, node)
        return
    _emit(builder, node, OpKind.MAX_POOL, _kernel_geometry(builder, node), False)


@operator("GlobalMaxPool", summary="any number of spatial axes")
def lower_global_max_pool(builder: Builder, node: Node) -> None:
    """A pool whose kernel is the whole map."""
    flat = _flattened_node(builder, node)
    _emit(builder, flat, OpKind.MAX_POOL, _global_geometry(builder, flat), False)


@operator("AveragePool", summary="1-D to 3-D, any pads, strides and dilations, ceil_mode, count_include_pad")
def lower_average_pool(builder: Builder, node: Node) -> None:
    """AVERAGE_POOL of the taps inside the tensor, or of all taps of the padded tensor."""
    if len(builder.shape(node.inputs[0])) == _THREE_SPATIAL:
        _lower_pool_3d(builder, node)
        return
    geometry = _kernel_geometry(builder, node)
    if node.attributes.get(WHOLE_KERNEL):
        _emit(builder, node, OpKind.AVERAGE_POOL, geometry, True)
        return
    include_pad = bool(node.attributes.get("count_include_pad", 0)) and any((*geometry.pad_begin, *geometry.pad_end))
    if include_pad and _reaches_beyond_padding(builder, node, geometry):
        _emit_uneven_means(builder, node, geometry)
        return
    _emit(builder, node, OpKind.AVERAGE_POOL, geometry, include_pad)


@operator("GlobalAveragePool", summary="any number of spatial axes")
def lower_global_average_pool(builder: Builder, node: Node) -> None:
    """A pool whose kernel is the whole map."""
    flat = _flattened_node(builder, node)
    _emit(builder, flat, OpKind.AVERAGE_POOL, _global_geometry(builder, flat), False)


def _flattened_node(builder: Builder, node: Node) -> Node:
    """The node with two spatial axes: of three or more axes, all but the last become rows."""
    shape = builder.shape(node.inputs[0])
    if len(shape) < _THREE_SPATIAL:
        return node
    name = builder.declare(f"{node.outputs[0]}/map", (*shape[:2], math.prod(shape[2:-1]), shape[-1]), node.inputs[0])
    transposed_alias(builder, node.inputs[0], name, (0, 1, 2, 3), builder.shape(name))
    return dataclasses.replace(node, inputs=(name,))


def _kernel_geometry(builder: Builder, node: Node) -> KernelGeometry:
    source, result = builder.shape(node.inputs[0]), builder.shape(node.outputs[0])
    geometry = read_geometry(node, source, result, tuple(node.attributes["kernel_shape"]))
    if not geometry.has_inner_taps(image_dims(source)[1:3], image_dims(result)[1:3]):
        raise Refusal(f"its kernel, {list(geometry.kernel)}, lies in the padding only at some output: pads "
                      f"{list(geometry.pad_begin)}")
    return geometry


def _global_geometry(builder: Builder, node: Node) -> KernelGeometry:
    shape = builder.shape(node.inputs[0])
    if len(shape) not in (3, 4):
        raise Refusal(f"{len(shape) - 2} spatial dimensions; one or two are supported")
    size = image_dims(shape)[1:3]
    return KernelGeometry((size[0], size[1]), (1, 1), (1, 1), (0, 0), (0, 0))


def _reaches_beyond_padding(builder: Builder, node: Node, geometry: KernelGeometry) -> bool:
    """Whether the last output's taps reach beyond the padded tensor, where they do not count."""
    source, result = image_dims(builder.shape(node.inputs[0])), image_dims(builder.shape(node.outputs[0]))
    return any(
        (result[1 + axis] - 1) * geometry.stride[axis] + (geometry.kernel[axis] - 1) * geometry.dilation[axis] + 1
        > source[1 + axis] + geometry.pad_begin[axis] + geometry.pad_end[axis]
        for axis in (0, 1)
    )


def _emit(builder: Builder, node: Node, kind: OpKind, geometry: KernelGeometry, include_pad: bool) -> None:
    name, output = node.inputs[0], node.outputs[0]
    if _emit_int16(builder, node, kind, geometry, include_pad):
        return
    int8 = builder.is_int8(name, output)
    if not int8 and kind == OpKind.MAX_POOL and builder.is_int8(name):
        int8 = True  # a maximum needs no rounding, so the result is converted
    source = builder.numeric(name) if int8 else FLOAT
    # A maximum keeps the scale of its input; the kernel of an average rescales.
    result = source if kind == OpKind.MAX_POOL or not int8 else builder.numeric(output)
    storage = image(builder, name, source)
    params: Record
    if kind == OpKind.AVERAGE_POOL and map_mean.is_whole_map(geometry, builder.dims(storage)):
        map_mean.emit_map_mean(builder, node, storage, source, result)
        return
    if int8:
        params, blobs = _int8(node, kind, geometry, include_pad, source, result)
    else:
        params, blobs = PoolFloatParams(**geometry.fields(), include_pad=int(include_pad),
                                        **fused.float_fields(node)), {}
    emit_image(builder, node, kind, (storage, geometry.row_map()), result, params, blobs)


def _emit_int16(builder: Builder, node: Node, kind: OpKind, geometry: KernelGeometry, include_pad: bool) -> bool:
    """Emits an int16 pool; False if there is no int16, or a sum of more than 2^16 taps could exceed 32 bits."""
    name, output = node.inputs[0], node.outputs[0]
    found = int16_types(builder, (name,), output)
    if found is None or math.prod(geometry.kernel) > _MOST_TAPS:
        return False
    source = found.inputs[0]
    result = source if kind == OpKind.MAX_POOL else found.output
    params, blobs = _int8(node, kind, geometry, include_pad, source, result)
    emit_image(builder, node, kind, (image(builder, name, source), geometry.row_map()), result, params, blobs)
    return True


def _emit_uneven_means(builder: Builder, node: Node, geometry: KernelGeometry) -> None:
    """Emits an AveragePool that counts padding, but not the taps that ceil_mode adds beyond it.

    It is the mean of the taps inside the tensor, times their share of the taps inside the padded tensor.
    """
    name, output = node.inputs[0], node.outputs[0]
    source, result = builder.shape(name), builder.shape(output)
    dims, layout = image_dims(result), channels_last(result)
    storage = image(builder, name, FLOAT)
    plain_node = dataclasses.replace(node, attributes={})
    params = PoolFloatParams(**geometry.fields(), include_pad=0, **fused.float_fields(plain_node))
    mean = builder.emit_part(f"{output}/mean", OpKind.AVERAGE_POOL, DType.FLOAT32, [(storage, geometry.row_map())],
                             Cell(dims, fixed=True), FLOAT, params)
    shares = [
        _count_taps(geometry, axis, image_dims(source)[1 + axis], dims[1 + axis], 0)
        / _count_taps(geometry, axis, image_dims(source)[1 + axis], dims[1 + axis], 1)
        for axis in (0, 1)
    ]
    share = np.outer(*shares).astype(np.float32).reshape(1, dims[1], dims[2], 1)
    factor = builder.add_constant(f"{output}/share", share, FLOAT, (1, dims[1], dims[2], 1))
    steps = BinaryFloatParams(**fused.float_fields(node), row_step=(dims[2] * dims[3], dims[2]),
                              column_step=(dims[3], 1), channel_step=(1, 0))
    builder.emit(OpKind.MUL, DType.FLOAT32, [(mean, RowMap.same()), (factor, RowMap.same())], output, layout, FLOAT,
                 Cell(dims, fixed=True), steps)


def _count_taps(geometry: KernelGeometry, axis: int, size: int, count: int, padded: int) -> np.ndarray:
    """The number of taps of each output inside the tensor, or inside the padded tensor."""
    low, high = -geometry.pad_begin[axis] * padded, size + geometry.pad_end[axis] * padded
    first = np.arange(count) * geometry.stride[axis] - geometry.pad_begin[axis]
    # The taps before a place are those of first, first + dilation, … below it.
    below = [-((first - place) // geometry.dilation[axis]) for place in (low, high)]
    begin, end = (np.clip(number, 0, geometry.kernel[axis]) for number in below)
    number: np.ndarray = end - begin
    return number


def _multipliers(node: Node, real: float, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Multipliers and shifts for means of 1 to `most` taps; a mean of the whole map has its own rounding."""
    multiplier, shift = numerics.quantize_multipliers(real / np.arange(1, most + 1))
    if node.op == "GlobalAveragePool":
        multiplier[-1], shift[-1] = numerics.mean_multiplier(real, most)
    return multiplier, shift


def _int8(node: Node, kind: OpKind, geometry: KernelGeometry, include_pad: bool, source: Numeric,
          result: Numeric) -> tuple[PoolInt8Params, dict[str, np.ndarray]]:
    rescale = kind == OpKind.AVERAGE_POOL and map_mean.is_tflite_mean(node, source, result)
    blobs: dict[str, np.ndarray] = {}
    if rescale and math.prod(geometry.kernel) > _MOST_TAPS:
        raise Refusal(f"an int8 mean of {math.prod(geometry.kernel)} taps; at most {_MOST_TAPS} have multipliers")
    if rescale:
        multiplier, shift = _multipliers(node, source.scale / result.scale, math.prod(geometry.kernel))
        blobs = {"multiplier": multiplier, "shift": shift}
    params = PoolInt8Params(
        **geometry.fields(),
        rescale=map_mean.rescale_mode(node, rescale) if kind == OpKind.AVERAGE_POOL else 0,
        include_pad=int(include_pad), input_zero_point=source.zero_point,
        output_zero_point=result.zero_point, **fused.int8_fields(node, result), multiplier=0, shift=0,
    )
    return params, blobs


def _lower_pool_3d(builder: Builder, node: Node) -> None:
    """Emits a pool over three axes."""
    name, output = node.inputs[0], node.outputs[0]
    batch, channels, depth, height, width = builder.shape(name)
    result = builder.shape(output)[2:]
    over_planes, over_depth = _attributes(node, (depth, height, width))
    lower = REGISTRY[node.op].lower

    planes = builder.declare(f"{output}/planes", (batch * depth, channels, height, width), name)
    transposed_alias(builder, name, planes, (0, 2, 1, 3, 4), (batch, channels, depth, height, width))
    between = name
    if node.op == "AveragePool" and not _is_coarse(builder, name, output):
        between = builder.declare(f"{output}/float", ())
    pooled = builder.declare(f"{output}/pooled", (batch * depth, channels, result[1], result[2]), between)
    lower(builder, dataclasses.replace(node, inputs=(planes,), outputs=(pooled,), attributes=over_planes))

    # [N, D, C, H, W] -> [N, (H, W, C), D] in the same memory.
    lines = builder.declare(f"{output}/lines", (batch, result[1] * result[2] * channels, depth), between)
    transposed_alias(builder, pooled, lines, (0, 3, 4, 2, 1), (batch, depth, channels, result[1], result[2]))
    shortened = builder.declare(f"{output}/shortened", (batch, result[1] * result[2] * channels, result[0]), output)
    lower(builder, dataclasses.replace(node, inputs=(lines,), outputs=(shortened,), attributes=over_depth))
    transposed_alias(builder, shortened, output, (0, 3, 4, 1, 2), (batch, result[1], result[2], channels, result[0]))


def _is_coarse(builder: Builder, name: str, output: str) -> bool:
    """Whether a mean rounded to the input's steps is exact enough for the output."""
    return not builder.is_int8(name, output) or builder.numeric(output).scale >= builder.numeric(name).scale


def _attributes(node: Node, size: tuple[int, int, int]) -> tuple[dict[str, object], dict[str, object]]:
    """The attributes of the pool over planes and of the pool over depth."""
    kernel = tuple(node.attributes["kernel_shape"])
    strides = tuple(node.attributes.get("strides", (1, 1, 1)))
    dilations = tuple(node.attributes.get("dilations", (1, 1, 1)))
    if any(len(item) != 3 for item in (kernel, strides, dilations)) or min(*kernel, *strides, *dilations) < 1:
        raise Refusal(f"kernel {list(kernel)}, strides {list(strides)} or dilations {list(dilations)} contradict its "
                      "3 spatial dimensions")
    begin, end = read_pads(node, size, kernel, strides, dilations)
    kept = {key: value for key, value in node.attributes.items() if key not in ("auto_pad", "activation_min",
                                                                               "activation_max")}
    last = {key: value for key, value in node.attributes.items() if key.startswith("activation_")}
    planes = {**kept, "kernel_shape": kernel[1:], "strides": strides[1:], "dilations": dilations[1:],
              "pads": (*begin[1:], *end[1:])}
    depth = {**kept, **last, "kernel_shape": kernel[:1], "strides": strides[:1], "dilations": dilations[:1],
             "pads": (begin[0], end[0])}
    return planes, depth


@operator("LpPool", summary="1-D to 3-D, any p, pads, strides, dilations and ceil_mode; in float32")
def lower_lp_pool(builder: Builder, node: Node) -> None:
    """(sum of |x|^p)^(1/p) over the kernel's taps; padding is zero."""
    _emit_lp(builder, node, {key: value for key, value in node.attributes.items() if key != "p"})


@operator("GlobalLpPool", summary="1-D to 3-D, any p; in float32")
def lower_global_lp_pool(builder: Builder, node: Node) -> None:
    """(sum of |x|^p)^(1/p) over the whole map."""
    _emit_lp(builder, node, {"kernel_shape": builder.shape(node.inputs[0])[2:]})


def _emit_lp(builder: Builder, node: Node, geometry: Mapping[str, Any]) -> None:
    composer = Composer(builder, node)
    shape, result = builder.shape(node.inputs[0]), builder.shape(node.outputs[0])
    p = float(node.attributes.get("p", 2))
    power = composer.add("Abs", node.inputs[:1], shape)
    if p != 1:
        power = composer.add("Pow", [power, composer.constant(p)], shape)
    mean = composer.add("AveragePool", [power], result, {**geometry, WHOLE_KERNEL: 1})
    total = [mean, composer.constant(float(math.prod(geometry["kernel_shape"])))]
    if p == 1:
        composer.finish("Mul", total)
    else:
        composer.finish("Pow", [composer.add("Mul", total, result), composer.constant(1 / p)])

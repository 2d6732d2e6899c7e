"""Conv, in two dimensions or one, grouped and depthwise."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import channels_last
from tigris_pio.compiler.lower.operators import fused
from tigris_pio.compiler.lower.operators.calls import emit_image, image
from tigris_pio.compiler.lower.operators.compose import Composer
from tigris_pio.compiler.lower.operators.int16.types import (
    Int16Types,
    layer_constants,
    layer_types,
    sum_constants,
    svdf_types,
)
from tigris_pio.compiler.lower.operators.kernel_geometry import KernelGeometry, image_dims, read_geometry
from tigris_pio.compiler.lower.operators.select import emit_selection
from tigris_pio.compiler.lower.operators.weights import (
    emit_scaled_sums,
    float_bias,
    has_float_sums,
    has_int8_weights,
    int8_weights,
    int32_bias,
    product_scales,
    requantisation,
    scaled_sums,
    warn_float,
)
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import operator
from tigris_pio.compiler.lower.selection import OUTSIDE
from tigris_pio.compiler.lower.storage import FLOAT, Cell, Numeric
from tigris_pio.format.enums import OpKind
from tigris_pio.format.params import AsymmetricConvInt8Params, ConvFloatParams, ConvInt8Params, ConvInt16Params
from tigris_pio.format.record import Record

_IMAGE_RANK = 4


@operator("Conv", "Conv1D", "DepthwiseConv", summary="1-D and 2-D, any pads, strides, dilations and groups; "
          "constant weights")
def lower_conv(builder: Builder, node: Node) -> None:
    """CONV_2D or DEPTHWISE_CONV_2D. Weights [O, I/g, KH, KW] become [O, KH, KW, I/g], or [KH, KW, O] for depthwise."""
    name, weight, bias = (*node.inputs, "")[:3]
    if not builder.is_constant(weight):
        raise Refusal("its weights are computed at run time")
    geometry = _kernel_geometry(builder, node)
    if _emit_int16(builder, node, geometry):
        return
    if _emit_sums(builder, node, geometry):
        return
    depthwise = node.op == "DepthwiseConv"
    groups = int(node.attributes.get("group", 1))
    int8 = builder.is_int8(name, node.outputs[0]) and has_int8_weights(builder, weight)
    storage = image(builder, name, builder.numeric(name) if int8 else FLOAT)
    params: Record
    kind = OpKind.DEPTHWISE_CONV_2D if depthwise else OpKind.CONV_2D
    if int8:
        kind, params, blobs = _int8_constants(builder, node, geometry, weight, bias, depthwise, groups)
    else:
        warn_float(builder, node, weight)
        params, blobs = _float_constants(builder, node, geometry, weight, bias, depthwise, groups)
    emit_image(builder, node, kind, (storage, geometry.row_map()), builder.numeric(node.outputs[0]) if int8 else FLOAT,
               params, blobs)


def _emit_int16(builder: Builder, node: Node, geometry: KernelGeometry) -> bool:
    """Emits a convolution between int16 tensors, or int16 and int8 ones; False if there is no int16."""
    name, weight, bias = (*node.inputs, "")[:3]
    found = layer_types(builder, node, name, weight)
    memory = svdf_types(builder, node, name, weight)
    if memory is not None:
        _emit_svdf_layer(builder, node, geometry, memory)
        return True
    if found is None:
        return False
    depthwise, groups = node.op == "DepthwiseConv", int(node.attributes.get("group", 1))
    weights = int8_weights(builder, weight, 0, node, found.output, symmetric=True)
    products = np.broadcast_to(found.inputs[0].scale * weights.scales, (len(weights.values),))
    constants = layer_constants(builder, node, weights.values, products, bias, found)
    params = ConvInt16Params(**geometry.fields(), groups=1 if depthwise else groups, sum_bits=constants.bits,
                             weight_bytes=1, **fused.int8_fields(node, found.output), weights=0, bias=0, multiplier=0,
                             shift=0)
    emit_image(builder, node, OpKind.DEPTHWISE_CONV_2D if depthwise else OpKind.CONV_2D,
               (image(builder, name, found.inputs[0]), geometry.row_map()), found.output, params,
               constants.blobs(_ordered(weights.values, depthwise)))
    return True


def _emit_sums(builder: Builder, node: Node, geometry: KernelGeometry) -> bool:
    """Emits a fully connected layer of gathered int8 taps, for an int8 input and a float32 output; False otherwise."""
    (name, weight, bias), output = (*node.inputs, "")[:3], node.outputs[0]
    values, shape = builder.graph.weights[weight], builder.shape(output)
    if builder.tensors[output].quantisation is not None or values.ndim != _IMAGE_RANK or node.op == "DepthwiseConv":
        return False
    if int(node.attributes.get("group", 1)) != 1 or not has_float_sums(builder, name, weight, 0):
        return False
    matrix = values.transpose(0, 3, 2, 1).reshape(len(values), -1)
    scales = builder.tensors[weight].quantisation.scale.reshape(-1)  # type: ignore[union-attr]  # has_float_sums
    made = scaled_sums(builder, builder.numeric(name), matrix, scales.astype(np.float64), bias)
    if made is None:
        return False
    taps = _gather_taps(builder, node, geometry)
    storage = image(builder, taps, builder.numeric(taps))
    emit_scaled_sums(builder, node, [(storage, RowMap.same())], channels_last(shape),
                     Cell(image_dims(shape), fixed=True), (math.prod(shape[2:]), matrix.shape[1], len(matrix)), made,
                     True)
    return True


def _gather_taps(builder: Builder, node: Node, geometry: KernelGeometry) -> str:
    """Gathers the taps of each output pixel by SELECT and CONCAT: taps of one column as channels, columns in order."""
    name, (rows, columns) = node.inputs[0], builder.shape(node.outputs[0])[2:]
    batch, channels, height, width = builder.shape(name)
    lines = [_tap_indices(rows, geometry, 0)[:, tap] for tap in range(geometry.kernel[0])]
    parts = [_selected(builder, name, (batch, channels, rows, width), {2: _inside(line, height)}) for line in lines]
    name = parts[0]
    if len(parts) > 1:
        name = builder.declare(f"{name}/taps", (batch, len(parts) * channels, rows, width), name)
        Composer(builder, node).add_as("Concat", parts, name, {"axis": 1})
    places = _tap_indices(columns, geometry, 1).reshape(-1)
    return _selected(builder, name, (batch, len(parts) * channels, rows, len(places)), {3: _inside(places, width)})


def _tap_indices(count: int, geometry: KernelGeometry, axis: int) -> np.ndarray:
    """The input row or column of each tap of each output row or column, [outputs][taps]; padding lies outside."""
    taps = np.arange(geometry.kernel[axis]) * geometry.dilation[axis] - geometry.pad_begin[axis]
    places: np.ndarray = (np.arange(count) * geometry.stride[axis])[:, np.newaxis] + taps
    return places


def _inside(places: np.ndarray, size: int) -> np.ndarray:
    return np.where((places >= 0) & (places < size), places, OUTSIDE)


def _selected(builder: Builder, name: str, shape: tuple[int, ...], selections: dict[int, np.ndarray]) -> str:
    """Emits a SELECT to a tensor of this shape; returns its name, or `name` if everything is selected."""
    if all(np.array_equal(chosen, np.arange(builder.shape(name)[axis])) for axis, chosen in selections.items()):
        return name
    result = builder.declare(f"{name}/taps", shape, name)
    emit_selection(builder, name, result, selections)
    return result


def _emit_svdf_layer(builder: Builder, node: Node, geometry: KernelGeometry, found: Int16Types) -> None:
    """Emits the layer behind an SVDF's memory, with int16 weights."""
    _, weight, bias = (*node.inputs, "")[:3]
    weights = builder.graph.weights[weight]
    scale = builder.numeric(weight).scale
    products = np.full(len(weights), float(np.float32(found.inputs[0].scale) * np.float32(scale)))
    made = sum_constants(products, int32_bias(builder, bias, len(products), products), found, 32, single=True)
    params = ConvInt16Params(**geometry.fields(), groups=int(node.attributes["group"]), sum_bits=32, weight_bytes=2,
                             **fused.int8_fields(node, found.output), weights=0, bias=0, multiplier=0, shift=0)
    emit_image(builder, node, OpKind.CONV_2D, (image(builder, node.inputs[0], found.inputs[0]), geometry.row_map()),
               found.output, params, made.blobs(_ordered(weights, False)))


def _kernel_geometry(builder: Builder, node: Node) -> KernelGeometry:
    source, result = builder.shape(node.inputs[0]), builder.shape(node.outputs[0])
    weight = builder.shape(node.inputs[1])
    groups = int(node.attributes.get("group", 1))
    given = tuple(node.attributes.get("kernel_shape", weight[2:]))
    if given != weight[2:] or len(weight) != len(source):
        raise Refusal(f"its weights have shape {list(weight)}, its kernel {list(given)}")
    if groups < 1 or weight[1] * groups != source[1] or weight[0] % groups:
        raise Refusal(f"weights of shape {list(weight)} with group = {groups} do not fit input {list(source)}")
    return read_geometry(node, source, result, given)


def _ordered(weights: np.ndarray, depthwise: bool) -> np.ndarray:
    """Weights in the kernel's axis order; a view, because the writer of the plan copies them anyway."""
    if weights.ndim == 3:
        weights = weights[..., np.newaxis]
    order = (2, 3, 0, 1) if depthwise else (0, 2, 3, 1)
    moved: np.ndarray = weights.transpose(order)
    return moved[..., 0] if depthwise else moved


def _float_constants(builder: Builder, node: Node, geometry: KernelGeometry, weight: str, bias: str, depthwise: bool,
                     groups: int) -> tuple[ConvFloatParams, dict[str, np.ndarray]]:
    weights = builder.float_constant(weight)
    params = ConvFloatParams(**geometry.fields(), groups=1 if depthwise else groups, **fused.float_fields(node),
                             weights=0, bias=0)
    return params, {"weights": _ordered(weights, depthwise), "bias": float_bias(builder, bias, weights.shape[0])}


def _int8_constants(builder: Builder, node: Node, geometry: KernelGeometry, weight: str, bias: str, depthwise: bool,
                    groups: int) -> tuple[OpKind, ConvInt8Params, dict[str, np.ndarray]]:
    source, result = builder.numeric(node.inputs[0]), builder.numeric(node.outputs[0])
    weights = int8_weights(builder, weight, 0, node, result)
    count = weights.values.shape[0]
    products = np.broadcast_to(product_scales(source, weights.scales, weights.zeros is not None), (count,))
    integers = weights.centred_values()
    constants = requantisation(builder, int32_bias(builder, bias, count, products), integers, products, source, result)
    params = int8_params(node, geometry, 1 if depthwise else groups, source, result)
    if weights.zeros is None:
        kind = OpKind.DEPTHWISE_CONV_2D if depthwise else OpKind.CONV_2D
        return kind, params, constants.blobs(_ordered(weights.values, depthwise))
    if depthwise:
        return OpKind.ASYMMETRIC_DEPTHWISE_CONV_2D, params, constants.blobs(_ordered(integers.astype(np.int16), True))
    own = AsymmetricConvInt8Params(**dataclasses.asdict(params), weight_zero_points=0)
    blobs = {**constants.blobs(_ordered(weights.values, False)), "weight_zero_points": weights.zeros}
    return OpKind.ASYMMETRIC_CONV_2D, own, blobs


def int8_params(node: Node, geometry: KernelGeometry, groups: int, source: Numeric, result: Numeric) -> ConvInt8Params:
    """The parameters of an int8 convolution."""
    return ConvInt8Params(
        **geometry.fields(), groups=groups, input_zero_point=source.zero_point, output_zero_point=result.zero_point,
        **fused.int8_fields(node, result), weights=0, bias=0, multiplier=0, shift=0,
    )

"""Conv, in two dimensions or one, grouped and depthwise."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.operators import fused
from tigris_pio.compiler.lower.operators.compose import Composer
from tigris_pio.compiler.lower.operators.int16.layers import (
    constants,
    layer_bias,
    layer_types,
    memory_types,
    sums,
)
from tigris_pio.compiler.lower.operators.int16.types import Types
from tigris_pio.compiler.lower.operators.select import emit_selection
from tigris_pio.compiler.lower.operators.sums import emit_scaled_sums, float_sums, scaled_sums
from tigris_pio.compiler.lower.operators.weights import (
    float_bias,
    has_int8_weights,
    int8_weights,
    int32_bias,
    product_scales,
    requantisation,
    warn_float,
)
from tigris_pio.compiler.lower.operators.window import Window, image_dims, image_layout, read_window
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import operator
from tigris_pio.compiler.lower.selection import OUTSIDE
from tigris_pio.compiler.lower.storage import FLOAT, Cell, Numeric
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import AsymmetricConvInt8Params, ConvFloatParams, ConvInt8Params, ConvInt16Params
from tigris_pio.format.record import Record

_IMAGE_RANK = 4


@operator("Conv", "Conv1D", "DepthwiseConv", summary="1-D and 2-D, any pads, strides, dilations and groups; "
          "constant weights")
def lower_conv(builder: Builder, node: Node) -> None:
    """Weights [O, I/g, KH, KW] become [O, KH, KW, I/g], or [KH, KW, O] for depthwise."""
    name, weight, bias = (*node.inputs, "")[:3]
    if not builder.is_constant(weight):
        raise Refusal("its weights are computed at run time")
    window = _window(builder, node)
    if _emit_int16(builder, node, window):
        return
    if _emit_sums(builder, node, window):
        return
    depthwise = node.op == "DepthwiseConv"
    groups = int(node.attributes.get("group", 1))
    int8 = builder.is_int8(name, node.outputs[0]) and has_int8_weights(builder, weight)
    numeric = builder.numeric(node.outputs[0]) if int8 else FLOAT
    source = builder.arranged(name, image_layout(builder.shape(name)), builder.numeric(name) if int8 else FLOAT)
    storage = builder.with_dims(source, image_dims(builder.shape(name)))
    params: Record
    kind = OpKind.DEPTHWISE_CONV_2D if depthwise else OpKind.CONV_2D
    if int8:
        kind, params, blobs = _int8(builder, node, window, weight, bias, depthwise, groups)
    else:
        warn_float(builder, node, weight)
        params, blobs = _float(builder, node, window, weight, bias, depthwise, groups)
    shape = builder.shape(node.outputs[0])
    builder.emit(
        kind, DType.INT8 if int8 else DType.FLOAT32,
        [(storage, window.row_map())], node.outputs[0], image_layout(shape), numeric,
        Cell(image_dims(shape), fixed=True), params, blobs=blobs,
        macs=math.prod(shape) * math.prod(builder.shape(weight)[1:]),
    )


def _emit_int16(builder: Builder, node: Node, window: Window) -> bool:
    """Between tensors of int16, or of int16 and int8."""
    name, weight, bias = (*node.inputs, "")[:3]
    found = layer_types(builder, node, name, weight)
    memory = memory_types(builder, node, name, weight)
    if memory is not None:
        _emit_memory(builder, node, window, memory)
        return True
    if found is None:
        return False
    depthwise, groups = node.op == "DepthwiseConv", int(node.attributes.get("group", 1))
    weights = int8_weights(builder, weight, 0, node, found.output, symmetric=True)
    products = np.broadcast_to(found.inputs[0].scale * weights.scales, (len(weights.values),))
    constants = sums(builder, node, weights.values, products, layer_bias(builder, bias, products), found)
    params = ConvInt16Params(**window.fields(), groups=1 if depthwise else groups, sum_bits=constants.bits,
                             weight_bytes=1, **fused.int8_fields(node, found.output), weights=0, bias=0, multiplier=0,
                             shift=0)
    emit_conv(builder, node, OpKind.DEPTHWISE_CONV_2D if depthwise else OpKind.CONV_2D, window, found, params,
              constants.blobs(_arranged(weights.values, depthwise)))
    return True


def _emit_sums(builder: Builder, node: Node, window: Window) -> bool:
    """From int8 to a float32 output: a fully connected layer of every window's taps, which are gathered as int8."""
    (name, weight, bias), output = (*node.inputs, "")[:3], node.outputs[0]
    values, shape = builder.graph.weights[weight], builder.shape(output)
    if builder.tensors[output].quantisation is not None or values.ndim != _IMAGE_RANK or node.op == "DepthwiseConv":
        return False
    if int(node.attributes.get("group", 1)) != 1 or not float_sums(builder, name, weight, 0):
        return False
    matrix = values.transpose(0, 3, 2, 1).reshape(len(values), -1)
    scales = builder.tensors[weight].quantisation.scale.reshape(-1)  # type: ignore[union-attr]  # float_sums
    made = scaled_sums(builder, builder.numeric(name), matrix, scales.astype(np.float64), bias)
    if made is None:
        return False
    taps = _gathered(builder, node, window)
    source = builder.arranged(taps, image_layout(builder.shape(taps)), builder.numeric(taps))
    storage = builder.with_dims(source, image_dims(builder.shape(taps)))
    pixels = math.prod(shape[2:])
    emit_scaled_sums(builder, node, [(storage, RowMap.same())], image_layout(shape),
                     Cell(image_dims(shape), fixed=True), (pixels, matrix.shape[1], len(matrix)), made,
                     shape[0] * pixels, True)
    return True


def _gathered(builder: Builder, node: Node, window: Window) -> str:
    """The taps of the windows: those of a column as channels, and the columns of each window beside each other."""
    name, (rows, columns) = node.inputs[0], builder.shape(node.outputs[0])[2:]
    batch, channels, height, width = builder.shape(name)
    lines = [_places(rows, window, 0)[:, tap] for tap in range(window.kernel[0])]
    parts = [_selected(builder, name, (batch, channels, rows, width), {2: _inside(line, height)}) for line in lines]
    name = parts[0]
    if len(parts) > 1:
        name = _like(builder, name, (batch, len(parts) * channels, rows, width))
        Composer(builder, node).into("Concat", parts, name, {"axis": 1})
    places = _places(columns, window, 1).reshape(-1)
    return _selected(builder, name, (batch, len(parts) * channels, rows, len(places)), {3: _inside(places, width)})


def _places(count: int, window: Window, axis: int) -> np.ndarray:
    """Which row or column each tap of each window is, [windows][taps]."""
    taps = np.arange(window.kernel[axis]) * window.dilation[axis] - window.pad_begin[axis]
    places: np.ndarray = (np.arange(count) * window.stride[axis])[:, np.newaxis] + taps
    return places


def _inside(places: np.ndarray, size: int) -> np.ndarray:
    return np.where((places >= 0) & (places < size), places, OUTSIDE)


def _selected(builder: Builder, name: str, shape: tuple[int, ...], selections: dict[int, np.ndarray]) -> str:
    """A tensor of this shape; the tensor itself where all of it is selected."""
    if all(np.array_equal(chosen, np.arange(builder.shape(name)[axis])) for axis, chosen in selections.items()):
        return name
    result = _like(builder, name, shape)
    emit_selection(builder, name, result, selections)
    return result


def _like(builder: Builder, name: str, shape: tuple[int, ...]) -> str:
    """Declares a tensor of another shape; returns its name."""
    result = builder.fresh(f"{name}/taps")
    builder.tensors[result] = dataclasses.replace(builder.tensors[name], name=result, shape=shape)
    return result


def _emit_memory(builder: Builder, node: Node, window: Window, found: Types) -> None:
    """The layer behind an SVDF's memory, with weights of int16."""
    _, weight, bias = (*node.inputs, "")[:3]
    weights = builder.graph.weights[weight]
    scale = builder.numeric(weight).scale
    products = np.full(len(weights), float(np.float32(found.inputs[0].scale) * np.float32(scale)))
    made = constants(products, layer_bias(builder, bias, products), found, 32, single=True)
    params = ConvInt16Params(**window.fields(), groups=int(node.attributes["group"]), sum_bits=32, weight_bytes=2,
                             **fused.int8_fields(node, found.output), weights=0, bias=0, multiplier=0, shift=0)
    emit_conv(builder, node, OpKind.CONV_2D, window, found, params, made.blobs(_arranged(weights, False)))


def emit_conv(builder: Builder, node: Node, kind: OpKind, window: Window, found: Types, params: ConvInt16Params,
              blobs: dict[str, np.ndarray]) -> None:
    """The kernel call of a convolution of int16."""
    name, output = node.inputs[0], node.outputs[0]
    source = builder.arranged(name, image_layout(builder.shape(name)), found.inputs[0])
    storage = builder.with_dims(source, image_dims(builder.shape(name)))
    shape = builder.shape(output)
    builder.emit(kind, DType.INT16, [(storage, window.row_map())], output, image_layout(shape), found.output,
                 Cell(image_dims(shape), fixed=True), params, blobs=blobs,
                 macs=math.prod(shape) * math.prod(builder.shape(node.inputs[1])[1:]))


def _window(builder: Builder, node: Node) -> Window:
    source, result = builder.shape(node.inputs[0]), builder.shape(node.outputs[0])
    weight = builder.shape(node.inputs[1])
    groups = int(node.attributes.get("group", 1))
    given = tuple(node.attributes.get("kernel_shape", weight[2:]))
    if given != weight[2:] or len(weight) != len(source):
        raise Refusal(f"its weights have shape {list(weight)}, its kernel {list(given)}")
    if groups < 1 or weight[1] * groups != source[1] or weight[0] % groups:
        raise Refusal(f"weights of shape {list(weight)} with group = {groups} do not fit input {list(source)}")
    return read_window(node, source, result, given)


def _arranged(weights: np.ndarray, depthwise: bool) -> np.ndarray:
    """A view; it is put in order when the plan is written."""
    if weights.ndim == 3:
        weights = weights[..., np.newaxis]
    order = (2, 3, 0, 1) if depthwise else (0, 2, 3, 1)
    moved: np.ndarray = weights.transpose(order)
    return moved[..., 0] if depthwise else moved


def _float(builder: Builder, node: Node, window: Window, weight: str, bias: str, depthwise: bool,
           groups: int) -> tuple[ConvFloatParams, dict[str, np.ndarray]]:
    weights = builder.real(weight)
    params = ConvFloatParams(**window.fields(), groups=1 if depthwise else groups, **fused.float_fields(node),
                             weights=0, bias=0)
    return params, {"weights": _arranged(weights, depthwise), "bias": float_bias(builder, bias, weights.shape[0])}


def _int8(builder: Builder, node: Node, window: Window, weight: str, bias: str, depthwise: bool,
          groups: int) -> tuple[OpKind, ConvInt8Params, dict[str, np.ndarray]]:
    source, result = builder.numeric(node.inputs[0]), builder.numeric(node.outputs[0])
    weights = int8_weights(builder, weight, 0, node, result)
    count = weights.values.shape[0]
    products = np.broadcast_to(product_scales(source, weights.scales, weights.zeros is not None), (count,))
    integers = weights.less_zeros()
    constants = requantisation(builder, int32_bias(builder, bias, count, products), integers, products, source, result)
    params = int8_params(node, window, 1 if depthwise else groups, source, result)
    if weights.zeros is None:
        kind = OpKind.DEPTHWISE_CONV_2D if depthwise else OpKind.CONV_2D
        return kind, params, constants.blobs(_arranged(weights.values, depthwise))
    if depthwise:
        return OpKind.ASYMMETRIC_DEPTHWISE_CONV_2D, params, constants.blobs(_arranged(integers.astype(np.int16), True))
    own = AsymmetricConvInt8Params(**dataclasses.asdict(params), weight_zero_points=0)
    blobs = {**constants.blobs(_arranged(weights.values, False)), "weight_zero_points": weights.zeros}
    return OpKind.ASYMMETRIC_CONV_2D, own, blobs


def int8_params(node: Node, window: Window, groups: int, source: Numeric, result: Numeric) -> ConvInt8Params:
    """The record of an int8 convolution."""
    return ConvInt8Params(
        **window.fields(), groups=groups, input_zero_point=source.zero_point, output_zero_point=result.zero_point,
        **fused.int8_fields(node, result), weights=0, bias=0, multiplier=0, shift=0,
    )

"""ConvTranspose, in two dimensions or one."""

from __future__ import annotations

import dataclasses

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.operators import fused
from tigris_pio.compiler.lower.operators.calls import emit_image, image
from tigris_pio.compiler.lower.operators.int16.types import layer_constants, layer_types
from tigris_pio.compiler.lower.operators.kernel_geometry import Pair, pair
from tigris_pio.compiler.lower.operators.weights import (
    float_bias,
    has_int8_weights,
    int8_weights,
    int32_bias,
    requantisation,
    warn_float,
)
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import operator
from tigris_pio.compiler.lower.storage import FLOAT, Numeric
from tigris_pio.format.enums import OpKind
from tigris_pio.format.packing import phase_weights
from tigris_pio.format.params import TransposeConvFloatParams, TransposeConvInt8Params, TransposeConvInt16Params
from tigris_pio.format.record import Record


@dataclasses.dataclass(frozen=True)
class TransposeGeometry:
    """The geometry of a ConvTranspose, each field as (rows, columns). pad: what is cut off above and on the left"""

    kernel: Pair
    stride: Pair
    dilation: Pair
    pad: Pair
    groups: int

    def row_map(self) -> RowMap:
        """Output row r reads input rows ceil((r + pad - (kernel - 1) * dilation) / stride) … (r + pad) / stride."""
        first = self.pad[0] - (self.kernel[0] - 1) * self.dilation[0] + self.stride[0] - 1
        return RowMap(1, self.stride[0], min(first, self.pad[0]), self.pad[0])

    def fields(self) -> dict[str, int]:
        """The geometry's fields of a parameter record."""
        return {
            "kernel_height": self.kernel[0], "kernel_width": self.kernel[1],
            "stride_height": self.stride[0], "stride_width": self.stride[1],
            "dilation_height": self.dilation[0], "dilation_width": self.dilation[1],
            "pad_top": self.pad[0], "pad_left": self.pad[1], "groups": self.groups,
        }


@operator("ConvTranspose", summary="1-D and 2-D, any pads, strides, dilations, groups, output_padding and "
          "output_shape; constant weights")
def lower_conv_transpose(builder: Builder, node: Node) -> None:
    """TRANSPOSE_CONV. Weights [C, M/g, KH, KW] become [M, KH, KW, C/g]."""
    name, weight, bias = (*node.inputs, "")[:3]
    output = node.outputs[0]
    if not builder.is_constant(weight):
        raise Refusal("its weights are computed at run time")
    geometry = _geometry(builder, node)
    if _emit_int16(builder, node, geometry):
        return
    int8 = builder.is_int8(name, output) and has_int8_weights(builder, weight)
    storage = image(builder, name, builder.numeric(name) if int8 else FLOAT)
    if not int8:
        warn_float(builder, node, weight)
    params, blobs = (_int8 if int8 else _float)(builder, node, geometry, weight, bias)
    emit_image(builder, node, OpKind.TRANSPOSE_CONV, (storage, geometry.row_map()),
               builder.numeric(output) if int8 else FLOAT, params, blobs)


def _geometry(builder: Builder, node: Node) -> TransposeGeometry:
    source, result = builder.shape(node.inputs[0]), builder.shape(node.outputs[0])
    weight = builder.shape(node.inputs[1])
    rank = len(source) - 2
    if rank not in (1, 2):
        raise Refusal(f"{rank} spatial dimensions; one or two are supported")
    groups = int(node.attributes.get("group", 1))
    kernel = tuple(node.attributes.get("kernel_shape", weight[2:]))
    if kernel != weight[2:] or len(weight) != len(source):
        raise Refusal(f"its weights have shape {list(weight)}, its kernel {list(kernel)}")
    if groups < 1 or weight[0] != source[1] or source[1] % groups or weight[1] * groups != result[1]:
        raise Refusal(f"weights of shape {list(weight)} with group = {groups} do not fit input {list(source)}")
    strides = tuple(node.attributes.get("strides", (1,) * rank))
    dilations = tuple(node.attributes.get("dilations", (1,) * rank))
    if len(strides) != rank or len(dilations) != rank or min(*kernel, *strides, *dilations) < 1:
        raise Refusal(f"strides {list(strides)} or dilations {list(dilations)} contradict input {list(source)}")
    pad = _pad_begin(node, source[2:], result[2:], kernel, strides, dilations)
    if min(pad) < 0:
        raise Refusal(f"negative pads {list(pad)}")
    return TransposeGeometry(pair(kernel, 1), pair(strides, 1), pair(dilations, 1), pair(pad, 0), groups)


def _pad_begin(node: Node, source: tuple[int, ...], result: tuple[int, ...], kernel: tuple[int, ...],
               strides: tuple[int, ...], dilations: tuple[int, ...]) -> tuple[int, ...]:
    """The rows and columns that are cut off at the begin: given, or half of the surplus over the output's size."""
    rank = len(source)
    mode = node.attributes.get("auto_pad", "NOTSET")
    if mode == "NOTSET" and "output_shape" not in node.attributes:
        return tuple(node.attributes.get("pads", (0,) * 2 * rank))[:rank]
    if mode == "VALID":
        return (0,) * rank
    if mode not in ("NOTSET", "SAME_UPPER", "SAME_LOWER"):
        raise Refusal(f"auto_pad {mode}")
    extra = tuple(node.attributes.get("output_padding", (0,) * rank))
    axes = zip(source, result, kernel, strides, dilations, extra, strict=True)
    totals = [max(0, stride * (old - 1) + more + (size - 1) * dilation + 1 - new)
              for old, new, size, stride, dilation, more in axes]
    return tuple(total // 2 if mode == "SAME_UPPER" else total - total // 2 for total in totals)


def _ordered(weights: np.ndarray, groups: int) -> np.ndarray:
    if weights.ndim == 3:
        weights = weights[..., np.newaxis]
    inputs, each, height, width = weights.shape
    split = weights.reshape(groups, inputs // groups, each, height, width)
    return np.ascontiguousarray(split.transpose(0, 2, 3, 4, 1)).reshape(groups * each, height, width, inputs // groups)


def _float(builder: Builder, node: Node, geometry: TransposeGeometry, weight: str,
           bias: str) -> tuple[Record, dict[str, np.ndarray]]:
    weights = _ordered(builder.float_constant(weight), geometry.groups)
    params = TransposeConvFloatParams(**geometry.fields(), **fused.float_fields(node), weights=0, bias=0)
    return params, {"weights": weights, "bias": float_bias(builder, bias, weights.shape[0])}


def _weights(builder: Builder, node: Node, geometry: TransposeGeometry, source: Numeric,
             result: Numeric) -> tuple[np.ndarray, np.ndarray]:
    """int8 weights in the kernel's order, and the units of sums for each output."""
    given = int8_weights(builder, node.inputs[1], 1, node, result, symmetric=True)
    scales = np.tile(given.scales, geometry.groups) if given.scales.size > 1 else given.scales
    weights = _ordered(given.values, geometry.groups)
    return weights, np.broadcast_to(source.scale * scales, (len(weights),))


def _int8(builder: Builder, node: Node, geometry: TransposeGeometry, weight: str,
          bias: str) -> tuple[Record, dict[str, np.ndarray]]:
    source, result = builder.numeric(node.inputs[0]), builder.numeric(node.outputs[0])
    weights, products = _weights(builder, node, geometry, source, result)
    stored = int32_bias(builder, bias, len(products), products)
    phases = phase_weights(weights, geometry.stride, geometry.dilation)
    constants = requantisation(builder, stored, weights, products, source, result, phases)
    params = TransposeConvInt8Params(
        **geometry.fields(), input_zero_point=source.zero_point, output_zero_point=result.zero_point,
        **fused.int8_fields(node, result), weights=0, bias=0, multiplier=0, shift=0,
    )
    return params, constants.blobs(weights)


def _emit_int16(builder: Builder, node: Node, geometry: TransposeGeometry) -> bool:
    """Emits the node between int16 tensors, or int16 and int8 ones; False if there is no int16."""
    name, weight, bias = (*node.inputs, "")[:3]
    found = layer_types(builder, node, name, weight)
    if found is None:
        return False
    weights, products = _weights(builder, node, geometry, found.inputs[0], found.output)
    constants = layer_constants(builder, node, weights, products, bias, found)
    params = TransposeConvInt16Params(
        **geometry.fields(), sum_bits=constants.bits, **fused.int8_fields(node, found.output), weights=0, bias=0,
        multiplier=0, shift=0,
    )
    emit_image(builder, node, OpKind.TRANSPOSE_CONV, (image(builder, name, found.inputs[0]), geometry.row_map()),
               found.output, params, constants.blobs(weights))
    return True

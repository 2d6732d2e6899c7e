"""A depthwise 1x1 convolution for y = factor[c] * x + offset[c], as of a BatchNormalization outside of a Conv.

In int8 the factor of each channel is a weight of +-127 with its own scale, so the factor is not rounded.
"""

from __future__ import annotations

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import channels_last, default_dims
from tigris_pio.compiler.lower.operators import fused
from tigris_pio.compiler.lower.operators.composed import lower_training_batch_normalization
from tigris_pio.compiler.lower.operators.conv import int8_params
from tigris_pio.compiler.lower.operators.kernel_geometry import KernelGeometry
from tigris_pio.compiler.lower.operators.weights import requantisation
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import operator
from tigris_pio.compiler.lower.storage import FLOAT, Cell
from tigris_pio.compiler.normalise.batchnorm_fold import factor_and_offset
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import ConvFloatParams
from tigris_pio.format.record import Record

_POINT = KernelGeometry((1, 1), (1, 1), (1, 1), (0, 0), (0, 0))
#: The largest bias, so that it fits 32 bits with the input's zero point folded in.
_BIAS_LIMIT = 2.0**28


def emit_per_channel(builder: Builder, node: Node, name: str, factor: np.ndarray, offset: np.ndarray) -> None:
    """Emits the node's output from the tensor `name` [N, C, …]; factor and offset are float64 [C]."""
    output = node.outputs[0]
    int8 = builder.is_int8(name, output)
    numeric = builder.numeric(output) if int8 else FLOAT
    layout = channels_last(builder.shape(name))
    value = builder.value_in_order(name, layout, builder.numeric(name) if int8 else FLOAT)
    dims = default_dims(layout.stored_shape)
    storage = builder.with_dims(value, dims)
    params: Record
    if int8:
        source = builder.numeric(name)
        scales = np.maximum(np.abs(factor) / 127, np.abs(offset) / (source.scale * _BIAS_LIMIT))
        scales = np.where(scales > 0, scales, 1.0)
        weights = np.rint(factor / scales).astype(np.int8)
        products = source.scale * scales
        bias = np.rint(offset / products).astype(np.int64)
        constants = requantisation(builder, bias, weights, products, source, numeric)
        params, blobs = int8_params(node, _POINT, 1, source, numeric), constants.blobs(weights.reshape(1, 1, -1))
    else:
        params = ConvFloatParams(**_POINT.fields(), groups=1, **fused.float_fields(node), weights=0, bias=0)
        blobs = {"weights": factor.astype(np.float32).reshape(1, 1, -1), "bias": offset.astype(np.float32)}
    builder.emit(OpKind.DEPTHWISE_CONV_2D, DType.INT8 if int8 else DType.FLOAT32, [(storage, RowMap.same())], output,
                 layout, numeric, Cell(dims, fixed=True), params, blobs=blobs)


@operator("BatchNormalization", summary="in inference, constant statistics; folded into a Conv before it")
def lower_batch_normalization(builder: Builder, node: Node) -> None:
    """A factor and an offset for each channel."""
    if node.attributes.get("training_mode", 0):
        lower_training_batch_normalization(builder, node)
        return
    if any(name and builder.is_read(name) for name in node.outputs[1:]):
        raise Refusal("its statistics are read, but it returns them only in training mode")
    if any(not builder.is_constant(name) for name in node.inputs[1:5]):
        raise Refusal("its statistics are computed at run time")
    terms = factor_and_offset(node, [builder.float_constant(name) for name in node.inputs[1:5]])
    if terms is None:
        raise Refusal("a variance is below zero")
    emit_per_channel(builder, node, node.inputs[0], *terms)

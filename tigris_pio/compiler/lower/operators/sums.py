"""int8 layers with an unquantised result: 32-bit sums times a scale, as float32."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower import numerics
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import Layout
from tigris_pio.compiler.lower.operators import fused
from tigris_pio.compiler.lower.operators.compose import Composer
from tigris_pio.compiler.lower.operators.weights import float_bias, has_int8_weights, int32_bias
from tigris_pio.compiler.lower.storage import FLOAT, Cell, Numeric
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import FullyConnectedInt32Params

#: The relative error of a bias scale: exporters round input scale * weight scale to float32.
_SAME_SCALE = 1e-5


@dataclasses.dataclass(frozen=True)
class ScaledSums:
    """The constants of such a layer.

    weights: int8 [outputs][inputs]
    bias: int32 [outputs], with the input's zero point folded in
    scale: float32, one for each output or for all
    offset: float32 [outputs], an unquantised bias, which an Add adds
    """

    weights: np.ndarray
    bias: np.ndarray
    scale: np.ndarray
    offset: np.ndarray | None


def has_float_sums(builder: Builder, source: str, weights: str, axis: int) -> bool:
    """Whether the input is int8, and the weights are symmetric int8 with a scale for each output or for all."""
    if not has_int8_weights(builder, weights) or builder.is_constant(source) or not builder.is_int8(source):
        return False
    quantisation = builder.tensors[weights].quantisation
    assert quantisation is not None
    return not quantisation.zero_point.any() and quantisation.axis in (None, axis)


def scaled_sums(builder: Builder, source: Numeric, matrix: np.ndarray, scales: np.ndarray, bias: str,
                factor: float = 1.0) -> ScaledSums | None:
    """The constants; None if sums could exceed 32 bits, or the bias is computed at run time.

    scales: of the weights
    factor: multiplies the bias (Gemm's beta)
    """
    products, count = source.scale * scales, len(matrix)
    integers, own, offset = matrix.astype(np.int64), np.zeros(count, np.int64), None
    if bias and not builder.is_constant(bias):
        return None
    quantisation = builder.tensors[bias].quantisation if bias else None
    if quantisation is not None and np.all(np.abs(quantisation.scale * factor / products - 1) < _SAME_SCALE):
        own = int32_bias(builder, bias, count, products, factor)
    elif bias:
        offset = float_bias(builder, bias, count, factor)
    folded = own - source.zero_point * integers.sum(axis=1)
    if (np.abs(folded) + 128 * np.abs(integers).sum(axis=1)).max() > numerics.INT32_MAX:
        return None
    return ScaledSums(matrix, folded.astype(np.int32), products.astype(np.float32), offset)


def emit_scaled_sums(builder: Builder, node: Node, sources: Sequence[tuple[str, RowMap | None]], layout: Layout,
                     cell: Cell, sizes: tuple[int, int, int], made: ScaledSums, per_image: bool) -> None:
    """Emits the kernel call. sizes: vectors of a call, inputs and outputs"""
    output, fields = node.outputs[0], fused.float_fields(node)
    if made.offset is not None:
        plain = builder.fresh(f"{output}/sums")
        builder.tensors[plain] = dataclasses.replace(builder.tensors[output], name=plain)
        output, fields = plain, {"activation_min": -math.inf, "activation_max": math.inf}
    params = FullyConnectedInt32Params(*sizes, int(made.scale.size > 1), **fields, weights=0, bias=0, scale=0)
    blobs = {"weights": made.weights, "bias": made.bias, "scale": made.scale}
    builder.emit(OpKind.FULLY_CONNECTED, DType.INT32, sources, output, layout, FLOAT, cell, params, blobs=blobs,
                 per_image=per_image)
    if made.offset is not None:
        composer = Composer(builder, node)
        behind = (1,) * (len(builder.shape(output)) - 2 if node.op.startswith("Conv") else 0)
        composer.finish("Add", [output, composer.constant(made.offset.reshape(-1, *behind))])

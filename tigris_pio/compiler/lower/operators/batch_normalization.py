"""BatchNormalization that could not be folded into a Conv."""

from __future__ import annotations

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.operators.per_channel import emit_per_channel
from tigris_pio.compiler.lower.registry import Refusal, operator


@operator("BatchNormalization", summary="in inference, constant statistics; folded into a Conv before it")
def lower_batch_normalization(builder: Builder, node: Node) -> None:
    """A factor and an offset per channel."""
    if node.attributes.get("training_mode", 0) or any(name and builder.is_read(name) for name in node.outputs[1:]):
        raise Refusal("training mode")
    if any(not builder.is_constant(name) for name in node.inputs[1:5]):
        raise Refusal("its statistics are computed at run time")
    gamma, beta, mean, variance = (builder.real(name).astype(np.float64).reshape(-1) for name in node.inputs[1:5])
    deviation = np.sqrt(variance + float(node.attributes.get("epsilon", 1e-5)))
    if not np.all(deviation > 0):
        raise Refusal("a variance is below zero")
    emit_per_channel(builder, node, node.inputs[0], gamma / deviation, beta - mean * gamma / deviation)

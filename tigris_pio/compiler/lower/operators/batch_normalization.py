"""BatchNormalization that normalisation could not fold into a Conv."""

from __future__ import annotations

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.operators.composed import lower_training_batch_normalization
from tigris_pio.compiler.lower.operators.per_channel import emit_per_channel
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import operator
from tigris_pio.compiler.normalise.batchnorm_fold import factor_and_offset


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

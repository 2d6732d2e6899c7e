"""Operators that keep the row-major sequence of elements, and therefore cost nothing."""

from __future__ import annotations

import dataclasses

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import operator


@operator("Dropout", summary="in inference: free")
def lower_dropout(builder: Builder, node: Node) -> None:
    """An alias of its input. Training mode with a ratio is random, and refused."""
    ratio, training = (*node.inputs[1:], "", "")[:2]
    is_training = training and not (builder.is_constant(training) and not builder.graph.weights[training].any())
    if is_training and not (ratio and builder.is_constant(ratio) and not builder.graph.weights[ratio].any()):
        raise Refusal("training mode; export the model for inference")
    mask = node.outputs[1] if len(node.outputs) > 1 else ""
    if mask and builder.is_read(mask):
        builder.define_constant(mask, np.ones(builder.shape(mask), np.bool_))
    lower_reshape(builder, dataclasses.replace(node, outputs=node.outputs[:1]))


@operator("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", summary="free")
def lower_reshape(builder: Builder, node: Node) -> None:
    """An alias of the input with another shape."""
    name, output = node.inputs[0], node.outputs[0]
    if any(item and builder.is_read(item) for item in node.outputs[1:]):
        raise Refusal("its second output is read")
    if builder.is_constant(name):
        builder.add_value(output, builder.value(name))
        return
    builder.add_alias(name, output, [value.layout for value in builder.values[name]])

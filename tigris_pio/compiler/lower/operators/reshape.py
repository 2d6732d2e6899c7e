"""Operators that keep the row-major sequence of elements: they cost nothing."""

from __future__ import annotations

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.registry import Refusal, operator


@operator("Dropout", summary="in inference: free")
def lower_dropout(builder: Builder, node: Node) -> None:
    """Passes its input on; training mode is random and refused."""
    training = node.inputs[2] if len(node.inputs) > 2 else ""
    if training and not (builder.is_constant(training) and not builder.graph.weights[training].any()):
        raise Refusal("training mode")
    lower_reshape(builder, node)


@operator("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", summary="free")
def lower_reshape(builder: Builder, node: Node) -> None:
    """The output is the input under another shape."""
    name, output = node.inputs[0], node.outputs[0]
    if any(item and builder.is_read(item) for item in node.outputs[1:]):
        raise Refusal("its second output is used")
    if builder.is_constant(name):
        builder.add_value(output, builder.value(name))
        return
    builder.alias(name, output, [value.layout for value in builder.values[name]])

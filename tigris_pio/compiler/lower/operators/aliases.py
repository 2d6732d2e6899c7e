"""Operators that give an alias of their input: Reshape and Transpose with their relatives.

Elements move only if a reader needs another order.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import row_major, transposed
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import operator


@operator("DepthToSpace", summary="both modes")
def lower_depth_to_space(builder: Builder, node: Node) -> None:
    """Splits C of [N, C, H, W] into blocks that spread over rows and columns."""
    batch, channels, height, width = image_shape(builder, node)
    block = block_size(node)
    if channels % (block * block):
        raise Refusal(f"input {[batch, channels, height, width]} has no channels for blocks of {block} x {block}")
    depth = channels // (block * block)
    if node.attributes.get("mode", "DCR") == "DCR":
        shape, order = (batch, block, block, depth, height, width), (0, 3, 4, 1, 5, 2)
    else:
        shape, order = (batch, depth, block, block, height, width), (0, 1, 4, 2, 5, 3)
    transposed_alias(builder, node.inputs[0], node.outputs[0], order, shape)


@operator("SpaceToDepth", summary="both modes")
def lower_space_to_depth(builder: Builder, node: Node) -> None:
    """Moves blocks of rows and columns into channels."""
    batch, channels, height, width = image_shape(builder, node)
    block = block_size(node)
    if height % block or width % block:
        raise Refusal(f"a map of {height} x {width} does not divide into blocks of {block} x {block}")
    shape = (batch, channels, height // block, block, width // block, block)
    order = (0, 3, 5, 1, 2, 4) if node.attributes.get("mode", "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)
    transposed_alias(builder, node.inputs[0], node.outputs[0], order, shape)


def image_shape(builder: Builder, node: Node) -> tuple[int, int, int, int]:
    """The shape of the first input, which must have four axes."""
    shape = builder.shape(node.inputs[0])
    if len(shape) != 4:
        raise Refusal(f"its input has shape {list(shape)} instead of four axes")
    return shape[0], shape[1], shape[2], shape[3]


def block_size(node: Node) -> int:
    """The attribute blocksize."""
    block = int(node.attributes.get("blocksize", 0))
    if block < 1:
        raise Refusal(f"blocksize {block}")
    return block


@operator("Transpose", summary="any permutation; free where the reader takes the stored order")
def lower_transpose(builder: Builder, node: Node) -> None:
    """An alias with permuted axes."""
    rank = len(builder.shape(node.inputs[0]))
    permutation = tuple(node.attributes.get("perm", tuple(reversed(range(rank)))))
    transposed_alias(builder, node.inputs[0], node.outputs[0], permutation)


def transposed_alias(builder: Builder, name: str, output: str, permutation: Sequence[int],
                     shape: Sequence[int] | None = None) -> None:
    """Makes `output` an alias of `name`, reshaped to `shape` and with permuted axes."""
    shape = builder.shape(name) if shape is None else shape
    if builder.is_constant(name):
        builder.define_constant(output, builder.float_constant(name).reshape(shape).transpose(permutation))
        return
    if all(transposed(value.layout, shape, permutation) is None for value in builder.values[name]):
        # Adds a value in row-major order, which the alias below uses.
        builder.value_in_order(name, row_major(builder.shape(name)))
    builder.add_alias(name, output, [transposed(value.layout, shape, permutation) for value in builder.values[name]])


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

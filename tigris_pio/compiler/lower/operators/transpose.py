"""Transpose and its relatives, as aliases with another element order. Elements move only if a reader needs them to."""

from __future__ import annotations

from collections.abc import Sequence

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

"""Col2Im as a transposed convolution: its weights put each column's element at its place."""

from __future__ import annotations

import math

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.operators.compose import Composer
from tigris_pio.compiler.lower.operators.select import integer_input
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import operator


@operator("Col2Im", summary="1-D and 2-D, any pads, strides and dilations; constant shapes")
def lower_col2im(builder: Builder, node: Node) -> None:
    """From [N, C * prod(block), L]. Elements of the same place are added."""
    name, output = node.inputs[0], node.outputs[0]
    image, block = integer_input(builder, node, 1, "image shape"), integer_input(builder, node, 2, "block shape")
    if image is None or block is None or image.size != block.size:
        raise Refusal("its image and block shapes do not fit together")
    rank, taps = block.size, int(block.prod())
    strides = tuple(node.attributes.get("strides", (1,) * rank))
    dilations = tuple(node.attributes.get("dilations", (1,) * rank))
    pads = tuple(node.attributes.get("pads", (0,) * 2 * rank))
    grid = tuple(
        (int(size) + pads[axis] + pads[axis + rank] - dilations[axis] * (int(width) - 1) - 1) // strides[axis] + 1
        for axis, (size, width) in enumerate(zip(image, block, strict=True))
    )
    batch, columns, length = builder.shape(name)
    if columns % taps or math.prod(grid) != length:
        raise Refusal(f"{columns} x {length} elements do not make blocks of {block.tolist()} on a grid of {list(grid)}")
    composer = Composer(builder, node)
    weights = np.tile(np.eye(taps), (columns // taps, 1)).reshape(columns, 1, *block.tolist())
    laid_out = composer.add("Reshape", [name], (batch, columns, *grid))
    attributes = {"group": columns // taps, "strides": strides, "dilations": dilations, "pads": pads}
    assert builder.shape(output)[1] == columns // taps
    composer.finish("ConvTranspose", [laid_out, composer.constant(weights)], attributes)

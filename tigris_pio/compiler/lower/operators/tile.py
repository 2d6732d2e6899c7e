"""Tile and Expand, as SELECTs that repeat elements."""

from __future__ import annotations

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.operators.select import emit_selection
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import operator


@operator("Tile", summary="any axes; constant repeats")
def lower_tile(builder: Builder, node: Node) -> None:
    """SELECT; shapes give the repeats."""
    shape, target = builder.shape(node.inputs[0]), builder.shape(node.outputs[0])
    if len(shape) != len(target) or any(new % old for old, new in zip(shape, target, strict=True)):
        raise Refusal(f"shape {list(shape)} does not tile {list(target)}")
    selections = {axis: np.arange(new) % old for axis, (old, new) in enumerate(zip(shape, target, strict=True))}
    emit_selection(builder, node.inputs[0], node.outputs[0], selections)


@operator("Expand", summary="any axes; constant shape")
def lower_expand(builder: Builder, node: Node) -> None:
    """SELECT that repeats axes of size one."""
    shape, target = builder.shape(node.inputs[0]), builder.shape(node.outputs[0])
    old = (1,) * (len(target) - len(shape)) + shape
    selections = {axis: np.zeros(new, np.int64) for axis, (size, new) in enumerate(zip(old, target, strict=True))
                  if size != new}
    if any(old[axis] != 1 for axis in selections):
        raise Refusal(f"shape {list(shape)} does not expand to {list(target)}")
    emit_selection(builder, node.inputs[0], node.outputs[0], selections, old)

"""Pad in all four modes."""

from __future__ import annotations

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.operators.select import emit_selection, integer_input, pairs
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import operator
from tigris_pio.compiler.lower.selection import OUTSIDE


@operator("Pad", summary="constant, edge, reflect and wrap; any axes; constant pads, negative ones crop")
def lower_pad(builder: Builder, node: Node) -> None:
    """SELECT, with pads from attributes (opset 1 and 2) or constant inputs (opset 11)."""
    name = node.inputs[0]
    shape = builder.shape(name)
    mode = node.attributes.get("mode", "constant")
    given = integer_input(builder, node, 1, "pads")
    if given is None:
        given = node.attributes.get("pads", node.attributes.get("paddings"))
    axes = integer_input(builder, node, 3, "axes")
    numbers = range(len(shape)) if axes is None else [int(axis) % len(shape) for axis in axes.reshape(-1)]
    if given is None or len(np.asarray(given).reshape(-1)) != 2 * len(numbers):
        raise Refusal("its pads are not a begin and an end for each of its axes")
    selections = {
        axis: padded_indices(shape[axis], begin, end, mode)
        for axis, (begin, end) in zip(numbers, pairs(np.asarray(given).reshape(-1).tolist()), strict=True)
    }
    emit_selection(builder, name, node.outputs[0], selections, fill=_fill(builder, node))


def _fill(builder: Builder, node: Node) -> float:
    if len(node.inputs) > 2 and node.inputs[2]:
        if not builder.is_constant(node.inputs[2]):
            raise Refusal(f"its fill value ({node.inputs[2]}) is computed at run time")
        return float(builder.float_constant(node.inputs[2]).reshape(-1)[0])
    return float(node.attributes.get("value", 0.0))


def padded_indices(size: int, begin: int, end: int, mode: str) -> np.ndarray:
    """The input index of each position of an axis that is padded at both ends; negative pads crop."""
    positions = np.arange(-begin, size + end)
    if mode == "constant":
        return np.where((positions >= 0) & (positions < size), positions, OUTSIDE)
    if mode == "edge":
        return np.clip(positions, 0, size - 1)
    if mode not in ("reflect", "wrap"):
        raise Refusal(f"mode {mode}")
    if min(begin, end) < 0:
        raise Refusal(f"negative pads in mode {mode}")
    if mode == "wrap":
        return positions % size
    period = max(1, 2 * (size - 1))
    folded = positions % period
    reflected: np.ndarray = np.minimum(folded, period - folded) if size > 1 else np.zeros_like(positions)
    return reflected

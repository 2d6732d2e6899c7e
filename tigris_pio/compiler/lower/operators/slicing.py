"""Operators that keep, pad or repeat a range of each axis: Slice, Split, Pad, Tile, Expand and others."""

from __future__ import annotations

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.operators.select import emit_flat_selection, emit_selection, integer_input, pairs
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import operator
from tigris_pio.compiler.lower.selection import OUTSIDE


@operator("Slice", summary="any axes, starts, ends and steps, negative too; constant")
def lower_slice(builder: Builder, node: Node) -> None:
    """SELECT of ranges from attributes (opset 1) or constant inputs (opset 10)."""
    shape = builder.shape(node.inputs[0])
    starts, ends = _ranges(builder, node, 1, "starts"), _ranges(builder, node, 2, "ends")
    if starts is None or ends is None or len(starts) != len(ends):
        raise Refusal("its starts and ends do not fit together")
    given = _ranges(builder, node, 3, "axes")
    axes = range(len(starts)) if given is None else [int(axis) % len(shape) for axis in given]
    steps = _ranges(builder, node, 4, "steps")
    counts = [1] * len(starts) if steps is None else steps
    if len(axes) != len(starts) or len(counts) != len(starts) or 0 in counts:
        raise Refusal(f"axes {list(axes)} and steps {list(counts)} contradict starts {list(starts)}")
    selections = {
        axis: np.arange(shape[axis])[start:end:step]
        for axis, start, end, step in zip(axes, starts, ends, counts, strict=True)
    }
    emit_selection(builder, node.inputs[0], node.outputs[0], selections)


def _ranges(builder: Builder, node: Node, index: int, what: str) -> list[int] | None:
    values = integer_input(builder, node, index, what)
    if values is None:
        values = node.attributes.get(what)
    return None if values is None else [int(value) for value in np.asarray(values).reshape(-1)]


@operator("Split", summary="any axis, equal or given parts")
def lower_split(builder: Builder, node: Node) -> None:
    """A SELECT for each output that is read; shapes give the sizes."""
    shape = builder.shape(node.inputs[0])
    axis = int(node.attributes.get("axis", 0)) % len(shape)
    start = 0
    for output in filter(None, node.outputs):
        if len(builder.shape(output)) != len(shape):
            raise Refusal(f"its output {output} has shape {list(builder.shape(output))}, its input {list(shape)}")
    for output in node.outputs:
        extent = builder.shape(output)[axis] if output else 0
        if output and builder.is_read(output):
            emit_selection(builder, node.inputs[0], output, {axis: np.arange(start, start + extent)})
        start += extent


@operator("CenterCropPad", summary="constant shape, any axes")
def lower_center_crop_pad(builder: Builder, node: Node) -> None:
    """Crops both ends, or pads them with zeros; an odd element belongs to the end."""
    shape, target = builder.shape(node.inputs[0]), builder.shape(node.outputs[0])
    if len(shape) != len(target):
        raise Refusal(f"its output has shape {list(target)}, its input {list(shape)}")
    selections = {}
    for axis, (old, new) in enumerate(zip(shape, target, strict=True)):
        begin = (old - new) // 2 if old >= new else -((new - old) // 2)
        indices = np.arange(begin, begin + new)
        selections[axis] = np.where((indices >= 0) & (indices < old), indices, OUTSIDE)
    emit_selection(builder, node.inputs[0], node.outputs[0], selections)


@operator("Compress", summary="constant condition")
def lower_compress(builder: Builder, node: Node) -> None:
    """The elements, or slices along `axis`, for which the condition holds."""
    condition = integer_input(builder, node, 1, "condition")
    if condition is None:
        raise Refusal("it has no condition")
    kept = np.flatnonzero(condition)
    name, output = node.inputs[0], node.outputs[0]
    if "axis" in node.attributes:
        shape = builder.shape(name)
        emit_selection(builder, name, output, {int(node.attributes["axis"]) % len(shape): kept})
    else:
        emit_flat_selection(builder, name, output, kept)


@operator("Trilu", summary="constant k")
def lower_trilu(builder: Builder, node: Node) -> None:
    """Zeros below (or above) a diagonal of the last two axes."""
    *lead, height, width = builder.shape(node.inputs[0])
    given = integer_input(builder, node, 1, "diagonal")
    diagonal = 0 if given is None else int(given.reshape(-1)[0])
    distance = np.arange(width) - np.arange(height)[:, np.newaxis] - diagonal
    kept = distance >= 0 if node.attributes.get("upper", 1) else distance <= 0
    indices = np.where(kept, np.arange(height * width).reshape(height, width), OUTSIDE).reshape(-1)
    shape = (int(np.prod(lead)), 1, height * width)
    emit_selection(builder, node.inputs[0], node.outputs[0], {2: indices}, shape)


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

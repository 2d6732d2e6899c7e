"""Gather, scatter and reversal: with constant indices static copies, GATHER and SCATTER with others."""

from __future__ import annotations

import math

import numpy as np

from tigris_pio.compiler.ir.graph import Node, Tensor
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import fold, plain
from tigris_pio.compiler.lower.operators.compose import Composer
from tigris_pio.compiler.lower.operators.select import (
    check_inside,
    declare,
    emit_flat_selection,
    emit_selection,
    integers,
    row_major_indices,
)
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import operator
from tigris_pio.compiler.lower.selection import OUTSIDE
from tigris_pio.compiler.lower.storage import FLOAT, Cell, Value
from tigris_pio.format.enums import OpKind
from tigris_pio.format.params import ConcatParams, GatherParams, ScatterParams

_COLUMNS = 1
#: Positions that float32 tells apart.
_MOST_POSITIONS = 1 << 24


def _indices(builder: Builder, node: Node, index: int = 1) -> np.ndarray:
    found = integers(builder, node, index, "indices")
    if found is None:
        raise Refusal("it has no indices")
    return found.astype(np.int64)


@operator("Gather", summary="any indices, any axis")
def lower_gather(builder: Builder, node: Node) -> None:
    """Slices along one axis, in the order of the indices."""
    shape = builder.shape(node.inputs[0])
    axis = int(node.attributes.get("axis", 0)) % len(shape)
    if not builder.is_constant(node.inputs[1]):
        count = math.prod(builder.shape(node.inputs[1]))
        extents = (math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :]), count)
        emit_gather(builder, node.inputs[0], node.inputs[1], node.outputs[0], extents, (0, 1, 0))
        return
    indices = check_inside(_indices(builder, node), shape[axis], axis)
    emit_selection(builder, node.inputs[0], node.outputs[0], {axis: indices.reshape(-1)})


@operator("GatherElements", summary="any indices, any axis")
def lower_gather_elements(builder: Builder, node: Node) -> None:
    """Single elements."""
    shape = builder.shape(node.inputs[0])
    axis = int(node.attributes.get("axis", 0)) % len(shape)
    if not builder.is_constant(node.inputs[1]):
        name, taken = node.inputs[0], builder.shape(node.inputs[1])
        kept = {other: np.arange(size) for other, size in enumerate(taken) if other != axis and size != shape[other]}
        if kept:
            name = declare(builder, f"{name}/kept", (*taken[:axis], shape[axis], *taken[axis + 1 :]), name)
            emit_selection(builder, node.inputs[0], name, kept)
        inner, count = math.prod(taken[axis + 1 :]), taken[axis]
        emit_gather(builder, name, node.inputs[1], node.outputs[0],
                    (math.prod(taken[:axis]), shape[axis], inner, count), (count * inner, inner, 1))
        return
    flat = _element_places(shape, check_inside(_indices(builder, node), shape[axis], axis), axis)
    emit_flat_selection(builder, node.inputs[0], node.outputs[0], flat)


def _element_places(shape: tuple[int, ...], indices: np.ndarray, axis: int) -> np.ndarray:
    """Row-major places of the elements that GatherElements and ScatterElements mean."""
    grid = np.indices(indices.shape)
    grid[axis] = indices
    places: np.ndarray = np.zeros(indices.shape, np.int64)
    for size, index in zip(shape, grid, strict=True):
        places = places * size + index
    return places


def emit_gather(builder: Builder, name: str, indices: str, output: str, extents: tuple[int, int, int, int],
                steps: tuple[int, int, int]) -> None:
    """GATHER of `name` at run-time indices; `extents` are GatherParams' outer, length, inner and count."""
    numeric = builder.numeric(name)
    if not builder.is_quantised(name) or builder.numeric(output) != numeric:
        numeric = FLOAT
    if extents[1] > _MOST_POSITIONS:
        raise Refusal(f"its axis has {extents[1]} elements; at most {_MOST_POSITIONS} can be told apart at run time")
    source = builder.arranged(name, plain(builder.shape(name)), numeric)
    taken = builder.arranged(indices, plain(builder.shape(indices)), FLOAT)
    shape = builder.shape(output)
    builder.emit(OpKind.GATHER, numeric.dtype, [(source.storage, None), (taken.storage, None)], output, plain(shape),
                 numeric, Cell(fold(shape)), GatherParams(*extents, steps), per_image=False)


def _slice_positions(builder: Builder, node: Node, batch: int) -> tuple[str, tuple[int, int, int, int]]:
    """One position for each slice that run-time indices mean: the indices times the slices they count; and the outer,
    length, inner and count of GatherParams."""
    shape, index_shape = builder.shape(node.inputs[0]), builder.shape(node.inputs[1])
    depth = index_shape[-1]
    sizes = np.array(shape[batch : batch + depth], np.float32)
    length, inner = math.prod(shape[batch : batch + depth]), math.prod(shape[batch + depth :])
    composer, index = Composer(builder, node), node.inputs[1]
    if depth > 1:
        below = composer.part("Less", [index, composer.constant(0.0)], index_shape)
        wrapped = composer.part("Mul", [below, composer.constant(sizes)], index_shape)
        counted = composer.part("Add", [index, wrapped], index_shape)
        strides = composer.constant([math.prod(shape[batch + axis + 1 : batch + depth]) for axis in range(depth)])
        slices = composer.part("Mul", [counted, strides], index_shape)
        index = composer.part("ReduceSum", [slices], index_shape[:-1], {"axes": (len(index_shape) - 1,), "keepdims": 0})
    count = math.prod(index_shape[batch:-1])
    return index, (math.prod(shape[:batch]), length, inner, count)


@operator("GatherND", summary="any indices, any batch_dims")
def lower_gather_nd(builder: Builder, node: Node) -> None:
    """Slices over the last axes."""
    shape = builder.shape(node.inputs[0])
    batch = int(node.attributes.get("batch_dims", 0))
    if not builder.is_constant(node.inputs[1]):
        index, extents = _slice_positions(builder, node, batch)
        emit_gather(builder, node.inputs[0], index, node.outputs[0], extents, (extents[3], 1, 0))
        return
    places, inner = _slice_places(shape, _indices(builder, node), batch)
    emit_flat_selection(builder, node.inputs[0], node.outputs[0], places, inner)


def _slice_places(shape: tuple[int, ...], indices: np.ndarray, batch: int) -> tuple[np.ndarray, int]:
    """Row-major places, counted in slices, of the slices that GatherND and ScatterND mean; and a slice's elements."""
    depth = batch + indices.shape[-1]
    if depth > len(shape):
        raise Refusal(f"indices of shape {list(indices.shape)} for shape {list(shape)}")
    places = np.zeros(indices.shape[:-1], np.int64)
    for axis in range(batch):
        places = places * shape[axis] + np.indices(places.shape)[axis]
    for axis in range(batch, depth):
        places = places * shape[axis] + check_inside(indices[..., axis - batch], shape[axis], axis)
    return places, math.prod(shape[depth:])


@operator("ScatterElements", "Scatter", summary="any indices, any reduction")
def lower_scatter_elements(builder: Builder, node: Node) -> None:
    """The input with single elements replaced."""
    shape = builder.shape(node.inputs[0])
    axis = int(node.attributes.get("axis", 0)) % len(shape)
    if not builder.is_constant(node.inputs[1]):
        taken = builder.shape(node.inputs[1])
        if any(size != shape[other] for other, size in enumerate(taken) if other != axis):
            raise Refusal(f"indices of shape {list(taken)}, computed at run time, for one of {list(shape)}; but for "
                          f"axis {axis} they should be the same")
        inner, count = math.prod(taken[axis + 1 :]), taken[axis]
        _emit_scatter_at_run_time(builder, node, node.inputs[1], (math.prod(taken[:axis]), shape[axis], inner, count),
                                  (count * inner, inner, 1))
        return
    _emit_scatter(builder, node, _element_places(shape, check_inside(_indices(builder, node), shape[axis], axis), axis),
                  1)


def _emit_scatter_at_run_time(builder: Builder, node: Node, indices: str, extents: tuple[int, int, int, int],
                              steps: tuple[int, int, int]) -> None:
    """SCATTER; `extents` as for GATHER."""
    name, updates, output = node.inputs[0], node.inputs[2], node.outputs[0]
    combine = _COMBINED.get(node.attributes.get("reduction", "none"))
    if combine is None:
        raise Refusal(f"reduction {node.attributes['reduction']}")
    if extents[1] > _MOST_POSITIONS:
        raise Refusal(f"its axis has {extents[1]} elements; at most {_MOST_POSITIONS} can be told apart at run time")
    numeric = builder.numeric(output) if builder.is_quantised(name, updates, output) and not combine else FLOAT
    sources = [builder.arranged(item, plain(builder.shape(item)), wanted).storage
               for item, wanted in ((name, numeric), (indices, FLOAT), (updates, numeric))]
    shape = builder.shape(output)
    builder.emit(OpKind.SCATTER, numeric.dtype, [(source, None) for source in sources], output, plain(shape), numeric,
                 Cell((1, 1, 1, math.prod(shape)), fixed=True), ScatterParams(*extents, steps, combine),
                 per_image=False)


@operator("ScatterND", summary="any indices, any reduction")
def lower_scatter_nd(builder: Builder, node: Node) -> None:
    """The input with slices replaced."""
    if not builder.is_constant(node.inputs[1]):
        index, (_, length, inner, count) = _slice_positions(builder, node, 0)
        _emit_scatter_at_run_time(builder, node, index, (1, length, inner, count), (0, 1, 0))
        return
    _emit_scatter(builder, node, *_slice_places(builder.shape(node.inputs[0]), _indices(builder, node), 0))


#: What each reduction does with the old element and the update, and what leaves the old one as it is.
_REDUCTIONS = {"add": ("Add", 0.0), "mul": ("Mul", 1.0), "max": ("Max", -math.inf), "min": ("Min", math.inf)}


#: ScatterParams' number of each.
_COMBINED = {"none": 0, "add": 1, "mul": 2, "max": 3, "min": 4}


def _emit_scatter(builder: Builder, node: Node, places: np.ndarray, inner: int) -> None:
    reduction = node.attributes.get("reduction", "none")
    if reduction == "none":
        _emit_replacement(builder, node, places, inner)
    elif reduction in _REDUCTIONS:
        _emit_reduction(builder, node, places.reshape(-1), inner)
    else:
        raise Refusal(f"reduction {reduction}")


def _emit_reduction(builder: Builder, node: Node, places: np.ndarray, inner: int) -> None:
    """The updates spread over the input's shape, then combined with it; again for those that meet on one place."""
    op, neutral = _REDUCTIONS[node.attributes["reduction"]]
    composer = Composer(builder, node)
    name, updates = node.inputs[0], node.inputs[2]
    shape = builder.shape(name)
    order = np.argsort(places, kind="stable")
    first = np.concatenate([[True], np.diff(places[order]) != 0])
    turn = np.empty(len(places), np.int64)  # how many updates of the same place come before
    turn[order] = np.arange(len(places)) - np.maximum.accumulate(np.where(first, np.arange(len(places)), 0))
    rounds = int(turn.max()) + 1
    for number in range(rounds):
        table = np.full(math.prod(shape) // inner, OUTSIDE)
        table[places[turn == number]] = np.flatnonzero(turn == number)
        spread = builder.fresh(f"{node.outputs[0]}/spread")
        builder.tensors[spread] = Tensor(spread, shape, np.dtype(np.float32))
        emit_flat_selection(builder, updates, spread, table, inner, neutral)
        if number + 1 < rounds:
            name = composer.part(op, [name, spread], shape)
        else:
            composer.last(op, [name, spread])


def _emit_replacement(builder: Builder, node: Node, places: np.ndarray, inner: int) -> None:
    """Input and updates side by side, then for each slice the one that counts last."""
    _emit_update(builder, node.inputs[0], node.inputs[2], node.outputs[0], places, inner)


def _emit_update(builder: Builder, name: str, updates: str, output: str, places: np.ndarray, inner: int) -> None:
    numeric = builder.numeric(output)  # updates need not fit the input's range
    counts = [math.prod(builder.shape(item)) for item in (name, updates)]
    sources = []
    for item, count in zip((name, updates), counts, strict=True):
        value = builder.arranged(item, plain(builder.shape(item)), numeric)
        sources.append((builder.with_dims(value, (1, 1, count, 1)), None))
    total = sum(counts)
    both = builder.emit_part(f"{output}/both", OpKind.CONCAT, numeric.dtype, sources,
                             Cell((1, 1, total, 1), fixed=True), numeric, ConcatParams(_COLUMNS))
    joined = declare(builder, f"{output}/joined", (total,), output)
    builder.add_value(joined, Value(both, plain((total,))))
    table = np.arange(counts[0] // inner)
    table[places.reshape(-1)] = counts[0] // inner + np.arange(places.size)
    emit_flat_selection(builder, joined, output, table, inner)


@operator("TensorScatter", summary="constant write_indices")
def lower_tensor_scatter(builder: Builder, node: Node) -> None:
    """Updates written to each sequence from its own place on, or round its end."""
    shape, updates = builder.shape(node.inputs[0]), builder.shape(node.inputs[1])
    axis = int(node.attributes.get("axis", -2)) % len(shape)
    found = integers(builder, node, 2, "write_indices")
    starts = np.zeros(shape[0], np.int64) if found is None else found.astype(np.int64)
    at = starts[:, np.newaxis] + np.arange(updates[axis])
    if node.attributes.get("mode", "linear") == "circular":
        at %= shape[axis]
    check_inside(at, shape[axis], axis)
    middle = math.prod(shape[1:axis])
    places = (np.arange(shape[0])[:, np.newaxis, np.newaxis] * middle + np.arange(middle)[:, np.newaxis]) * shape[axis]
    _emit_update(builder, node.inputs[0], node.inputs[1], node.outputs[0], places + at[:, np.newaxis, :],
                 math.prod(shape[axis + 1 :]))


@operator("MaxUnpool", summary="constant indices")
def lower_max_unpool(builder: Builder, node: Node) -> None:
    """Each value at its place, zeros elsewhere."""
    source, target = builder.shape(node.inputs[0]), builder.shape(node.outputs[0])
    places = _indices(builder, node).reshape(-1)
    if len(node.inputs) > 2:  # they count places of the output without its padding at the end
        axes = [2 + axis for axis in range(len(source) - 2)]
        strides = node.attributes.get("strides", (1,) * len(axes))
        kernel = node.attributes["kernel_shape"]
        tight = [*source[:2], *((source[axis] - 1) * strides[axis - 2] + kernel[axis - 2] for axis in axes)]
        places = np.ravel_multi_index(np.unravel_index(places, tight), target)
    table = np.full(math.prod(target), OUTSIDE)
    table[check_inside(places, len(table), 0)] = np.arange(len(places))
    emit_flat_selection(builder, node.inputs[0], node.outputs[0], table)


@operator("ReverseSequence", summary="constant lengths")
def lower_reverse_sequence(builder: Builder, node: Node) -> None:
    """The first elements of each sequence in reverse order."""
    shape = builder.shape(node.inputs[0])
    lengths = _indices(builder, node)
    time = int(node.attributes.get("time_axis", 0))
    sequences = int(node.attributes.get("batch_axis", 1))
    if {time, sequences} != {0, 1} or lengths.shape != (shape[sequences],):
        raise Refusal(f"time axis {time} and batch axis {sequences} with lengths of shape {list(lengths.shape)}")
    steps = np.arange(shape[time])[:, np.newaxis]
    turned = np.where(steps < lengths, lengths - 1 - steps, steps)  # [time, sequence]
    places = row_major_indices(shape[:2]).transpose(time, sequences)
    taken = np.take_along_axis(places, turned, 0).transpose(np.argsort((time, sequences)))
    emit_flat_selection(builder, node.inputs[0], node.outputs[0], taken, math.prod(shape[2:]))

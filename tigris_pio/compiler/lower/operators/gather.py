"""Gather, scatter and reversal with constant indices: static copies."""

from __future__ import annotations

import math

import numpy as np

from tigris_pio.compiler.ir.graph import Node, Tensor
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.layout import plain
from tigris_pio.compiler.lower.operators.compose import Composer
from tigris_pio.compiler.lower.operators.select import (
    check_inside,
    declare,
    emit_flat_selection,
    emit_selection,
    integers,
    row_major_indices,
)
from tigris_pio.compiler.lower.registry import Refusal, operator
from tigris_pio.compiler.lower.selection import OUTSIDE
from tigris_pio.compiler.lower.storage import Cell, Value
from tigris_pio.format.enums import OpKind
from tigris_pio.format.params import ConcatParams

_COLUMNS = 1


def _indices(builder: Builder, node: Node, index: int = 1) -> np.ndarray:
    found = integers(builder, node, index, "indices")
    if found is None:
        raise Refusal("it has no indices")
    return found.astype(np.int64)


@operator("Gather", summary="constant indices, any axis")
def lower_gather(builder: Builder, node: Node) -> None:
    """Slices along one axis, in the order of the indices."""
    shape = builder.shape(node.inputs[0])
    axis = int(node.attributes.get("axis", 0)) % len(shape)
    indices = check_inside(_indices(builder, node), shape[axis], axis)
    emit_selection(builder, node.inputs[0], node.outputs[0], {axis: indices.reshape(-1)})


@operator("GatherElements", summary="constant indices, any axis")
def lower_gather_elements(builder: Builder, node: Node) -> None:
    """Single elements."""
    shape = builder.shape(node.inputs[0])
    axis = int(node.attributes.get("axis", 0)) % len(shape)
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


@operator("GatherND", summary="constant indices, any batch_dims")
def lower_gather_nd(builder: Builder, node: Node) -> None:
    """Slices over the last axes."""
    shape = builder.shape(node.inputs[0])
    batch = int(node.attributes.get("batch_dims", 0))
    places, inner = _slice_places(shape, _indices(builder, node), batch)
    emit_flat_selection(builder, node.inputs[0], node.outputs[0], places, inner)


def _slice_places(shape: tuple[int, ...], indices: np.ndarray, batch: int) -> tuple[np.ndarray, int]:
    """Row-major places, counted in slices, of the slices that GatherND and ScatterND mean; and a slice's elements."""
    depth = batch + indices.shape[-1]
    if depth > len(shape):
        raise Refusal(f"indices of {indices.shape[-1]} axes for shape {list(shape)}")
    places = np.zeros(indices.shape[:-1], np.int64)
    for axis in range(batch):
        places = places * shape[axis] + np.indices(places.shape)[axis]
    for axis in range(batch, depth):
        places = places * shape[axis] + check_inside(indices[..., axis - batch], shape[axis], axis)
    return places, math.prod(shape[depth:])


@operator("ScatterElements", "Scatter", summary="constant indices, any reduction")
def lower_scatter_elements(builder: Builder, node: Node) -> None:
    """The input with single elements replaced."""
    shape = builder.shape(node.inputs[0])
    axis = int(node.attributes.get("axis", 0)) % len(shape)
    _emit_scatter(builder, node, _element_places(shape, check_inside(_indices(builder, node), shape[axis], axis), axis),
                  1)


@operator("ScatterND", summary="constant indices, any reduction")
def lower_scatter_nd(builder: Builder, node: Node) -> None:
    """The input with slices replaced."""
    _emit_scatter(builder, node, *_slice_places(builder.shape(node.inputs[0]), _indices(builder, node), 0))


#: What each reduction does with the old element and the update, and what leaves the old one as it is.
_REDUCTIONS = {"add": ("Add", 0.0), "mul": ("Mul", 1.0), "max": ("Max", -math.inf), "min": ("Min", math.inf)}


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
    name, updates, output = node.inputs[0], node.inputs[2], node.outputs[0]
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


@operator("ReverseSequence", summary="constant lengths")
def lower_reverse_sequence(builder: Builder, node: Node) -> None:
    """The first elements of each sequence in reverse order."""
    shape = builder.shape(node.inputs[0])
    lengths = _indices(builder, node)
    time = int(node.attributes.get("time_axis", 0))
    sequences = int(node.attributes.get("batch_axis", 1))
    if {time, sequences} != {0, 1} or lengths.shape != (shape[sequences],):
        raise Refusal(f"time axis {time} and batch axis {sequences} with {lengths.size} lengths")
    steps = np.arange(shape[time])[:, np.newaxis]
    turned = np.where(steps < lengths, lengths - 1 - steps, steps)  # [time, sequence]
    places = row_major_indices(shape[:2]).transpose(time, sequences)
    taken = np.take_along_axis(places, turned, 0).transpose(np.argsort((time, sequences)))
    emit_flat_selection(builder, node.inputs[0], node.outputs[0], taken, math.prod(shape[2:]))

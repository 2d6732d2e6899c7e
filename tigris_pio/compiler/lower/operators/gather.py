"""Gather, scatter and reversal: SELECT for constant indices, GATHER and SCATTER for indices at run time."""

from __future__ import annotations

import math

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import default_dims, row_major
from tigris_pio.compiler.lower.operators.compose import Composer
from tigris_pio.compiler.lower.operators.select import (
    check_inside,
    emit_flat_selection,
    emit_selection,
    integer_input,
    row_major_indices,
)
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import operator
from tigris_pio.compiler.lower.selection import OUTSIDE
from tigris_pio.compiler.lower.storage import FLOAT, Cell, Value
from tigris_pio.format.enums import OpKind
from tigris_pio.format.params import ConcatParams, GatherParams, ScatterParams

_COLUMNS = 1
#: The largest position that float32 holds exactly.
_MOST_POSITIONS = 1 << 24


def _indices(builder: Builder, node: Node, index: int = 1) -> np.ndarray:
    found = integer_input(builder, node, index, "indices")
    if found is None:
        raise Refusal("it has no indices")
    return found.astype(np.int64)


@operator("Gather", summary="any indices, any axis")
def lower_gather(builder: Builder, node: Node) -> None:
    """SELECT or GATHER of slices along one axis."""
    shape = builder.shape(node.inputs[0])
    axis = int(node.attributes.get("axis", 0)) % len(shape)
    if not builder.is_constant(node.inputs[1]):
        count = math.prod(builder.shape(node.inputs[1]))
        extents = (math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :]), count)
        emit_gather(builder, node.inputs[0], node.inputs[1], node.outputs[0], extents, (0, 1, 0))
        return
    indices = check_inside(_indices(builder, node), shape[axis], axis)
    emit_selection(builder, node.inputs[0], node.outputs[0], {axis: indices.reshape(-1)})


def _check_rank(builder: Builder, node: Node) -> None:
    """Raises Refusal if the indices have fewer or more axes than the data."""
    shape, indices = builder.shape(node.inputs[0]), builder.shape(node.inputs[1])
    if len(indices) != len(shape):
        raise Refusal(f"indices of shape {list(indices)} for shape {list(shape)}")


@operator("GatherElements", summary="any indices, any axis")
def lower_gather_elements(builder: Builder, node: Node) -> None:
    """SELECT or GATHER of single elements."""
    shape = builder.shape(node.inputs[0])
    axis = int(node.attributes.get("axis", 0)) % len(shape)
    _check_rank(builder, node)
    if not builder.is_constant(node.inputs[1]):
        name, taken = node.inputs[0], builder.shape(node.inputs[1])
        kept = {other: np.arange(size) for other, size in enumerate(taken) if other != axis and size != shape[other]}
        if kept:
            name = builder.declare(f"{name}/kept", (*taken[:axis], shape[axis], *taken[axis + 1 :]), name)
            emit_selection(builder, node.inputs[0], name, kept)
        inner, count = math.prod(taken[axis + 1 :]), taken[axis]
        emit_gather(builder, name, node.inputs[1], node.outputs[0],
                    (math.prod(taken[:axis]), shape[axis], inner, count), (count * inner, inner, 1))
        return
    flat = _element_places(shape, check_inside(_indices(builder, node), shape[axis], axis), axis)
    emit_flat_selection(builder, node.inputs[0], node.outputs[0], flat)


def _element_places(shape: tuple[int, ...], indices: np.ndarray, axis: int) -> np.ndarray:
    """Row-major positions of the elements that the indices of GatherElements and ScatterElements name."""
    grid = np.indices(indices.shape)
    grid[axis] = indices
    places: np.ndarray = np.zeros(indices.shape, np.int64)
    for size, index in zip(shape, grid, strict=True):
        places = places * size + index
    return places


def emit_gather(builder: Builder, name: str, indices: str, output: str, extents: tuple[int, int, int, int],
                steps: tuple[int, int, int]) -> None:
    """Emits GATHER of `name` with indices at run time. `extents` are outer, length, inner and count of GatherParams."""
    numeric = builder.numeric(name)
    if not builder.is_quantised(name) or builder.numeric(output) != numeric:
        numeric = FLOAT
    if extents[1] > _MOST_POSITIONS:
        raise Refusal(f"its axis has {extents[1]} elements; at most {_MOST_POSITIONS} can be told apart at run time")
    source = builder.value_in_order(name, row_major(builder.shape(name)), numeric)
    taken = builder.value_in_order(indices, row_major(builder.shape(indices)), FLOAT)
    shape = builder.shape(output)
    builder.emit(OpKind.GATHER, numeric.dtype, [(source.storage, None), (taken.storage, None)], output,
                 row_major(shape), numeric, Cell(default_dims(shape)), GatherParams(*extents, steps), per_image=False)


def _slice_positions(builder: Builder, node: Node, batch: int) -> tuple[str, tuple[int, int, int, int]]:
    """A tensor with the position of each slice that indices at run time name, and the extents of GatherParams."""
    shape, index_shape = builder.shape(node.inputs[0]), builder.shape(node.inputs[1])
    depth = index_shape[-1] if index_shape else 0
    if not 0 < depth <= len(shape) - batch:
        raise Refusal(f"indices of shape {list(index_shape)} for shape {list(shape)}")
    sizes = np.array(shape[batch : batch + depth], np.float32)
    length, inner = math.prod(shape[batch : batch + depth]), math.prod(shape[batch + depth :])
    composer, index = Composer(builder, node), node.inputs[1]
    if depth > 1:
        below = composer.add("Less", [index, composer.constant(0.0)], index_shape)
        wrapped = composer.add("Mul", [below, composer.constant(sizes)], index_shape)
        counted = composer.add("Add", [index, wrapped], index_shape)
        strides = composer.constant([math.prod(shape[batch + axis + 1 : batch + depth]) for axis in range(depth)])
        slices = composer.add("Mul", [counted, strides], index_shape)
        index = composer.add("ReduceSum", [slices], index_shape[:-1], {"axes": (len(index_shape) - 1,), "keepdims": 0})
    count = math.prod(index_shape[batch:-1])
    return index, (math.prod(shape[:batch]), length, inner, count)


@operator("GatherND", summary="any indices, any batch_dims")
def lower_gather_nd(builder: Builder, node: Node) -> None:
    """SELECT or GATHER of slices over the last axes."""
    shape = builder.shape(node.inputs[0])
    batch = int(node.attributes.get("batch_dims", 0))
    if not builder.is_constant(node.inputs[1]):
        index, extents = _slice_positions(builder, node, batch)
        emit_gather(builder, node.inputs[0], index, node.outputs[0], extents, (extents[3], 1, 0))
        return
    places, inner = _slice_places(shape, _indices(builder, node), batch)
    emit_flat_selection(builder, node.inputs[0], node.outputs[0], places, inner)


def _slice_places(shape: tuple[int, ...], indices: np.ndarray, batch: int) -> tuple[np.ndarray, int]:
    """Row-major positions, in slices, of the slices that GatherND and ScatterND name; and the elements of a slice."""
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
    _check_rank(builder, node)
    if not builder.is_constant(node.inputs[1]):
        taken = builder.shape(node.inputs[1])
        if any(size != shape[other] for other, size in enumerate(taken) if other != axis):
            raise Refusal(f"its indices, computed at run time, have shape {list(taken)} for data of {list(shape)}; all "
                          f"axes but {axis} must be equal")
        inner, count = math.prod(taken[axis + 1 :]), taken[axis]
        _emit_scatter_at_run_time(builder, node, node.inputs[1], (math.prod(taken[:axis]), shape[axis], inner, count),
                                  (count * inner, inner, 1))
        return
    _emit_scatter(builder, node, _element_places(shape, check_inside(_indices(builder, node), shape[axis], axis), axis),
                  1)


def _emit_scatter_at_run_time(builder: Builder, node: Node, indices: str, extents: tuple[int, int, int, int],
                              steps: tuple[int, int, int]) -> None:
    """Emits SCATTER; `extents` as in `emit_gather`."""
    name, updates, output = node.inputs[0], node.inputs[2], node.outputs[0]
    combine = _COMBINED.get(node.attributes.get("reduction", "none"))
    if combine is None:
        raise Refusal(f"reduction {node.attributes['reduction']}")
    if extents[1] > _MOST_POSITIONS:
        raise Refusal(f"its axis has {extents[1]} elements; at most {_MOST_POSITIONS} can be told apart at run time")
    numeric = builder.numeric(output) if builder.is_quantised(name, updates, output) and not combine else FLOAT
    sources = [builder.value_in_order(item, row_major(builder.shape(item)), wanted).storage
               for item, wanted in ((name, numeric), (indices, FLOAT), (updates, numeric))]
    shape = builder.shape(output)
    builder.emit(OpKind.SCATTER, numeric.dtype, [(source, None) for source in sources], output, row_major(shape),
                 numeric, Cell((1, 1, 1, math.prod(shape)), fixed=True), ScatterParams(*extents, steps, combine),
                 per_image=False)


@operator("ScatterND", summary="any indices, any reduction")
def lower_scatter_nd(builder: Builder, node: Node) -> None:
    """The input with slices replaced."""
    if not builder.is_constant(node.inputs[1]):
        index, (_, length, inner, count) = _slice_positions(builder, node, 0)
        _emit_scatter_at_run_time(builder, node, index, (1, length, inner, count), (0, 1, 0))
        return
    _emit_scatter(builder, node, *_slice_places(builder.shape(node.inputs[0]), _indices(builder, node), 0))


#: The operator of each reduction, and the update that leaves the old element unchanged.
_REDUCTIONS = {"add": ("Add", 0.0), "mul": ("Mul", 1.0), "max": ("Max", -math.inf), "min": ("Min", math.inf)}


#: The number of each reduction in ScatterParams.
_COMBINED = {"none": 0, "add": 1, "mul": 2, "max": 3, "min": 4}


def _emit_scatter(builder: Builder, node: Node, places: np.ndarray, inner: int) -> None:
    reduction = node.attributes.get("reduction", "none")
    if reduction == "none":
        _emit_update(builder, node.inputs[0], node.inputs[2], node.outputs[0], places, inner)
    elif reduction in _REDUCTIONS:
        _emit_reduction(builder, node, places.reshape(-1), inner)
    else:
        raise Refusal(f"reduction {reduction}")


def _emit_reduction(builder: Builder, node: Node, places: np.ndarray, inner: int) -> None:
    """Spreads the updates over the input's shape and combines them with it, once for each update of a position."""
    op, neutral = _REDUCTIONS[node.attributes["reduction"]]
    composer = Composer(builder, node)
    name, updates = node.inputs[0], node.inputs[2]
    shape = builder.shape(name)
    order = np.argsort(places, kind="stable")
    first = np.concatenate([[True], np.diff(places[order]) != 0])
    turn = np.empty(len(places), np.int64)  # the number of earlier updates of the same position
    turn[order] = np.arange(len(places)) - np.maximum.accumulate(np.where(first, np.arange(len(places)), 0))
    rounds = int(turn.max()) + 1
    for number in range(rounds):
        table = np.full(math.prod(shape) // inner, OUTSIDE)
        table[places[turn == number]] = np.flatnonzero(turn == number)
        spread = builder.declare(f"{node.outputs[0]}/spread", shape)
        emit_flat_selection(builder, updates, spread, table, inner, neutral)
        if number + 1 < rounds:
            name = composer.add(op, [name, spread], shape)
        else:
            composer.finish(op, [name, spread])


def _emit_update(builder: Builder, name: str, updates: str, output: str, places: np.ndarray, inner: int) -> None:
    """Joins input and updates, and selects the last update of each slice, or the input."""
    numeric = builder.numeric(output)  # updates may exceed the input's range
    counts = [math.prod(builder.shape(item)) for item in (name, updates)]
    sources = []
    for item, count in zip((name, updates), counts, strict=True):
        value = builder.value_in_order(item, row_major(builder.shape(item)), numeric)
        sources.append((builder.with_dims(value, (1, 1, count, 1)), None))
    total = sum(counts)
    both = builder.emit_part(f"{output}/both", OpKind.CONCAT, numeric.dtype, sources,
                             Cell((1, 1, total, 1), fixed=True), numeric, ConcatParams(_COLUMNS))
    joined = builder.declare(f"{output}/joined", (total,), output)
    builder.add_value(joined, Value(both, row_major((total,))))
    table = np.arange(counts[0] // inner)
    table[places.reshape(-1)] = counts[0] // inner + np.arange(places.size)
    emit_flat_selection(builder, joined, output, table, inner)


@operator("TensorScatter", summary="constant write_indices")
def lower_tensor_scatter(builder: Builder, node: Node) -> None:
    """Writes updates to each sequence from its own index on; in circular mode they wrap around."""
    shape, updates = builder.shape(node.inputs[0]), builder.shape(node.inputs[1])
    axis = int(node.attributes.get("axis", -2)) % len(shape)
    found = integer_input(builder, node, 2, "write_indices")
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
    """Each value at its position, zeros elsewhere."""
    source, target = builder.shape(node.inputs[0]), builder.shape(node.outputs[0])
    places = _indices(builder, node).reshape(-1)
    if len(node.inputs) > 2:  # positions refer to the output without its padding at the end
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
    """Reverses the first elements of each sequence, as many as its length."""
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

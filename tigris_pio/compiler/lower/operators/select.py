"""Helpers for operators that select elements along axes: `emit_selection` emits a SELECT."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower import numerics
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import Layout, default_dims, refined, row_major
from tigris_pio.compiler.lower.operators.concat import axis_order
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.selection import OUTSIDE, identity, select_params, selected_rows
from tigris_pio.compiler.lower.storage import FLOAT, Cell, Dims, Numeric
from tigris_pio.format.enums import DType, OpKind

#: The most table entries of a SELECT; a table takes 4 bytes of flash for each.
MOST_INDICES = 1 << 24
#: The distance from a whole number of steps that the rounding of a scale may cause.
_WHOLE = 1e-4


@dataclasses.dataclass(frozen=True)
class Grouping:
    """The stored axes that make up batch, rows, columns and channels."""

    batch: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    channels: tuple[int, ...]


def integer_input(builder: Builder, node: Node, index: int, what: str) -> np.ndarray | None:
    """A constant integer or boolean input, None if it is absent. Refuses an input that is computed at run time."""
    if index >= len(node.inputs) or not node.inputs[index]:
        return None
    name = node.inputs[index]
    if not builder.is_constant(name):
        raise Refusal(f"its {what} ({name}) are computed at run time")
    return builder.graph.weights[name]


def emit_selection(builder: Builder, name: str, output: str, selections: Mapping[int, np.ndarray],
                   shape: Sequence[int] | None = None, fill: float = 0.0) -> None:
    """Emits `output`: index i along each axis of `selections` is input index selections[axis][i].

    shape: another shape of the input `name` with the same elements, to which the axes refer
    fill: the real value for OUTSIDE
    """
    old = tuple(builder.shape(name) if shape is None else shape)
    tables = {axis: np.asarray(table, np.int64) for axis, table in selections.items()
              if not np.array_equal(table, identity(old[axis]))}
    if sum(len(table) for table in tables.values()) > MOST_INDICES:
        raise Refusal(f"it selects more than {MOST_INDICES} indices")
    new = tuple(len(tables[axis]) if axis in tables else size for axis, size in enumerate(old))
    numeric = builder.numeric(name)
    if not tables:
        _emit_alias(builder, name, output)
        return
    if any((table == OUTSIDE).any() for table in tables.values()) and not _can_hold(numeric, fill):
        numeric = builder.numeric(output)  # the output's type holds the fill value
    order = _axis_order(builder, name, old)
    source_layout, layout = Layout(old, order), Layout(new, order)
    value = builder.value_in_order(name, source_layout, numeric)
    groups = _grouping(len(old), 0 in {order.index(axis) for axis in tables})
    dims = _dims(source_layout.stored_shape, groups)
    stored = {order.index(axis): table for axis, table in tables.items()}
    merged = [_merged_table(source_layout.stored_shape, axes, stored)
              for axes in (groups.rows, groups.columns, groups.channels)]
    if sum(map(len, merged)) > MOST_INDICES:
        raise Refusal(f"it selects more than {MOST_INDICES} indices")
    value_fill = fill if numeric == FLOAT else int(
        numerics.quantize(np.array(fill), numeric.scale, numeric.zero_point, numeric.dtype))
    params, blobs = select_params((merged[0], merged[1], merged[2]), dims[1:], value_fill, numeric.dtype)
    storage = builder.with_dims(value, dims)
    builder.emit(OpKind.SELECT, numeric.dtype, [(storage, selected_rows(merged[0], dims[1]))], output, layout, numeric,
                 Cell(_dims(layout.stored_shape, groups), fixed=True), params, blobs=blobs)


def _can_hold(numeric: Numeric, fill: float) -> bool:
    """Whether a quantised tensor can store `fill` without rounding or saturating."""
    if numeric.dtype not in (DType.INT8, DType.INT16) or not numeric.scale:
        return True
    low, high = numerics.limits(numeric.dtype)
    code = fill / numeric.scale + numeric.zero_point
    return low - 0.5 <= code <= high + 0.5 and abs(code - round(code)) < _WHOLE


def _emit_alias(builder: Builder, name: str, output: str) -> None:
    if builder.is_constant(name):
        builder.add_value(output, builder.value(name, builder.numeric(output)))
    else:
        builder.add_alias(name, output, [value.layout for value in builder.values[name]])


def emit_flat_selection(builder: Builder, name: str, output: str, indices: np.ndarray, inner: int = 1,
                        fill: float = 0.0) -> None:
    """`emit_selection` of the input as slices of `inner` elements in row-major order; `indices` refer to slices."""
    rows = math.prod(builder.shape(name)) // inner
    emit_selection(builder, name, output, {0: indices.reshape(-1)}, (rows, inner), fill)


def _axis_order(builder: Builder, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The order of axes in which the input is stored; row-major if it is no order of whole axes."""
    if not builder.is_constant(name) or name in builder.values:
        for value in builder.values[name]:
            fine = refined(value.layout, shape)
            order = None if fine is None else axis_order(fine[0], fine[1])
            if order is not None:
                return order
    return row_major(shape).order


def _grouping(rank: int, batch_selected: bool) -> Grouping:
    """The grouping of `default_dims`. If the batch is selected from, it becomes part of the rows."""
    axes = tuple(range(rank))
    if rank <= 2:
        return Grouping((), (), axes[:-1], axes[-1:])
    groups = Grouping(axes[:1], axes[1:2], axes[2:-1], axes[-1:])
    return Grouping((), axes[:2], groups.columns, groups.channels) if batch_selected else groups


def _dims(stored_shape: tuple[int, ...], groups: Grouping) -> Dims:
    batch, rows, columns, channels = (
        math.prod(stored_shape[axis] for axis in axes)
        for axes in (groups.batch, groups.rows, groups.columns, groups.channels)
    )
    dims = (batch, rows, columns, channels)
    assert groups.batch == () or dims == default_dims(stored_shape)
    return dims


def _merged_table(stored_shape: tuple[int, ...], axes: tuple[int, ...], tables: Mapping[int, np.ndarray]) -> np.ndarray:
    """The index table of several axes that are merged into one."""
    result = np.zeros(1, np.int64)
    for axis in axes:
        size = stored_shape[axis]
        table = tables.get(axis, identity(size))
        inside = (result[:, np.newaxis] >= 0) & (table >= 0) & (table < size)
        result = np.where(inside, result[:, np.newaxis] * size + table, OUTSIDE).reshape(-1)
    return result


def row_major_indices(shape: Sequence[int]) -> np.ndarray:
    """The row-major position of each element."""
    return np.arange(math.prod(shape)).reshape(tuple(shape))


def check_inside(indices: np.ndarray, size: int, axis: int) -> np.ndarray:
    """Indices with negative ones counted from the end. Refuses indices outside."""
    counted = np.where(indices < 0, indices + size, indices)
    if counted.size and (counted.min() < 0 or counted.max() >= size):
        raise Refusal(f"index {int(indices.reshape(-1)[np.argmax((counted < 0) | (counted >= size))])} lies outside "
                      f"axis {axis} of {size} elements")
    return counted


def pairs(values: Sequence[int]) -> list[tuple[int, int]]:
    """Begin and end of each axis from ONNX's list of all begins and all ends."""
    half = len(values) // 2
    return list(itertools.zip_longest(map(int, values[:half]), map(int, values[half:])))


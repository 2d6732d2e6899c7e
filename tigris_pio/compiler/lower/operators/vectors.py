"""Tensors seen as vectors along some axes, in whatever order they are stored."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import Layout, refine
from tigris_pio.compiler.lower.storage import FLOAT, Dims, Numeric, Value


@dataclasses.dataclass(frozen=True)
class Vectors:
    """A value whose stored form is [outer][length][inner] with the vectors along `length`.

    `kept` is the layout of what remains when each vector becomes one element.
    """

    value: Value
    length: int
    inner: int
    kept: Layout


def vectors(builder: Builder, name: str, axes: Sequence[int], ordered: bool = False,
            numeric: Numeric = FLOAT) -> Vectors:
    """Tensor `name` as vectors along `axes`; a TRANSPOSE brings them together when they lie apart.

    `ordered`: the order of a vector's elements matters. `numeric`: the element type to have them in.
    """
    shape = builder.shape(name)
    if not builder.is_constant(name):
        value = builder.value(name, numeric)
        found = _together(value, shape, axes, ordered)
        if found is not None:
            return found
    order = (*(axis for axis in range(len(shape)) if axis not in axes), *axes)
    found = _together(builder.arranged(name, Layout(shape, order), numeric), shape, axes, ordered)
    assert found is not None  # the axes are last now
    return found


def _together(value: Value, shape: Sequence[int], axes: Sequence[int], ordered: bool) -> Vectors | None:
    """None when the axes do not lie side by side, or in another order than the tensor's where that matters."""
    fine = refine(value.layout, shape)
    if fine is None:
        return None
    layout, groups = fine
    reduced = {part for axis in axes for part in groups[axis]}
    places = [index for index, part in enumerate(layout.order) if part in reduced]
    if places and places[-1] - places[0] >= len(places):
        return None
    own = [part for part in layout.order if part in reduced]
    if ordered and own != sorted(own):
        return None
    inner = math.prod(layout.factors[part] for part in layout.order[places[-1] + 1 :]) if places else 1
    remaining = [part for part in range(len(layout.factors)) if part not in reduced]
    index = {part: position for position, part in enumerate(remaining)}
    kept = Layout(tuple(layout.factors[part] for part in remaining),
                  tuple(index[part] for part in layout.order if part not in reduced))
    length = math.prod(layout.factors[part] for part in reduced)
    return Vectors(Value(value.storage, layout), length, inner, kept)


def row_by_row(builder: Builder, found: Vectors) -> tuple[str, Dims] | None:
    """The storage and its dimensions if every vector lies within one of its rows."""
    storage = builder.storages[found.value.storage]
    if storage.cell.dims[2] * storage.cell.dims[3] % (found.length * found.inner):
        return None
    storage.cell.settle_rows(storage.cell.dims)
    return storage.name, storage.cell.dims


def same_rows(rows: bool) -> RowMap | None:
    """Row map of a kernel that works row by row, or needs its input whole."""
    return RowMap.same() if rows else None


def rows_of_vectors(builder: Builder, storage: str, length: int) -> Dims | None:
    """Dimensions of a storage, settled, in which each of its rows holds whole vectors of `length` elements that follow
    each other, and of which there are more than one; None when it is fixed otherwise."""
    cell = builder.storages[storage].cell
    batch, height, width, channels = cell.dims
    if width * channels % length and not cell.fixed_rows and batch * height * width * channels % length == 0:
        batch, height, width, channels = 1, batch * height * width * channels // length, 1, length
    if width * channels % length or batch * height == 1 or not cell.settle_rows((batch, height, width, channels)):
        return None
    return cell.dims

"""Tensors as vectors along some axes, in any element order that keeps these axes contiguous."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np

from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import Layout, refined
from tigris_pio.compiler.lower.storage import FLOAT, Dims, Numeric, Value
from tigris_pio.format.enums import OpKind
from tigris_pio.format.record import Record


@dataclasses.dataclass(frozen=True)
class Vectors:
    """A value stored as [outer][length][inner], with vectors along `length`.

    kept: the layout of a result with one element for each vector
    """

    value: Value
    length: int
    inner: int
    kept: Layout


def vectors(builder: Builder, name: str, axes: Sequence[int], ordered: bool = False,
            numeric: Numeric = FLOAT) -> Vectors:
    """The tensor `name` as vectors along `axes`. Emits a TRANSPOSE if the axes are not contiguous.

    ordered: whether the order of a vector's elements matters
    numeric: the element type of the vectors
    """
    shape = builder.shape(name)
    if not builder.is_constant(name):
        value = builder.value(name, numeric)
        found = _contiguous_vectors(value, shape, axes, ordered)
        if found is not None:
            return found
    order = (*(axis for axis in range(len(shape)) if axis not in axes), *axes)
    found = _contiguous_vectors(builder.value_in_order(name, Layout(shape, order), numeric), shape, axes, ordered)
    assert found is not None  # the axes are last now
    return found


def _contiguous_vectors(value: Value, shape: Sequence[int], axes: Sequence[int], ordered: bool) -> Vectors | None:
    """The vectors; None if the axes are not contiguous, or are stored in another order and `ordered` is true."""
    fine = refined(value.layout, shape)
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


def settle_vector_rows(builder: Builder, found: Vectors) -> tuple[str, Dims] | None:
    """Settles the rows of the storage if every vector lies in one row; returns storage and dimensions, or None."""
    storage = builder.storages[found.value.storage]
    if storage.cell.dims[2] * storage.cell.dims[3] % (found.length * found.inner):
        return None
    storage.cell.settle_rows(storage.cell.dims)
    return storage.name, storage.cell.dims


def rowwise_map(rows: bool) -> RowMap | None:
    """The row map of a kernel that computes row by row, or reads its whole input."""
    return RowMap.same() if rows else None


def emit_vectors(builder: Builder, kind: OpKind, found: Vectors, output: str, numeric: Numeric, params: Record,
                 blobs: Mapping[str, np.ndarray] | None = None) -> None:
    """Emits a call that computes vectors of type `numeric` from `found`, row by row if rows hold whole vectors."""
    rows = settle_vector_rows(builder, found)
    storage = found.value.storage if rows is None else rows[0]
    dims = builder.dims(storage)
    whole_image = math.prod(dims[1:]) % (found.length * found.inner) == 0
    if rows is None and whole_image:
        storage = builder.with_dims(found.value, dims)
    builder.emit(kind, numeric.dtype, [(storage, rowwise_map(rows is not None))], output, found.value.layout, numeric,
                 builder.storages[storage].cell, params, blobs=blobs, per_image=whole_image)


def settle_contiguous_vectors(builder: Builder, storage: str, length: int) -> Dims | None:
    """Settles several rows of a storage, each of whole contiguous vectors of `length` elements; returns the dimensions.

    None if an operator relies on other rows.
    """
    cell = builder.storages[storage].cell
    batch, height, width, channels = cell.dims
    if width * channels % length and not cell.fixed_rows and batch * height * width * channels % length == 0:
        batch, height, width, channels = 1, batch * height * width * channels // length, 1, length
    if width * channels % length or batch * height == 1 or not cell.settle_rows((batch, height, width, channels)):
        return None
    return cell.dims

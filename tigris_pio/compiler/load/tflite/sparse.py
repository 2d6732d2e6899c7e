"""Converts sparse constants to dense arrays.

The file lists the axes in an order of its own, and blocks as further axes behind them. A dense axis has all
indices. For a sparse axis, each element of the axis before it has a segment in a list of indices, as in the CSR format.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from tigris_pio.errors import ModelError


@dataclasses.dataclass(frozen=True, eq=False)
class SparseAxis:
    """An axis: dense with `size` indices, or sparse, with `indices` between each two of `segments`."""

    size: int
    segments: np.ndarray | None = None
    indices: np.ndarray | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class Sparsity:
    """The position of the stored elements. `order`: the axes in the file's order; `blocks`: for each axis of blocks the
    axis of the tensor that it divides."""

    order: tuple[int, ...]
    blocks: tuple[int, ...]
    axes: tuple[SparseAxis, ...]


def dense(values: np.ndarray, shape: tuple[int, ...], sparsity: Sparsity, where: str) -> np.ndarray:
    """The dense tensor, with 0 for elements that are not stored. Raises ModelError for contradictory data."""

    def require(holds: bool, what: str) -> None:
        if not holds:
            raise ModelError(f"{where}: its sparse elements: {what}; the file is damaged")

    rank, blocks = len(shape), sparsity.blocks
    require(sorted(sparsity.order) == list(range(rank + len(blocks))), f"order {list(sparsity.order)} of axes")
    require(len(sparsity.axes) == rank + len(blocks), f"{len(sparsity.axes)} axes are described")
    require(all(0 <= axis < rank for axis in blocks) and len(set(blocks)) == len(blocks), f"blocks {list(blocks)}")
    sizes = _sizes(shape, sparsity, require)
    coordinates = _coordinates(sparsity, sizes, max(math.prod(shape), 1), require)
    count = len(coordinates[0]) if coordinates else 1
    require(count == len(values), f"{len(values)} of {count}")
    positions = [coordinates[sparsity.order.index(axis)] for axis in range(rank)] if rank else []
    for number, axis in enumerate(blocks):
        position = sparsity.order.index(rank + number)
        positions[axis] = positions[axis] * sizes[position] + coordinates[position]
    result = np.zeros(shape, values.dtype)
    result[tuple(positions)] = values
    return result


def _sizes(shape: tuple[int, ...], sparsity: Sparsity, require: Callable[[bool, str], None]) -> list[int]:
    """The sizes of all axes in the file's order; an axis that is divided into blocks has the number of blocks."""
    rank, sizes = len(shape), [0] * len(sparsity.axes)
    divided = dict(zip(sparsity.blocks, (sparsity.order.index(rank + number) for number in range(len(sparsity.blocks))),
                       strict=True))
    for axis, size in enumerate(shape):
        block = sparsity.axes[divided[axis]].size if axis in divided else 1
        require(block >= 1 and size % block == 0, f"blocks of {block} in an axis of {size}")
        sizes[sparsity.order.index(axis)] = size // block
        if axis in divided:
            sizes[divided[axis]] = block
    return sizes


def _coordinates(sparsity: Sparsity, sizes: list[int], most: int,
                 require: Callable[[bool, str], None]) -> list[np.ndarray]:
    """For each axis in the file's order, the indices of all stored elements."""
    found: list[np.ndarray] = []
    count = 1
    for axis, size in zip(sparsity.axes, sizes, strict=True):
        if axis.segments is None or axis.indices is None:
            require(axis.segments is None and axis.size == size, f"an axis of {axis.size} instead of {size}")
            require(count * size <= most, "too many")
            found = [np.repeat(item, size) for item in found]
            found.append(np.tile(np.arange(size), count))
            count *= size
            continue
        segments = axis.segments.astype(np.int64)
        lengths = np.diff(segments)
        require(len(segments) == count + 1 and segments[0] == 0 and bool(np.all(lengths >= 0)), "segments")
        require(int(segments[-1]) == len(axis.indices) <= most, "segments")
        indices = axis.indices.astype(np.int64)
        require(bool(np.all((indices >= 0) & (indices < size))), f"an index outside of an axis of {size}")
        found = [np.repeat(item, lengths) for item in found]
        found.append(indices)
        count = len(indices)
    return found

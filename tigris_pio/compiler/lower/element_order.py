"""The order of a tensor's elements in memory.

A tensor T is stored as T.reshape(factors).transpose(order). The factors multiply up to T's shape, or to any shape that
T was reshaped from, because Reshape keeps the row-major sequence. Flatten, Reshape and Transpose therefore change only
the description. Elements move if an operator needs another order.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence

import numpy as np


@dataclasses.dataclass(frozen=True)
class Layout:
    """Stored array = tensor.reshape(factors).transpose(order)."""

    factors: tuple[int, ...]
    order: tuple[int, ...]

    @property
    def stored_shape(self) -> tuple[int, ...]:
        """Sizes of the stored axes, slowest first."""
        return tuple(self.factors[axis] for axis in self.order)

    def apply(self, array: np.ndarray) -> np.ndarray:
        """The stored form of a constant."""
        return np.ascontiguousarray(array.reshape(self.factors).transpose(self.order))


def row_major(shape: Sequence[int]) -> Layout:
    """The row-major order of ONNX."""
    return Layout(tuple(shape), tuple(range(len(shape))))


def channels_last(shape: Sequence[int]) -> Layout:
    """The order that stores [N, C, spatial…] as [N, spatial…, C]; row-major up to two axes."""
    rank = len(shape)
    return Layout(tuple(shape), (0, *range(2, rank), 1)) if rank > 2 else row_major(shape)


def canonical(layout: Layout) -> Layout:
    """The shortest description of an element order. It is equal for layouts that store equal bytes."""
    order = [axis for axis in layout.order if layout.factors[axis] != 1]
    runs: list[list[int]] = []
    kept = [axis for axis in range(len(layout.factors)) if layout.factors[axis] != 1]
    following = dict(itertools.pairwise(kept))
    for axis in order:
        if runs and following.get(runs[-1][-1]) == axis:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    by_factor = sorted(range(len(runs)), key=lambda index: runs[index][0])
    sizes = tuple(math.prod(layout.factors[axis] for axis in runs[index]) for index in by_factor)
    rank_of = {index: rank for rank, index in enumerate(by_factor)}
    return Layout(sizes, tuple(rank_of[index] for index in range(len(runs))))


def same_bytes(first: Layout, second: Layout) -> bool:
    """Whether both store a tensor in the same element order."""
    return canonical(first) == canonical(second)


def refined(layout: Layout, shape: Sequence[int]) -> tuple[Layout, tuple[tuple[int, ...], ...]] | None:
    """The layout with factors that divide the axes of `shape`, and the indices of the factors of each axis.

    None if no common factors exist, as for (2, 3) and (3, 2), unless the layout is row-major.
    """
    cuts = sorted(_cuts(layout.factors) | _cuts(shape))
    if any(high % low for low, high in itertools.pairwise(cuts)):
        is_row_major = layout.order == tuple(range(len(layout.order)))
        if not is_row_major or math.prod(shape) != math.prod(layout.factors):
            return None
        layout, cuts = row_major(shape), sorted(_cuts(shape))
    factors = tuple(high // low for low, high in itertools.pairwise(cuts))
    of_layout = _groups(factors, layout.factors)
    order = tuple(part for axis in layout.order for part in of_layout[axis])
    return Layout(factors, order), _groups(factors, shape)


def _cuts(shape: Sequence[int]) -> set[int]:
    cuts = {1}
    total = 1
    for size in shape:
        total *= size
        cuts.add(total)
    return cuts


def _groups(factors: Sequence[int], shape: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """The indices of the factors of each axis of `shape`, slowest first; none for an axis of size 1."""
    groups = []
    index = 0
    for size in shape:
        group: list[int] = []
        product = 1
        while product < size:
            group.append(index)
            product *= factors[index]
            index += 1
        groups.append(tuple(group))
    return tuple(groups)


def transposed(layout: Layout, shape: Sequence[int], permutation: Sequence[int]) -> Layout | None:
    """The layout of T.transpose(permutation) in T's own memory; None if the factors do not fit `shape`."""
    fine = refined(layout, shape)
    if fine is None:
        return None
    source, groups = fine
    moved = [part for axis in permutation for part in groups[axis]]
    place = {part: index for index, part in enumerate(moved)}
    return Layout(tuple(source.factors[part] for part in moved), tuple(place[part] for part in source.order))


def transpose_strides(source: Layout, target: Layout) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The transposition of a stored tensor from one layout to another: target sizes and source strides, in elements.

    Element (i0, i1, …) of the target is element sum(i_k * stride_k) of the source. Neighbouring axes are merged if
    possible. None if the layouts have no common factors.
    """
    fine = refined(source, target.factors)
    if fine is None:
        return None
    layout, groups = fine
    strides: dict[int, int] = {}
    stride = 1
    for axis in reversed(layout.order):
        strides[axis] = stride
        stride *= layout.factors[axis]
    axes = [part for axis in target.order for part in groups[axis]]
    sizes: list[int] = []
    step: list[int] = []
    for axis in axes:
        size = layout.factors[axis]
        if step and step[-1] == strides[axis] * size:
            sizes[-1] *= size
            step[-1] = strides[axis]
        else:
            sizes.append(size)
            step.append(strides[axis])
    return (tuple(sizes), tuple(step)) if sizes else ((1,), (1,))


def default_dims(shape: Sequence[int]) -> tuple[int, int, int, int]:
    """[batch, height, width, channels] for a stored shape without spatial axes, as of a matrix or a sequence.

    The vectors of a matrix become rows, so that a sequence can run in bands.
    """
    if len(shape) < 2:
        return 1, 1, 1, *(shape or (1,))  # type: ignore[return-value]
    if len(shape) == 2:
        return (1, shape[0], 1, shape[1]) if shape[1] > 1 else (1, 1, shape[0], 1)
    if len(shape) == 3:
        return shape[0], shape[1], 1, shape[2]
    return shape[0], shape[1], math.prod(shape[2:-1]), shape[-1]

"""How a tensor's elements are ordered in memory.

A tensor T is stored as T.reshape(factors).transpose(order): `factors` multiply up to T's shape (or any
shape T was reshaped from, since Reshape keeps the row-major sequence), `order` says which factor each
stored axis holds. Flatten, Reshape and Transpose therefore only change the description; elements
move when an operator needs another order.
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


def plain(shape: Sequence[int]) -> Layout:
    """Row-major, as ONNX has it."""
    return Layout(tuple(shape), tuple(range(len(shape))))


def channels_last(shape: Sequence[int]) -> Layout:
    """[N, C, spatial…] stored as [N, spatial…, C]."""
    rank = len(shape)
    return Layout(tuple(shape), (0, *range(2, rank), 1)) if rank > 2 else plain(shape)


def canonical(layout: Layout) -> Layout:
    """The shortest description of the same element order: equal for layouts that store equal bytes."""
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


def refine(layout: Layout, shape: Sequence[int]) -> tuple[Layout, tuple[tuple[int, ...], ...]] | None:
    """The same layout with factors fine enough for `shape`, and the factors that make up each axis of it.

    None when no common factors exist, as for (2, 3) and (3, 2); row-major order has any.
    """
    cuts = sorted(_cuts(layout.factors) | _cuts(shape))
    if any(high % low for low, high in itertools.pairwise(cuts)):
        row_major = layout.order == tuple(range(len(layout.order)))
        if not row_major or math.prod(shape) != math.prod(layout.factors):
            return None
        layout, cuts = plain(shape), sorted(_cuts(shape))
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
    """Which factors, in order, make up each axis of `shape`; an axis of size 1 has none."""
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
    """Layout of T.transpose(permutation) in T's own memory; None when the factors do not fit `shape`."""
    fine = refine(layout, shape)
    if fine is None:
        return None
    source, groups = fine
    moved = [part for axis in permutation for part in groups[axis]]
    place = {part: index for index, part in enumerate(moved)}
    return Layout(tuple(source.factors[part] for part in moved), tuple(place[part] for part in source.order))


def steps(source: Layout, target: Layout) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """How to bring a stored tensor from one layout to another: target axes and their source steps.

    Element (i0, i1, …) of the target is element sum(i_k * step_k) of the source. Axes that stay
    together are merged. None when the layouts have no common factors.
    """
    fine = refine(source, target.factors)
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


def fold(shape: Sequence[int]) -> tuple[int, int, int, int]:
    """[batch, height, width, channels] for stored axes that no operator gives a meaning to.

    The vectors of a matrix are rows, so that a sequence can go through in bands.
    """
    if len(shape) < 2:
        return 1, 1, 1, *(shape or (1,))  # type: ignore[return-value]
    if len(shape) == 2:
        return (1, shape[0], 1, shape[1]) if shape[1] > 1 else (1, 1, shape[0], 1)
    if len(shape) == 3:
        return shape[0], shape[1], 1, shape[2]
    return shape[0], shape[1], math.prod(shape[2:-1]), shape[-1]

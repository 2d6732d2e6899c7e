"""The sets that each segment reads and leaves. They do not depend on the memory."""

from __future__ import annotations

from typing import NamedTuple

from tigris_pio.compiler.plan.cut.crossings import Crossings
from tigris_pio.compiler.plan.index import ProgramIndex


class Shape(NamedTuple):
    """A segment: what it reads of activations made before it, what it makes that outlives it, the tensors it touches,
    and the instructions of calling each of its kernels once."""

    reads: int
    leaves: int
    views: int
    once: float


def _no_shapes(index: ProgramIndex, cut: int) -> list[Shape]:
    """The shapes of the segments from a cut, shortest first; shapes_from fills it."""
    return []


def shapes_from(sets: Crossings, cut: int, count: int, call: tuple[float, ...]) -> list[Shape]:
    """The shapes of at least the first `count` segments from `cut`. `call` has the instructions of each operator's
    call."""
    index = sets.index
    known = index.once(_no_shapes, cut)
    end = min(cut + count, len(index.ops))
    if len(known) < end - cut:
        reads, made, views, once = 0, 0, 0, 0.0
        known.clear()
        for step in range(cut, end):
            reads |= sets.reads[step] & ~made
            made |= sets.makes[step]
            views += sets.constants[step] + 1
            once += call[step]
            known.append(Shape(reads, made & sets.across[step + 1], views + reads.bit_count(), once))
    return known

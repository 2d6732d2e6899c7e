"""A partial path of the search for cuts, at every level of memory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tigris_pio.compiler.plan.segment import Segment


class Edge(NamedTuple):
    """A segment with the homes of the tensors that it reads and leaves, as sets.

    loaded, stored: the tensors in slow memory that it reads, and that it leaves
    kept: the tensors that it leaves in fast memory
    grows: its outputs grow over its inputs
    """

    segment: Segment
    loaded: int
    stored: int
    kept: int
    grows: bool = False


class Step(NamedTuple):
    """An edge as it was taken from a label. rows: of a band, by level; None: it runs whole."""

    source: Label
    edge: Edge
    rows: np.ndarray | None


class Label:
    """All paths to a cut that leave the same tensors in fast memory and continue alike: for each level the cheapest.

    fast: the tensors in fast memory across the cut
    joins: the last operator ran whole, all in fast memory, so the next may join its stage
    member: the tensor that grew over another last, if it is still there, as a set; empty: none
    cost: instructions beyond running whole, by level; infinite if there is no path
    step: by level the number of the last step; -1: none
    depth: by level the bytes from the start of `member` to the end of the highest tensor of its chain. Each tensor of a
        chain starts some bytes, its lead, below the one it grew over. So the bytes of a chain are one number, which
        must stay within the level beside all other live tensors.
    """

    __slots__ = ("cost", "depth", "fast", "joins", "member", "step")

    def __init__(self, fast: int, joins: bool, member: int, levels: int) -> None:
        self.fast, self.joins, self.member = fast, joins, member
        self.cost = np.full(levels, np.inf)
        self.step = np.full(levels, -1, np.int64)
        self.depth = np.zeros(levels)

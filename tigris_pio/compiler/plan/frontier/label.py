"""A way to a cut, at every level of memory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tigris_pio.compiler.plan.segment import Segment


class Edge(NamedTuple):
    """A segment with the homes of what it reads and leaves, as sets.

    loaded, stored: what it reads and what it leaves that lies in slow memory. kept: what it leaves in fast memory.
    grows: its outputs grow over its inputs.
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
    """All ways to a cut that leave the same in fast memory and may be continued alike: of each level the cheapest.

    fast: what lies in fast memory across the cut. joins: the last operator ran whole, all in fast memory, so that the
    next may join its stage. member: the tensor that grew over another last, if it is still there, as a set; empty:
    none.
    cost: instructions beyond running whole, by level; infinite where there is no way.
    step: by level the number of the step that led here; -1: none.
    depth: by level the bytes from the start of `member` to the end of the highest tensor of its chain. Each of these
    starts some bytes, its lead, below the one it grew over; so what the chain takes is one number, which must stay
    within the level beside what else is alive.
    """

    __slots__ = ("cost", "depth", "fast", "joins", "member", "step")

    def __init__(self, fast: int, joins: bool, member: int, levels: int) -> None:
        self.fast, self.joins, self.member = fast, joins, member
        self.cost = np.full(levels, np.inf)
        self.step = np.full(levels, -1, np.int64)
        self.depth = np.zeros(levels)

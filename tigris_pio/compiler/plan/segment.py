"""A segment: the operators of a stage-to-be, before bands and offsets are chosen."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Segment:
    """Operators [first, end).

    banded: runs in bands of rows. keep: rows that a later band needs are kept, not made again.
    direct: its tensors are read and written where they live, slow memory included, because not
    even one operator's data fits the fast arena.
    """

    first: int
    end: int
    banded: bool = False
    keep: bool = False
    direct: bool = False

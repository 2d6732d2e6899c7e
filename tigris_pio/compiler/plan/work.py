"""How much the searches in a program did, and how much they may."""

from __future__ import annotations

import dataclasses
import math


class Exhausted(Exception):
    """A search needs more work than it may take."""


@dataclasses.dataclass
class Work:
    """Work in units of some 0.1 ms: one expansion of a label. The units are counted, not timed: searches end at the
    same point on every machine."""

    spent: int = 0
    most: float = math.inf

    def charge(self, units: int) -> None:
        """Counts work before it is done; Exhausted if it exceeds what is left."""
        self.spent += units
        if self.spent > self.most:
            raise Exhausted

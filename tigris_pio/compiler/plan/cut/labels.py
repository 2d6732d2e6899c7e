"""The ways to reach each cut: what each costs so far and leaves in fast memory."""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple

from tigris_pio.compiler.plan.cut.crossings import Crossings
from tigris_pio.compiler.plan.cut.descent import NO_DESCENT, Descent
from tigris_pio.compiler.plan.segment import Segment

#: For programs of up to so many operators the ways kept at one cut.
WIDTHS = ((16, 64), (60, 16), (300, 6), (1 << 60, 3))


class Edge(NamedTuple):
    """A segment with the homes of what it reads and leaves.

    loaded, stored: what it reads and what it leaves that lies in slow memory; kept: what it leaves in fast memory.
    beside: bytes of fast memory that whole tensors take while it runs, its own among them, before overlays. spared:
    bytes that it leaves free beside them.
    """

    segment: Segment
    loaded: int
    stored: int
    kept: int
    beside: int
    spared: int = 0


@dataclasses.dataclass(frozen=True)
class Label:
    """A way to a cut. fast: what lies in fast memory across it. plain: it ends with an operator that runs whole, all in
    fast memory, so that another may join its stage. descent: of the tensors that grew over one another last."""

    cost: float
    fast: int
    plain: bool
    before: Label | None
    edge: Edge | None
    descent: Descent = NO_DESCENT


class _Reloads(dict[tuple[int, int], float]):
    """Instructions of bringing what lies in fast memory across a cut anew for each reader, by cut and what it is."""


class Labels:
    """The labels of every cut of a program; `slow_byte`: instructions for a byte moved; `most`: all must cost less;
    `resident`: all that crosses a cut lies in fast memory."""

    def __init__(self, sets: Crossings, slow_byte: float, most: float, resident: bool) -> None:
        self._sets, self._slow_byte, self.most = sets, slow_byte, most
        self._at: list[dict[tuple[int, bool, Descent], Label]] = [{} for _ in sets.across]
        self._kept: dict[int, list[Label]] = {}
        self._resident = resident
        self._bare = [math.inf] * len(sets.across)  # what the cheapest ways cost that leave least in fast memory
        self._reloads = sets.index.cache(_Reloads)
        count = len(sets.across) - 1
        self._width = next(width for most, width in WIDTHS if count <= most)

    def beats(self, cut: int, fast: int, plain: bool, cost: float, descent: Descent = NO_DESCENT) -> bool:
        """Whether a way of that cost is cheaper than those known that leave the same, or least, and than all must
        be."""
        if cost >= self.most or (not plain and cost >= self._bare[cut] + self._beyond(cut, fast)):
            return False
        known = self._at[cut]
        same = known.get((fast, plain, descent))
        if same is not None and same.cost <= cost:
            return False
        other = known.get((fast, plain, NO_DESCENT)) if descent.member else None
        return other is None or cost < other.cost

    def offer(self, cut: int, label: Label) -> None:
        """A way that beats the one known."""
        self._at[cut][label.fast, label.plain, label.descent] = label
        if (label.fast == self._sets.across[cut] and not label.descent.member) if self._resident else not label.fast:
            self._bare[cut] = min(self._bare[cut], label.cost)

    def _beyond(self, cut: int, fast: int) -> float:
        """Instructions of bringing anew, for each reader, what a way leaves in fast memory beyond the least."""
        return 0.0 if self._resident or not fast else self._reload(cut, fast)

    def dearest(self, cut: int) -> float:
        """What a way to a cut that ends with no operator run whole costs at most, if it is of use."""
        known = max((label.cost for label in self._at[cut].values()), default=math.inf)
        return min(known, self._bare[cut] + self._beyond(cut, self._sets.across[cut]))

    def kept(self, cut: int) -> list[Label]:
        """The labels of a cut that may be part of a cheapest path, cheapest first; of many the most promising.

        One is left out when another holds no more in fast memory and remains cheaper even if it brings the rest anew
        for each reader.
        """
        if cut not in self._kept:
            self._kept[cut] = self._chosen(cut)
        return self._kept[cut]

    def _chosen(self, cut: int) -> list[Label]:
        found: list[Label] = []
        for label in sorted(self._at[cut].values(), key=lambda label: label.cost):
            more = ~label.fast
            if not any(not other.fast & more and self._betters(cut, other, label) for other in found):
                found.append(label)
        if len(found) <= self._width:
            return found
        across = self._sets.across[cut]

        def ahead(label: Label) -> float:
            return label.cost + self._slow_byte * self._sets.size(across & ~label.fast)

        ends = [label for label in found if label.fast in (0, across) and not label.descent.member]
        best = sorted(found, key=ahead)[: self._width]
        return sorted({id(label): label for label in (*ends, *best)}.values(), key=lambda label: label.cost)

    def _betters(self, cut: int, one: Label, other: Label) -> bool:
        """Of a way that holds nothing in fast memory that the other does not."""
        more = other.fast & ~one.fast
        if (other.plain and not one.plain) or one.descent.leaves_less(other.descent):
            return False
        return not more or one.cost + self._reload(cut, more) <= other.cost

    def _reload(self, cut: int, names: int) -> float:
        known = self._reloads.get((cut, names))
        if known is None:
            known = self._reloads[cut, names] = self._told_reload(cut, names)
        return known

    def _told_reload(self, cut: int, names: int) -> float:
        index = self._sets.index
        total = 0.0
        for name in self._sets.named(names, cut):
            uses = len(index.uses_within(name, cut, len(index.ops)))
            total += max(1, uses) * self._slow_byte * self._sets.size(self._sets.bit[name])
        return total

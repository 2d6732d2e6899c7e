"""Segments that lead on from a way to a cut, told once for all cuts of a program from which it goes on alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from tigris_pio.compiler.plan.aim import Aim
from tigris_pio.compiler.plan.cut.crossings import Crossings, bits
from tigris_pio.compiler.plan.cut.descent import Descent
from tigris_pio.compiler.plan.cut.estimate import Banded
from tigris_pio.compiler.plan.cut.labels import Edge, Label
from tigris_pio.compiler.plan.cut.reach import Reach
from tigris_pio.compiler.plan.cut.repeats import earliest_crossed_alike
from tigris_pio.compiler.plan.cut.rolling_sweep import RollingFit
from tigris_pio.compiler.plan.cut.shapes import Shape
from tigris_pio.compiler.plan.segment import Segment

#: What leads on is told once where it is alike from so many cuts: then all of it is told, for what is of no use to the
#: first may be of use to another.
SEVERAL_CUTS = 4


class Offer(NamedTuple):
    """A segment that leads on, whatever the way to its first cut cost; descent: None where it is the way's.

    more: for what it is estimated to cost at least there are others, told only where that beats what is known.
    """

    edge: Edge
    cost: float
    plain: bool = False
    descent: Descent | None = None
    more: Callable[[], Iterator[Offer]] | None = None


class Roll(NamedTuple):
    """A segment that rolls: bytes for all but its state, and what it costs at least without bytes moved."""

    fit: RollingFit
    shape: Shape
    free: int
    banded: Banded
    least: float


#: Whether an offer may lead to a better way than is known: from where it ends, what it keeps in fast memory, whether it
#: is plain, and what it costs.
Useful = Callable[[int, int, bool, float], bool]


class _Group(NamedTuple):
    """Offers that end at one cut, keep the same and are all plain or not: useful they are or not by what they cost."""

    end: int
    kept: int
    plain: bool
    least: float  #: that one of them costs
    offers: list[Offer]


def _grouped(offers: Iterable[Offer]) -> list[_Group]:
    groups: dict[tuple[int, int, bool], list[Offer]] = {}
    for offer in offers:
        groups.setdefault((offer.edge.segment.end, offer.edge.kept, offer.plain), []).append(offer)
    return [_Group(*group, min(offer.cost for offer in found), found) for group, found in groups.items()]


class Repeated:
    """What leads on from ways to cuts from which a program goes on as from an earlier one.

    What is told of that cut is moved to the others: segments lie so many operators further on, and sets hold what those
    operators made. Limits that differ from step to step tell cuts apart, so nothing is moved then.
    """

    def __init__(self, sets: Crossings, aim: Aim) -> None:
        self._sets = sets
        self._earliest: list[int] = []
        reach = Reach.of(len(sets.index.ops), aim.slow > 0)
        self._reach = max(reach.rolling, reach.whole)
        if not aim.less and not aim.apart:
            self._earliest = earliest_crossed_alike(sets, self._reach)
        self._count = Counter(self._earliest)
        self._shifts = sets.index.cache(_Shifts)
        self._told: dict[Hashable, tuple[int, list[_Group]]] = {}
        self._more: dict[Hashable, list[_Group]] = {}

    def at(self, cut: int) -> bool:
        """Whether what leads on from a cut also leads on from several others."""
        return bool(self._earliest) and self._count[self._earliest[cut]] >= SEVERAL_CUTS

    def offers(self, cut: int, label: Label, tell: Callable[[], Iterator[Offer]], useful: Useful) -> Iterator[Offer]:
        """All that is useful of what leads on from a way; `tell` tells it where no way that is alike came before."""
        sets, first, descent = self._sets, self._earliest[cut], label.descent
        back = self._shift(cut, first)
        earlier = back.of(sets.since(descent.since, cut)) if descent.member else 0
        row = descent._replace(since=0, member=back.of(descent.member))
        key = first, back.of(label.fast), label.plain, row, earlier
        if key not in self._told:
            offers = list(tell())
            self._told[key] = cut, _grouped(offers)
            return iter(offers)
        told, grouped = self._told[key]
        return self._moved(grouped, key, self._shift(told, cut), descent, useful)

    def _moved(
        self, grouped: list[_Group], key: Hashable, shift: _Shift, descent: Descent, useful: Useful
    ) -> Iterator[Offer]:
        """Those that are useful, moved to another cut. `descent`: of the way there; where it goes on, it began where it
        did, and otherwise at the cut."""
        for group in grouped:
            kept, end = shift.of(group.kept), group.end + shift.steps
            if not useful(end, kept, group.plain, group.least):
                continue
            for offer in group.offers:
                if not useful(end, kept, group.plain, offer.cost):
                    continue
                grown = offer.descent
                if grown is not None and grown.member:
                    began = shift.end if grown.since == shift.first else descent.since
                    grown = grown._replace(since=began, member=shift.of(grown.member))
                more = None if offer.more is None else partial(self._moved_more, offer, key, shift, descent, useful)
                yield Offer(shift.edge(offer.edge, kept), offer.cost, group.plain, grown, more)

    def _moved_more(
        self, offer: Offer, key: Hashable, shift: _Shift, descent: Descent, useful: Useful
    ) -> Iterator[Offer]:
        key = key, offer.edge
        if key not in self._more:
            assert offer.more is not None
            self._more[key] = _grouped(offer.more())
        return self._moved(self._more[key], key, shift, descent, useful)

    def _shift(self, first: int, end: int) -> _Shift:
        key = first, end, self._reach, self._sets.alignment
        found = self._shifts.get(key)
        if found is None:
            found = self._shifts[key] = _Shift(self._sets, first, end, self._reach)
        return found


class _Shift:
    """From cut `first` to cut `end`, from which `reach` operators are alike."""

    def __init__(self, sets: Crossings, first: int, end: int, reach: int) -> None:
        self.first, self.end, self.steps = first, end, end - first
        self._sets, self._last = sets, min(first + reach, len(sets.index.ops))
        self._known: dict[int, int] = {0: 0}

    def of(self, names: int) -> int:
        """What plays the same part as a set."""
        if not self.steps:
            return names
        found = self._known.get(names)
        if found is None:
            found = self._known[names] = sum(map(self._bit, bits(names)))
        return found

    def _bit(self, place: int) -> int:
        index = self._sets.index
        name = self._sets.tenant(place, self._last)
        birth = index.lives[name].birth
        return self._sets.bit[name if birth < 0 else index.ops[birth + self.steps].output]

    def edge(self, edge: Edge, kept: int) -> Edge:
        """The same so many operators further on; `kept`: what plays the part of what it keeps."""
        one, steps = edge.segment, self.steps
        moved = Segment(one.first + steps, one.end + steps, one.banded, one.keep, one.direct)
        return Edge(moved, self.of(edge.loaded), self.of(edge.stored), kept, edge.beside, edge.spared)


class _Shifts(dict[tuple[int, int, int, int], _Shift]):
    """By both cuts, how many operators are alike, and the alignment."""

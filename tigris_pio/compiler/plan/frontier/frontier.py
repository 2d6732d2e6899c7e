"""One search over the cuts of a program for the cheapest schedule at every level of memory.

A label is known by its cut, the tensors in fast memory there, whether the next operator may join its last stage, and
the tensor that grew over another last. Its value is a vector over the levels. Segments connect labels, and their cost
at every level follows from the bytes they take. Labels leave out offsets, windows that are parked or stairs, and the
run-time state that stages share. Arranging a point finds these (`plan/arrange.py`).
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from tigris_pio.compiler.plan.cut.crossings import Crossings
from tigris_pio.compiler.plan.cut.recompute_sweep import RecomputingFit
from tigris_pio.compiler.plan.frontier.label import Edge, Label, Step
from tigris_pio.compiler.plan.frontier.segments import Banded, Costs, Segments, Table, Whole
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.format.enums import Home

#: Labels of a cut that are kept at each level, beside those that hold least and most in fast memory. 16 find the same
#: plans of all networks in twice the time.
WIDTH = 4
#: Outputs that grow over inputs and rows made again are looked at if they may save this share of running whole.
LEAST_GAIN = 1e-4
#: Segments that make rows again are looked at so many at a time.
CHUNK = 8


@dataclasses.dataclass(frozen=True)
class Stretch:
    """A segment of a point.

    rows: rows of a band by live bytes; None: it runs whole
    grows: its outputs grow over its inputs
    slow: the tensors in slow memory that it reads or leaves, as a set
    cost: its estimated cost
    """

    segment: Segment
    rows: int | None
    grows: bool
    slow: int
    cost: float


@dataclasses.dataclass(frozen=True)
class Point:
    """The cheapest schedule at a level of memory by the estimates: `cost` instructions beyond running whole."""

    level: int
    cost: float
    stretches: tuple[Stretch, ...]
    homes: Mapping[str, Home]


#: What segments in bands of so many rows cost more than told, by segment and what of them lies in slow memory.
Corrections = Mapping[tuple[Segment, int], Mapping[int, float]]


@dataclasses.dataclass(frozen=True)
class Frontier:
    """curve: the cost of the cheapest schedule at each of `levels`; infinite where there is none."""

    levels: np.ndarray
    curve: np.ndarray
    _ends: Sequence[Label]
    _steps: Sequence[Step]
    _sets: Crossings

    def point(self, place: int) -> Point:
        """The schedule at a level that has one."""
        label = min(self._ends, key=lambda each: float(each.cost[place]))
        cost, taken = float(label.cost[place]), []
        while (number := int(label.step[place])) >= 0:
            step = self._steps[number]
            edge, rows = step.edge, None if step.rows is None else int(step.rows[place])
            more = float(label.cost[place] - step.source.cost[place])
            taken.append((edge, Stretch(edge.segment, rows, edge.grows, edge.loaded | edge.stored, more)))
            label = step.source
        taken.reverse()
        return Point(int(self.levels[place]), cost, tuple(stretch for _, stretch in taken),
                     self._homes(label.fast, [edge for edge, _ in taken]))  # fmt: skip

    def _homes(self, inputs: int, edges: Iterable[Edge]) -> Mapping[str, Home]:
        named = self._sets.named
        homes = dict.fromkeys(named(inputs, 0), Home.FAST)
        homes |= dict.fromkeys(named(self._sets.across[0] & ~inputs, 0), Home.SLOW)
        for edge in edges:
            homes |= dict.fromkeys(named(edge.kept, edge.segment.end), Home.FAST)
            homes |= dict.fromkeys(named(edge.stored, edge.segment.end), Home.SLOW)
        return homes


def find_frontier(
    index: ProgramIndex, slow: int, alignment: int, levels: np.ndarray, corrections: Corrections,
    views: int | None = None, most: float = math.inf,
) -> Frontier:  # fmt: skip
    """That of a program beside `slow` bytes of slow memory.

    views: tensors of which no stage touches more
    most: schedules that cost as much are of no use
    """
    return _Search(Segments(index, slow, alignment, int(levels[-1]), views), levels, corrections, most).found()


class _Search:
    def __init__(self, segments: Segments, levels: np.ndarray, corrections: Corrections, most: float) -> None:
        self.segments, self.sets, self.prices = segments, segments.sets, segments.prices
        self.levels, self.corrections = levels.astype(np.float64), corrections
        self.exact, self.most = levels, most
        self.steps: list[Step] = []
        self.at: list[dict[tuple[int, bool, int], Label]] = [{} for _ in self.sets.across]
        self.kept: list[list[Label]] = []
        self.gain = LEAST_GAIN * sum(self.segments.costs.whole)

    def found(self) -> Frontier:
        for fast in self.segments.starts():
            self._label(0, fast, False, 0).cost[:] = 0.0
        for cut in range(len(self.at)):
            self._make_again(cut)
            self.kept.append(self._best(cut))
            if cut + 1 < len(self.at):
                for label in self.kept[cut]:
                    self._run_whole(cut, label)
                    lowest = float(self.levels[int(np.argmax(np.isfinite(label.cost)))])
                    self._roll(list(self.segments.rolling(cut, label, lowest)))
        ends = self.kept[-1]
        curve = np.minimum.reduce([label.cost for label in ends]) if ends else np.full(len(self.exact), np.inf)
        return Frontier(self.exact, curve, ends, self.steps, self.sets)

    def _label(self, cut: int, fast: int, joins: bool, member: int) -> Label:
        key = fast, joins, member
        if key not in self.at[cut]:
            self.at[cut][key] = Label(fast, joins, member, len(self.levels))
        return self.at[cut][key]

    def _known(self, cut: int, fast: int) -> np.ndarray:
        """The cost, by level, of the label at a cut with these fast tensors and no chain.

        Other labels with the same fast tensors are of use only at a lower cost.
        """
        label = self.at[cut].get((fast, False, 0))
        return self._nothing if label is None else label.cost

    @property
    def _nothing(self) -> np.ndarray:
        return np.full(len(self.levels), np.inf)

    # -- ways on

    def _run_whole(self, cut: int, label: Label) -> None:
        for one in self.segments.whole(cut, label):
            total = np.where(self.levels >= one.need, label.cost + one.cost, np.inf)
            member, depth = self._chain(label, one)
            self._take(label, one.edge, one.joins, member, total, depth, None)

    def _chain(self, label: Label, one: Whole) -> tuple[int, np.ndarray]:
        if one.member is not None:
            return one.member, label.depth + one.deeper
        return label.member & self.segments.after(label, one.edge), label.depth

    def _roll(self, found: Sequence[Banded]) -> None:
        """Segments in bands, without outputs that grow over inputs and with."""
        if not found:
            return
        table, costs = self._costs(found)
        before = np.array([one.source.cost for one in found])
        ends = [self.segments.after(one.source, one.edge) for one in found]
        known = np.array([self._known(one.edge.segment.end, fast) for one, fast in zip(found, ends, strict=True)])
        total = before + costs.cost
        for place in np.flatnonzero((total < known).any(axis=1)).tolist():
            one = found[place]
            member = one.source.member & ends[place]
            self._take(one.source, one.edge, False, member, total[place], one.source.depth, costs.rows[place])
        self._grow(found, table, before, known, ends)

    def _costs(self, found: Sequence[Banded]) -> tuple[Table, Costs]:
        table = Table(found, self.prices.copy)
        costs = table.costs(self.levels)
        for place, one in enumerate(found):
            self._correct(one, costs.cost[place], costs.rows[place])
        return table, costs

    def _correct(self, one: Banded, cost: np.ndarray, rows: np.ndarray) -> None:
        for height, more in self.corrections.get((one.edge.segment, one.edge.loaded | one.edge.stored), {}).items():
            cost[rows == height] += more

    def _grow(
        self, found: Sequence[Banded], table: Table, before: np.ndarray, known: np.ndarray, ends: Sequence[int]
    ) -> None:
        """Tries overlapping outputs and inputs, but only for segments that could then improve on a known label."""
        size, every = self.sets.size, range(len(found))
        small = self.segments.index.is_small  # in larger programs drafts of all that make rows again take too long
        able = [place for place in every if found[place].eats and found[place].edge.kept
                and (small or found[place].edge.segment.keep)]  # fmt: skip
        if not able:
            return
        most = np.array([[min(size(one.eats), size(one.edge.kept))] for one in found], np.float64)
        hope = before + table.costs(self.levels, most).cost
        hopeful = (hope < known - self.gain).any(axis=1)
        chosen = [(place, grown) for place in able
                  if hopeful[place] and (grown := self.segments.grown(found[place])) is not None]  # fmt: skip
        if not chosen:
            return
        ones, growths = [found[place] for place, _ in chosen], [grown for _, grown in chosen]
        depth = np.array([one.source.depth if one.source.member == grown.pair.eaten
                          else np.full(len(self.levels), size(grown.pair.eaten))
                          for one, grown in zip(ones, growths, strict=True)])  # fmt: skip
        lead = np.array([[grown.lead] for grown in growths])
        # What is whole in fast memory beside the chain; windows lie above it and need not be counted.
        others = np.array([[one.need - one.windows.bytes - size(grown.pair.eaten) - size(grown.pair.grown)]
                           for one, grown in zip(ones, growths, strict=True)])  # fmt: skip
        growth = np.array([[grown.pair.growth] for grown in growths])
        above = self.levels - others - depth - lead
        rows = np.where(growth > 0, np.floor(above / np.where(growth > 0, growth, 1.0)) + 1, np.inf)
        rows = np.where(above >= 0, rows, 0)
        saving = np.array([[grown.saving] for grown in growths], np.float64)
        leads = np.array([[grown.growth] for grown in growths])
        costs = Table(ones, self.prices.copy).costs(self.levels, saving, leads, rows)
        for at, (place, grown) in enumerate(chosen):
            one, end = ones[at], found[place].edge.segment.end
            self._correct(one, costs.cost[at], costs.rows[at])
            total = before[place] + costs.cost[at]
            total[total >= self._known(end, ends[place])] = np.inf
            after = np.maximum(size(grown.pair.grown), depth[at] + lead[at] + growth[at] * (costs.rows[at] - 1))
            self._take(one.source, one.edge._replace(grows=True), False, grown.pair.grown, total, after, costs.rows[at])

    def _take(
        self, source: Label, edge: Edge, joins: bool, member: int, total: np.ndarray, depth: np.ndarray,
        rows: np.ndarray | None,
    ) -> None:  # fmt: skip
        """Improves the label at the end of an edge, at the levels where `total` is lower."""
        if not (total < self.most).any():
            return
        label = self._label(edge.segment.end, self.segments.after(source, edge), joins, member)
        better = total < np.minimum(label.cost, self.most)
        if better.any():
            np.copyto(label.cost, total, where=better)
            label.step[better] = len(self.steps)
            if member:
                np.copyto(label.depth, depth, where=better)
            self.steps.append(Step(source, edge, None if rows is None else rows.astype(np.int32)))

    def _make_again(self, end: int) -> None:
        """Takes segments up to a cut that make rows again, as long as one with the tallest bands may improve on a known
        label."""
        before = [label.cost for cut in range(max(0, end - self.segments.reach.again), end) for label in self.kept[cut]]
        first = max(0, end - self.segments.reach.again)
        if not before or (not self.segments.slow and self.segments.first_beyond(self.levels[0], first, end) == end):
            return
        here = [label.cost for label in self.at[end].values()]
        worst = np.maximum.reduce(here) if here else self._nothing
        least = np.minimum.reduce(before)
        fits = self.segments.again(end)
        while chunk := list(itertools.islice(fits, CHUNK)):
            hopes = Table([self.segments.hope(end, fit) for fit, _ in chunk], self.prices.copy).costs(self.levels)
            hopeful = (least + hopes.cost < worst - self.gain).any(axis=1)
            useful = [chunk[place] for place in np.flatnonzero(hopeful).tolist()]
            self._roll([banded for found in useful for banded in self._repeated(end, *found)])
            if not hopeful.any():
                return

    def _repeated(self, end: int, fit: RecomputingFit, apart: RecomputingFit | None) -> Iterator[Banded]:
        for label in self.kept[fit.first]:
            yield from self.segments.repeated(end, fit, apart, label)

    # -- dominance

    def _best(self, cut: int) -> list[Label]:
        """The labels of a cut that are not dominated, with infinite cost at the levels where they are.

        A label is dominated by another that holds no more in fast memory and costs no more, even after loading the rest
        for each reader.
        """
        found = [label for label in self.at[cut].values() if np.isfinite(label.cost).any()]
        if len(found) < 2:
            return found
        found.sort(key=lambda label: label.fast.bit_count())
        cost, depth = np.array([label.cost for label in found]), np.array([label.depth for label in found])
        for place, one in enumerate(found):
            others = [at for at, other in enumerate(found) if at != place and self._may_better(one, other)]
            if not others:
                continue
            more = np.array([[self._reload(cut, found[at].fast & ~one.fast)] for at in others])
            dearer = np.isfinite(cost[others]) & (cost[place] + more <= cost[others])
            if one.member:
                same = np.array([[one.member == found[at].member] for at in others])
                dearer &= ~same | (depth[place] <= depth[others])
            kept = cost[others]
            kept[dearer] = np.inf
            cost[others] = kept
        if len(found) > WIDTH:
            across = self.sets.across[cut]
            ends = np.array([[label.fast in (0, across) and not label.member] for label in found])
            ahead = cost + self.prices.slow_byte * np.array([[self.sets.size(across & ~one.fast)] for one in found])
            bound = np.partition(ahead, WIDTH - 1, axis=0)[WIDTH - 1]
            cost[~ends & (ahead > bound)] = np.inf
        for label, costs in zip(found, cost, strict=True):
            label.cost = costs
        return [label for label in found if np.isfinite(label.cost).any()]

    def _may_better(self, one: Label, other: Label) -> bool:
        if (one.fast & ~other.fast) or (other.joins and not one.joins):
            return False
        return not one.member or one.member == other.member or bool(one.member & ~other.fast)

    def _reload(self, cut: int, names: int) -> float:
        """Instructions of bringing tensors anew for each reader."""
        uses = self.segments.index.uses_within
        steps = len(self.sets.makes)
        return sum(max(1, len(uses(name, cut, steps))) * self.prices.slow_byte * self.sets.size(self.sets.bit[name])
                   for name in self.sets.named(names, cut))  # fmt: skip

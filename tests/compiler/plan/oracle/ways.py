"""The ways to run each segment of a program as one stage, as the planner drafts them."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np

from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.plan.band.paces import rolling_paces, tallest_height
from tigris_pio.compiler.plan.band.parking import find_parking
from tigris_pio.compiler.plan.band.spatial import Draft, draft_stage, window_name
from tigris_pio.compiler.plan.band.stairs import find_stairs
from tigris_pio.compiler.plan.cost import stage_cost
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.lifetimes import Lifetime
from tigris_pio.compiler.plan.memory.request import Piece, Request
from tigris_pio.compiler.plan.memory.sharing import Kind, Link, links_of
from tigris_pio.compiler.plan.placement import home_request
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.format.enums import Home
from tigris_pio.format.records import VIEW_STATE_BYTES

Homes = Mapping[str, Home]


@dataclasses.dataclass(frozen=True, eq=False)
class Way:
    """One way to run a stage.

    homes: memory assignment of the tensors that the stage reads and leaves
    windows: requests that live within the stage: windows, parked rows, scratch
    stairs: pieces of homes that some bands do not need whole
    """

    index: ProgramIndex
    draft: Draft
    homes: Homes
    windows: tuple[Request, ...]
    stairs: Mapping[str, tuple[Piece, ...]]

    @property
    def first(self) -> int:
        """The stage's first operator."""
        return self.draft.segment.first

    @property
    def end(self) -> int:
        """The cut behind its last operator."""
        return self.draft.segment.end

    @cached_property
    def cost(self) -> float:
        """Instructions, slow bytes included."""
        return stage_cost(self.index, self.draft)

    @cached_property
    def taken(self) -> Mapping[str, tuple[Piece, ...]]:
        """All that the stage itself takes of the fast arena, by request."""
        first, last = self.first, self.end - 1
        throughout = self.draft.segment.banded or self.index.ops[first].images > 1
        pieces = {request.name: request.taken for request in self.windows}
        for name in (name for name, home in self.homes.items() if home is Home.FAST):
            life = self.index.lives[name]
            now = Lifetime(first, last) if throughout else Lifetime(max(first, life.birth), min(last, life.death))
            pieces[home_request(name)] = self.stairs.get(name, (Piece(0, self.index.tensor(name).bytes, now),))
        return pieces

    @cached_property
    def bytes(self) -> int:
        """The least fast memory of the stage alone. Of two requests that may share memory it counts the larger."""
        sizes = {name: sum(piece.bytes for piece in pieces) for name, pieces in self.taken.items()}
        smaller = {min(link.first, link.second, key=sizes.__getitem__) for link in self.links}
        pieces = [piece for name, found in self.taken.items() if name not in smaller for piece in found]
        size, birth, death, top, bottom = np.array(
            [(p.bytes, p.life.birth, p.life.death, p.bands.birth, p.bands.death) for p in pieces]
        ).reshape(-1, 5).T  # fmt: skip
        steps = (birth <= birth[:, None]) & (birth[:, None] <= death)
        bands = (top <= top[:, None]) & (top[:, None] <= bottom)
        fullest = int(((steps * size) @ bands.T).max(initial=0))
        return VIEW_STATE_BYTES * len(self.draft.views) + fullest

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """The pairs that may share memory. An output may grow over an input from `offset` on and below."""
        grown = (Link(Kind.GROWS, home_request(o.eaten), home_request(o.grown), -o.lead) for o in self.draft.overlays)
        return (*grown, *self._in_place())

    def _in_place(self) -> Iterator[Link]:
        """The pairs that the operators of a stage that runs whole may share. Where images run one by one, a home has
        all of them and a window one, so the two do not lie alike."""
        segment, index = self.draft.segment, self.index
        if self.draft.bands > 1 or segment.direct:
            return
        windows = any(view.window for view in self.draft.views)
        together = index.ops[segment.first].images == 1 or (segment.end - segment.first == 1 and not windows)
        lies_in = {}
        for view in self.draft.views:
            if view.window and view.capacity_rows == index.tensor(view.tensor).height:
                lies_in[view.tensor] = window_name(segment, view.tensor)
            elif not view.window and self.homes.get(view.tensor) is Home.FAST and together:
                lies_in[view.tensor] = home_request(view.tensor)
        sizes = {name: index.tensor(tensor).bytes for tensor, name in lies_in.items()}
        for step in range(segment.first, segment.end):
            living = {lies_in[name] for name in lies_in if index.lives[name].death > step}
            for link in links_of(index.ops[step], lies_in, sizes):
                if 0 <= link.offset <= sizes[link.first] - sizes[link.second] and (
                    link.kind is Kind.HOLDS or link.first not in living
                ):
                    yield link


@dataclasses.dataclass(frozen=True, eq=False)
class Height:
    """A segment in one strategy and height of bands."""

    index: ProgramIndex
    draft: Draft
    homes: Homes

    @cached_property
    def cost(self) -> float:
        """The least cost of its ways."""
        return stage_cost(self.index, self.draft)

    @cached_property
    def ways(self) -> tuple[Way, ...]:
        """With windows in stairs, which never need more memory than whole ones, and with kept rows parked."""
        stairs = find_stairs(self.index, self.draft, self.homes)
        found = (stairs.windows, stairs.homes) if stairs else (self.draft.requests, {})
        plain = Way(self.index, self.draft, self.homes, *found)
        parking = find_parking(self.index, self.draft, self.homes)
        parked = parking and Way(self.index, parking.draft, self.homes, parking.windows, parking.homes)
        return (plain, parked) if parked else (plain,)


class Ways:
    """All ways to run the segments of a program, in one order of its operators; each is drafted once."""

    def __init__(self, index: ProgramIndex, alignment: int) -> None:
        self.index, self.alignment = index, alignment
        self._heights: dict[tuple[object, ...], list[Height]] = {}

    @property
    def least_cost(self) -> float:
        """A lower bound of the cost of all plans."""
        return self._whole[0][-1]

    def within(self, budget: Budget, most: float) -> list[Way]:
        """The ways of all plans within `budget` that cost at most `most`, and few others: those that fit alone, on a
        path over the cuts that is cheap enough."""
        before, after = self._whole
        ways = [way for first, end in self._pairs for homes in self._homes(first, end, budget)
                for way in self._fitting(first, end, homes, budget, most - before[first] - after[end])]  # fmt: skip
        costs = dict.fromkeys(self._pairs, math.inf)
        for way in ways:
            costs[way.first, way.end] = min(costs[way.first, way.end], way.cost)
        before, after = self._sums(costs)
        return [way for way in ways if before[way.first] + way.cost + after[way.end] <= most]

    @property
    def _pairs(self) -> Iterator[tuple[int, int]]:
        return itertools.combinations(range(len(self.index.ops) + 1), 2)

    def _homes(self, first: int, end: int, budget: Budget) -> Iterator[dict[str, Home]]:
        """The memory assignments of what a segment touches."""
        touched = (*self.index.inputs(first, end), *self.index.outputs(first, end))
        names = [name for name in touched if name in self.index.lives]
        memories = (Home.FAST, Home.SLOW) if budget.slow else (Home.FAST,)
        for homes in itertools.product(memories, repeat=len(names)):
            yield dict(zip(names, homes, strict=True))

    def _fitting(self, first: int, end: int, homes: Homes, budget: Budget, most: float) -> Iterator[Way]:
        assert budget.fast is not None
        if self._cost_whole(first, end, homes) > most:
            return
        key = (first, end, *homes.values())
        if key not in self._heights:
            self._heights[key] = list(_heights(self.index, first, end, homes))
        for height in self._heights[key]:
            if height.cost <= most:
                yield from (way for way in height.ways if way.cost <= most and way.bytes <= budget.fast)

    def _cost_whole(self, first: int, end: int, homes: Homes) -> float:
        """A lower bound of the cost of a segment: in one band, and nothing is loaded."""
        if len({op.images for op in self.index.ops[first:end]}) > 1:
            return math.inf
        outputs = self.index.outputs(first, end)
        fast = {name: home if name in outputs else Home.FAST for name, home in homes.items()}
        return stage_cost(self.index, draft_stage(self.index, Segment(first, end), 1, fast))

    @cached_property
    def _whole(self) -> tuple[list[float], list[float]]:
        fast = Budget(0)
        return self._sums({(first, end): self._cost_whole(first, end, next(self._homes(first, end, fast)))
                           for first, end in self._pairs})  # fmt: skip

    def _sums(self, costs: Mapping[tuple[int, int], float]) -> tuple[list[float], list[float]]:
        """The least costs before and behind each cut."""
        last = len(self.index.ops)
        before, after = [0.0], [0.0]
        for cut in range(1, last + 1):
            before.append(min(before[first] + costs[first, cut] for first in range(cut)))
            after.append(min(after[past] + costs[last - cut, last - past] for past in range(cut)))
        return before, after[::-1]


def _heights(index: ProgramIndex, first: int, end: int, homes: Homes) -> Iterator[Height]:
    """Whole, directly in slow memory, and in bands of every height that keep rows or make them again."""
    yield Height(index, draft_stage(index, Segment(first, end), 1, homes), homes)
    if Home.SLOW in homes.values() and end - first == 1:
        yield Height(index, draft_stage(index, Segment(first, end, direct=True), 1, homes), homes)
    for segment in Segment(first, end, True, True), Segment(first, end, True):
        if not all(index.bandable[first:end]) or not (_rolls if segment.keep else _repeats)(index, segment):
            continue
        bands = set()
        for rows in range(1, tallest_height(index, segment) + 1):
            draft = draft_stage(index, segment, rows, homes)
            if segment.keep or draft.bands not in bands:
                yield Height(index, draft, homes)
            bands.add(draft.bands)


def _rolls(index: ProgramIndex, segment: Segment) -> bool:
    """Whether every operator of a segment can be paced."""
    return rolling_paces(index, segment, 1) is not None


def _repeats(index: ProgramIndex, segment: Segment) -> bool:
    """Whether the operators of a segment may make rows again."""
    ops = index.ops[segment.first : segment.end]
    made = {op.output: index.tensor(op.output) for op in ops}
    once = any(tensor.folded or tensor.sequential or tensor.streamed for tensor in made.values())
    broadcast = any(not item.rows.numerator and item.tensor in made for op in ops for item in op.operands)
    return not once and not broadcast and index.tensor(ops[-1].output).height > 1

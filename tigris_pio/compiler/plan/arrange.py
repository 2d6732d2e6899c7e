"""Makes a plan with offsets from a schedule of the frontier: chooses bands and windows, places them, and repairs
misses.

The schedule's bands and homes come from live bytes. If one stage alone exceeds the limit, its bands get lower. Then all
memory is placed exactly. If that exceeds the limit, windows and homes are placed as stairs, then with parked rows. At
last the stages beyond the limit get lower bands. Schedules and their variants wait in one queue, ordered by cost.
"""

from __future__ import annotations

import dataclasses
import enum
import heapq
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tigris_pio.compiler.plan.attempt import Attempt
from tigris_pio.compiler.plan.band.paces import tallest_height
from tigris_pio.compiler.plan.band.parking import Parking, find_parking
from tigris_pio.compiler.plan.band.spatial import Draft, draft_stage
from tigris_pio.compiler.plan.band.stairs import Stairs, find_stairs
from tigris_pio.compiler.plan.cost import beyond_whole, stage_cost
from tigris_pio.compiler.plan.cut.pieces import joined
from tigris_pio.compiler.plan.frontier.frontier import Point, Stretch
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.memory.allocate import NODES, allocate
from tigris_pio.compiler.plan.memory.request import lower_bound
from tigris_pio.compiler.plan.placement import Arrangement, fast_requests, slow_requests, state_bytes, view_count
from tigris_pio.compiler.plan.residency import crossing_tensors
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.format.enums import Home
from tigris_pio.format.records import VIEW_STATE_BYTES
from tigris_pio.sizes import round_up

#: The most plans that are placed, that are placed after the first that fits, and that are placed though none is lower.
PLACINGS, BEYOND, FUTILE = 40, 4, 16
#: A plan replaces the best if it saves at least this share of running whole.
WORTH = 1e-3
#: How often the stages of a schedule that exceed the limit get lower bands.
MENDED = 3


class Kind(enum.IntEnum):
    """How a stage holds its windows: as they are, in stairs, or with their kept rows parked (`band/parking.py`)."""

    WHOLE = 0
    STAIRS = 1
    PARKED = 2


#: The kinds, as `tigris analyze -v` names them.
HOW = ("whole windows", "windows and inputs in stairs", "kept rows parked")


class Option(NamedTuple):
    """A stage of one kind. least: bytes that it takes beside what only lives through it, wherever it is placed."""

    draft: Draft
    pieces: Stairs | Parking | None
    least: int
    cost: float


class Height(NamedTuple):
    """Rows of a band of a stage, and whether its outputs grow over its inputs."""

    rows: int
    grows: bool


class Stages:
    """Drafts of a program's stages, and what they take; each is made once."""

    def __init__(self, index: ProgramIndex, alignment: int) -> None:
        self.index, self.alignment = index, alignment
        self.smallest: dict[tuple[int, int], Arrangement | None] = {}  #: by slow memory and what was enough
        self.placed: dict[tuple[object, ...], Arrangement] = {}  #: by all that a placement depends on
        self._known: dict[tuple[object, ...], Option | None] = {}

    @staticmethod
    def of(index: ProgramIndex, alignment: int) -> Stages:
        """Kept with the index."""
        return index.once(Stages, alignment)

    def option(self, segment: Segment, height: Height, homes: Mapping[str, Home], kind: Kind) -> Option | None:
        """A stage of one kind; None where it is the same as of the kind before."""
        index = self.index
        touched = (*index.inputs(segment.first, segment.end), *index.outputs(segment.first, segment.end))
        own = {name: homes[name] for name in touched if name in homes}
        key = segment, height, tuple(own.values()), kind
        if key not in self._known:
            self._known[key] = self._made(segment, height, own, kind)
        return self._known[key]

    def _made(self, segment: Segment, height: Height, own: Mapping[str, Home], kind: Kind) -> Option | None:
        index = self.index
        pieces: Stairs | Parking | None = None
        draft = draft_stage(index, segment, height.rows, own)
        if draft.overlays and segment.banded and not height.grows:
            draft = dataclasses.replace(draft, overlays=())
        if kind is Kind.STAIRS:
            pieces = find_stairs(index, draft, own)
        elif kind is Kind.PARKED:
            pieces = find_parking(index, draft, own)
        if kind is not Kind.WHOLE and pieces is None:
            return None
        if isinstance(pieces, Parking):
            draft = pieces.draft
        requests = fast_requests(index, [draft], own, self.alignment, [pieces] if pieces else ())
        return Option(draft, pieces, lower_bound(requests, self.alignment), stage_cost(index, draft))

    def options(self, segment: Segment, height: Height, homes: Mapping[str, Home]) -> Iterator[tuple[Kind, Option]]:
        """The stage in every kind that differs from the kinds before."""
        for kind in Kind:
            found = self.option(segment, height, homes, kind)
            if found is not None:
                yield kind, found


class Plan(NamedTuple):
    """Segments with the heights of those in bands.

    `told` has the point's segments, before those that run whole were joined. `choice` is the kind of windows to begin
    with, `mended` how often stages were lowered.
    """

    segments: tuple[Segment, ...]
    heights: tuple[Height, ...]
    told: tuple[Segment, ...] = ()
    choice: Kind = Kind.WHOLE
    mended: int = 0


class Arranger:
    """Looks for the cheapest arrangement within limits that costs less than `most` beyond running whole.

    limit, slow: bytes of fast and of slow memory
    hasty: the first arrangement that fits is good enough; stages that run whole are also split where more than their
      run-time state exceeds the limit
    """

    def __init__(
        self, stages: Stages, limit: int, slow: int, most: float, whole: float, tried: list[Attempt],
        hasty: bool = False,
    ) -> None:  # fmt: skip
        self.tried, self.hasty = tried, hasty
        self.stages, self.index, self.alignment = stages, stages.index, stages.alignment
        self.limit, self.slow, self.whole = limit, slow, whole
        self.best: Arrangement | None = None
        self.most = most  #: what plans must cost less than
        self.lowest: Arrangement | None = None  #: of those placed beside so much slow memory, within the limit or not
        self.placings = self.since = self.lowered = 0  #: in all, since the best, and until the lowest
        self._queue: list[tuple[float, int, Plan, Mapping[str, Home]]] = []
        self._seen: set[tuple[object, ...]] = set()
        self._number = itertools.count()
        self._raised = False

    def run(self, points: Iterable[Point]) -> None:
        """Tries points, and all that becomes of them. In haste these come at once, and the first that fits is it."""
        coming = iter(points)
        following = next(coming, None)
        while True:
            if following is not None and (not self._queue or following.cost < self._queue[0][0]):
                if following.cost >= self.most:
                    following = None
                    continue
                self._draft(following)
                following = next(coming, None)
                continue
            if not self._queue or self._queue[0][0] >= self.most or self._done:
                return
            _, _, plan, homes = heapq.heappop(self._queue)
            self.place(plan, homes)

    @property
    def _done(self) -> bool:
        enough = 0 if self.hasty else BEYOND
        if self.best is None:
            return self.placings >= PLACINGS or self.placings - self.lowered >= FUTILE
        return self.placings >= PLACINGS or self.since >= enough

    # -- heights

    def _draft(self, point: Point) -> None:
        """Queues the stages of a point, with bands as tall as its estimate. The first point within the limit is also
        queued with the tallest bands."""
        segments = tuple(each.segment for each in point.stretches)
        told = {each.segment: self._told(each) for each in point.stretches if each.rows is not None}
        first = point.level <= self.limit and not self._raised and not self.hasty
        self._raised = self._raised or first
        for taller in (False, True) if first else (False,):
            if not self._join(segments, told, point.homes, math.inf, taller):
                self._join(segments, told, point.homes, 0, taller)

    def _join(
        self, segments: tuple[Segment, ...], heights: Mapping[Segment, Height], homes: Mapping[str, Home], views: float,
        taller: bool = False,
    ) -> bool:  # fmt: skip
        """Puts those that run whole together, as far as stages then touch no more than so many tensors, or than one
        does anyway; whether each stage fits alone."""
        index, steps = self.index, len(self.index.body.ops)
        commits = [Segment(step, step + 1, direct=True) for step in range(steps, len(index.ops))]
        least = max(view_count(index, segment) for segment in segments)
        parts = (*joined(index, segments, homes, int(min(max(views, least), len(index.program.tensors)))), *commits)
        lives = {name: homes.get(name, Home.FAST) for name in crossing_tensors(index, parts)}
        plan = Plan(parts, tuple(heights.get(part, Height(1, True)) for part in parts), segments)
        return self.add(plan, lives, taller=taller)

    def _told(self, stretch: Stretch) -> Height:
        assert stretch.rows is not None
        return Height(min(stretch.rows, tallest_height(self.index, stretch.segment)), stretch.grows)

    def add(
        self, plan: Plan, homes: Mapping[str, Home], less: Mapping[Segment, int] | None = None, taller: bool = False
    ) -> bool:
        """Puts a plan in the queue if it costs less than the best. A stage that alone exceeds the limit gets lower
        bands.

        less: bytes that a stage must leave free
        taller: stages get the tallest bands that fit

        Returns whether each stage fits alone.
        """
        heights, rooms = [], self._rooms(plan, homes)
        for segment, height, room in zip(plan.segments, plan.heights, rooms, strict=True):
            tall = height._replace(rows=tallest_height(self.index, segment)) if taller and segment.banded else height
            if (found := self._lowered(segment, tall, homes, room - (less or {}).get(segment, 0))) is None:
                return False
            heights.append(found)
        plan = plan._replace(heights=tuple(heights))
        picked = self._picked(plan, homes, rooms, plan.choice)
        if picked is None:
            return False
        key, cost = self._key(picked, homes), self._cost(picked)
        if key not in self._seen and cost < self.most:
            self._seen.add(key)
            heapq.heappush(self._queue, (-math.inf if self.hasty else cost, next(self._number), plan, homes))
        return True

    def _rooms(self, plan: Plan, homes: Mapping[str, Home]) -> list[int]:
        """Bytes of fast memory for each stage, beside what only lives through it."""
        index, state = self.index, state_bytes(self.index, plan.segments, self.alignment)
        born = np.zeros(len(index.ops) + 3, np.int64)  # entry 0 is step -1
        died = born.copy()
        for name, home in homes.items():
            if home is Home.FAST:
                size = round_up(index.tensor(name).bytes, self.alignment)
                born[index.lives[name].birth + 1] += size
                died[index.lives[name].death + 1] += size
        born, died = np.cumsum(born), np.cumsum(died)
        rooms = []
        for segment in plan.segments:
            touched = {*index.inputs(segment.first, segment.end), *index.outputs(segment.first, segment.end)}
            own = sum(round_up(index.tensor(name).bytes, self.alignment) for name in touched
                      if homes.get(name) is Home.FAST and self._lives_in(name, segment))  # fmt: skip
            rooms.append(self.limit - state - int(born[segment.end] - died[segment.first]) + own)
        return rooms

    def _lives_in(self, name: str, segment: Segment) -> bool:
        life = self.index.lives[name]
        return life.birth < segment.end and segment.first <= life.death

    def _lowered(self, segment: Segment, height: Height, homes: Mapping[str, Home], room: int) -> Height | None:
        """The tallest bands up to `height` with which a stage alone fits `room` bytes; None if there are none."""
        if not segment.banded:
            return height
        if self._fits(segment, height, homes, room):
            return height
        for grows in (height.grows, not height.grows):
            if not self._fits(segment, Height(1, grows), homes, room):
                continue
            low, high = 1, height.rows
            while low + 1 < high:
                middle = (low + high) // 2
                fits = self._fits(segment, Height(middle, grows), homes, room)
                low, high = (middle, high) if fits else (low, middle)
            return Height(low, grows)
        return None

    def _fits(self, segment: Segment, height: Height, homes: Mapping[str, Home], room: int) -> bool:
        return any(option.least <= room for _, option in self.stages.options(segment, height, homes))

    # -- offsets

    def _picked(
        self, plan: Plan, homes: Mapping[str, Home], rooms: Sequence[int], choice: Kind
    ) -> list[tuple[Kind, Option]] | None:
        """Picks for each stage the first kind, from `choice` on, that fits alone; None if some stage fits in none."""
        picked = []
        for segment, height, room in zip(plan.segments, plan.heights, rooms, strict=True):
            found = list(self.stages.options(segment, height, homes))
            fitting = [one for one in found if one[1].least <= room or not segment.banded]
            if not fitting:
                return None
            picked.append(next((one for one in fitting if one[0] >= choice), fitting[-1]))
        return picked

    def _cost(self, picked: Sequence[tuple[Kind, Option]]) -> float:
        return beyond_whole(self.index, ((option.draft, option.cost) for _, option in picked))

    def place(self, plan: Plan, homes: Mapping[str, Home]) -> None:
        """Searches for offsets. Where they exceed the limit, what may become of the plan is put in the queue."""
        self.placings += 1
        self.since += self.best is not None
        state = state_bytes(self.index, plan.segments, self.alignment)
        rooms = self._rooms(plan, homes)
        missed: Arrangement | None = None
        for choice in (Kind.WHOLE, Kind.STAIRS) if plan.choice is Kind.WHOLE else (plan.choice,):
            picked = self._picked(plan, homes, rooms, choice)
            assert picked is not None, "a plan in the queue fits stage by stage"
            alike = all(kind is Kind.WHOLE for kind, _ in picked)
            if choice is Kind.STAIRS and alike:
                break
            found = self._placed(picked, homes, state, exactly=choice > Kind.WHOLE or alike)
            if found.slow.peak > self.slow:
                return
            if self.lowest is None or found.fast_bytes < self.lowest.fast_bytes:
                self.lowest, self.lowered = found, self.placings
            if found.fast_bytes <= self.limit:
                self.best, self.since = found, 0
                self.most = self._cost(picked) - WORTH * self.whole
                return
            missed = found if missed is None or found.fast_bytes < missed.fast_bytes else missed
        assert missed is not None
        beyond = missed.fast_bytes - self.limit
        if plan.choice < Kind.PARKED:
            self.add(plan._replace(choice=Kind.PARKED), homes)
        views = max(view_count(self.index, segment) for segment in plan.segments)
        whole = not any(segment.banded for segment in plan.segments)
        if plan.told and (whole or self.hasty or beyond < VIEW_STATE_BYTES * views):
            heights = dict(zip(plan.segments, plan.heights, strict=True))
            self._join(plan.told, heights, homes, max(views // 2, views - -(-beyond // VIEW_STATE_BYTES)))
        if plan.mended < MENDED and (over := self._exceeding(missed)):
            # Each takes less than before. Otherwise a stage that takes little anyway would stay as it is.
            less = {s: max(round_up(beyond, self.alignment),
                             room + 1 - min(option.least for _, option in self.stages.options(s, tall, homes)))
                    for s, tall, room in zip(plan.segments, plan.heights, rooms, strict=True) if s in over}  # fmt: skip
            self.add(plan._replace(mended=plan.mended + 1, choice=Kind.WHOLE), homes, less)

    def settled(self) -> Arrangement | None:
        """The best, lower where that is soon found."""
        best = self.best
        if best is None or best.fast.proved_optimal:
            return best
        fast = allocate(best.requests, self.alignment)
        return dataclasses.replace(best, fast=fast) if fast.peak < best.fast.peak else best

    def _placed(
        self, picked: Sequence[tuple[Kind, Option]], homes: Mapping[str, Home], state: int, exactly: bool
    ) -> Arrangement:
        key = (self.limit, exactly, *self._key(picked, homes))
        if key in self.stages.placed:
            return self.stages.placed[key]
        drafts = tuple(option.draft for _, option in picked)
        pieces = [option.pieces for _, option in picked if option.pieces is not None]
        slow = allocate(slow_requests(self.index, drafts, homes), self.alignment)
        requests, room = fast_requests(self.index, drafts, homes, self.alignment, pieces), self.limit - state
        fast = allocate(requests, self.alignment, NODES if exactly else 0, max(1, room))
        kind = max(kind for kind, _ in picked)
        fits = fast.peak <= room and slow.peak <= self.slow
        self.tried.append(Attempt(HOW[kind], self.slow, "best so far" if fits else "exceeds", len(drafts),
                                  state + fast.peak, slow.peak, self._cost(picked)))  # fmt: skip
        found = self.stages.placed[key] = Arrangement(drafts, homes, requests, fast, slow, state)
        return found

    def _key(self, picked: Sequence[tuple[Kind, Option]], homes: Mapping[str, Home]) -> tuple[object, ...]:
        stages = tuple((option.draft.segment, option.draft.band_rows, bool(option.draft.overlays), kind)
                       for kind, option in picked)  # fmt: skip
        return stages, tuple(homes.items())

    def _exceeding(self, found: Arrangement) -> list[Segment]:
        """The stages in bands during which something lies beyond the limit."""
        over = [part.life for request in found.requests for part in request.contents
                if found.state_bytes + found.fast.offsets[part.name] + part.bytes > self.limit]  # fmt: skip
        segments = (draft.segment for draft in found.drafts if draft.segment.banded)
        return [s for s in segments if any(life.birth < s.end and s.first <= life.death for life in over)]


def rearranged(
    stages: Stages, found: Arrangement, segments: Sequence[Segment], limit: int
) -> Arrangement | None:
    """An arrangement in other segments, in which some operators that run whole have stages of their own."""
    heights = {draft.segment: Height(draft.band_rows, bool(draft.overlays)) for draft in found.drafts}
    homes = {name: found.homes.get(name, Home.FAST) for name in crossing_tensors(stages.index, segments)}
    arranger = Arranger(stages, limit, found.slow.peak, math.inf, 0.0, [])
    arranger.place(Plan(tuple(segments), tuple(heights.get(each, Height(1, True)) for each in segments)), homes)
    return arranger.best

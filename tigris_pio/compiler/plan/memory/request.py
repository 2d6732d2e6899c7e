"""What an allocator is asked for, what it answers, and the check that no answer escapes."""

from __future__ import annotations

import bisect
import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from functools import cached_property

from tigris_pio.compiler.plan.lifetimes import Lifetime
from tigris_pio.sizes import round_up


@dataclasses.dataclass(frozen=True)
class Part:
    """`bytes` of a request, `offset` from its start, that are taken during `life`."""

    name: str
    offset: int
    bytes: int
    life: Lifetime


@dataclasses.dataclass(frozen=True)
class Request:
    """`bytes` of arena during `life`, on a multiple of the arena's alignment.

    parts: what the bytes are for, when that is several things that lie at fixed distances from each other. They
    may overlap each other; bytes that no part takes at some step are free for others then.
    """

    name: str
    bytes: int
    life: Lifetime
    parts: tuple[Part, ...] = ()

    @property
    def contents(self) -> tuple[Part, ...]:
        """The parts; the request itself when it has none."""
        return self.parts or (Part(self.name, 0, self.bytes, self.life),)

    @cached_property
    def taken(self) -> tuple[Part, ...]:
        """What the request keeps others from: rectangles of bytes and steps that do not overlap."""
        if len(self.contents) == 1:
            return self.contents
        starts = sorted({step for part in self.parts for step in (part.life.birth, part.life.death + 1)})
        rectangles = []
        for birth, end in itertools.pairwise(starts):
            live = sorted(
                (part.offset, part.offset + part.bytes)
                for part in self.parts
                if part.bytes and part.life.birth <= birth <= part.life.death
            )
            for start, stop in _joined(live):
                rectangles.append(Part(self.name, start, stop - start, Lifetime(birth, end - 1)))
        return tuple(rectangles)


def _joined(intervals: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The union of sorted intervals [start, stop)."""
    joined: list[tuple[int, int]] = []
    for start, stop in intervals:
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(stop, joined[-1][1])
        else:
            joined.append((start, stop))
    return joined


@dataclasses.dataclass(frozen=True)
class Placement:
    """Offsets by the name of a request or a part of one, the highest byte used and which strategy found it."""

    offsets: Mapping[str, int]
    peak: int
    lower_bound: int
    strategy: str
    peaks: Mapping[str, int] = dataclasses.field(default_factory=dict)  #: of every strategy tried


def lower_bound(requests: Sequence[Request], alignment: int) -> int:
    """Most aligned bytes live at one step: no placement has a lower peak."""
    events: dict[int, int] = {}
    for request in requests:
        for part in request.taken if request.parts else (request,):
            size, birth, end = round_up(part.bytes, alignment), part.life.birth, part.life.death + 1
            events[birth] = events.get(birth, 0) + size
            events[end] = events.get(end, 0) - size
    live = peak = 0
    for step in sorted(events):
        live += events[step]
        peak = max(peak, live)
    return peak


def check(requests: Sequence[Request], offsets: Mapping[str, int], alignment: int) -> None:
    """Raises AssertionError when two requests that live together overlap, or one is misaligned.

    A sweep over births and deaths that keeps what is live sorted by offset, so only neighbours need comparing.
    """
    events = []
    for request in requests:
        for part in request.taken:
            start = offsets[request.name] + part.offset
            item = (start, start + part.bytes, request.name)
            events += [(part.life.birth, 1, item), (part.life.death + 1, 0, item)]
    live: list[tuple[int, int, str]] = []
    for _, born, item in sorted(events):
        start, end, name = item
        if start == end:
            continue
        place = bisect.bisect_left(live, item)
        if not born:
            del live[place]
            continue
        assert start >= 0 and start % alignment == 0, f"{name} at {start} is misaligned"
        assert place == 0 or live[place - 1][1] <= start, f"{name} overlaps {live[place - 1][2]}"
        assert place == len(live) or end <= live[place][0], f"{name} overlaps {live[place][2]}"
        live.insert(place, item)

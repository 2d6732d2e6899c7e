"""A placement as the exact search sees it: pieces of whole units, and the moments at which they meet."""

from __future__ import annotations

import bisect
import dataclasses
import functools
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence

from tigris_pio.compiler.plan.lifetimes import Lifetime
from tigris_pio.compiler.plan.memory.request import EVERY_BAND, Piece, Request
from tigris_pio.sizes import round_up

#: The bands of what is never taken.
NO_BAND = Lifetime(0, -1)
#: Where requests have several pieces, lower bounds are drawn from as many of the fullest sections as have so many
#: members together. U-Net's parked windows have 114,000 in 1,051 sections: searches take a fifth of the time, and its
#: smallest memory stays the same.
MOST_STACKED = 20_000


@dataclasses.dataclass(frozen=True)
class Problem:
    """Requests without bytes are left out. Heights and sizes are counted in units of `unit` bytes.

    Two pieces of different requests meet when some section holds both.
    """

    names: tuple[str, ...]  #: of the requests
    unit: int
    first_piece: tuple[int, ...]  #: of each request, then how many there are
    offset: tuple[int, ...]  #: of each piece from its request's start
    size: tuple[int, ...]
    sections: tuple[tuple[int, ...], ...]  #: pieces taken at one moment; none lies within another; the fullest first
    life: tuple[int, ...]  #: steps of each request
    area: tuple[int, ...]  #: units times steps

    @functools.cached_property
    def staircases(self) -> tuple[bool, ...]:
        """Which requests have several pieces, or one that does not begin at their start."""
        pairs = itertools.pairwise(self.first_piece)
        return tuple(end - first > 1 or self.offset[first] != 0 for first, end in pairs)

    @functools.cached_property
    def owner(self) -> tuple[int, ...]:
        """The request of each piece."""
        pairs = enumerate(itertools.pairwise(self.first_piece))
        return tuple(request for request, (first, end) in pairs for _ in range(first, end))

    @functools.cached_property
    def height(self) -> tuple[int, ...]:
        """Where the last piece of each request ends."""
        pairs = itertools.pairwise(self.first_piece)
        return tuple(max(self.offset[j] + self.size[j] for j in range(first, end)) for first, end in pairs)

    @functools.cached_property
    def load(self) -> tuple[int, ...]:
        """For each request the most bytes that are taken at one of its moments."""
        load = [0] * len(self.names)
        for section in self.sections:
            taken = sum(self.size[j] for j in section)
            for j in section:
                load[self.owner[j]] = max(load[self.owner[j]], taken)
        return tuple(load)

    @functools.cached_property
    def members(self) -> tuple[int, ...]:
        """The sections one behind the other."""
        return tuple(itertools.chain.from_iterable(self.sections))

    @functools.cached_property
    def first_member(self) -> tuple[int, ...]:
        """Where each section begins in `members`, then where they end."""
        return tuple(itertools.accumulate(map(len, self.sections), initial=0))

    @functools.cached_property
    def stacked(self) -> int:
        """The number of sections, from the first on, for which a search computes lower bounds."""
        if not any(self.staircases):
            return len(self.sections)
        return bisect.bisect_left(self.first_member[:-1], MOST_STACKED)

    def bytes(self, units: int) -> int:
        """A height in bytes."""
        return units * self.unit


def state_problem(requests: Sequence[Request], alignment: int) -> Problem:
    """The problem of placing `requests`, every piece from one multiple of the alignment to another."""
    taken = [(request, [piece for piece in request.taken if piece.bytes]) for request in requests]
    solid = [(request, [*pieces, *_beyond(request, pieces, alignment)]) for request, pieces in taken if pieces]
    everything = [piece for _, pieces in solid for piece in pieces]
    offsets = [piece.offset - piece.offset % alignment for piece in everything]
    ends = [round_up(piece.offset + piece.bytes, alignment) for piece in everything]
    sizes = [end - offset for offset, end in zip(offsets, ends, strict=True)]
    unit = math.gcd(*sizes, *offsets) or 1
    there = [place for place, piece in enumerate(everything) if piece.bands is not NO_BAND]
    found = find_sections([everything[place] for place in there])
    sections = [tuple(there[place] for place in section) for section in found]
    sections.sort(key=lambda section: -sum(sizes[j] for j in section))
    return Problem(
        names=tuple(request.name for request, _ in solid),
        unit=unit,
        first_piece=tuple(itertools.accumulate((len(pieces) for _, pieces in solid), initial=0)),
        offset=tuple(offset // unit for offset in offsets),
        size=tuple(size // unit for size in sizes),
        sections=tuple(sections),
        life=tuple(_steps(request) for request, _ in solid),
        area=tuple(sum(piece.bytes * _steps(piece) for piece in pieces) // unit for _, pieces in taken if pieces),
    )


def _beyond(request: Request, pieces: Sequence[Piece], alignment: int) -> Iterator[Piece]:
    """The part of a request that it takes at no moment. It must lie in the arena, and meets nothing."""
    end = max(piece.offset + round_up(piece.bytes, alignment) for piece in pieces)
    if request.bytes > end:
        yield Piece(end, request.bytes - end, request.life, NO_BAND)


def _steps(taken: Request | Piece) -> int:
    return taken.life.death - taken.life.birth + 1


def find_sections(pieces: Sequence[Piece]) -> list[tuple[int, ...]]:
    """The largest sets of pieces that are taken at one moment, in the order of moments."""
    sections: list[tuple[int, ...]] = []
    some_bands = False
    for at_step in _largest((piece.life.birth, piece.life.death, j) for j, piece in enumerate(pieces)):
        always = [j for j in at_step if pieces[j].bands is EVERY_BAND]
        banded = [j for j in at_step if pieces[j].bands is not EVERY_BAND]
        some_bands |= bool(banded)
        by_band = _largest((pieces[j].bands.birth, pieces[j].bands.death, j) for j in banded) if banded else [()]
        sections += [tuple(sorted((*always, *some))) for some in by_band]
    if not some_bands:
        return sections
    sets = [frozenset(section) for section in dict.fromkeys(sections)]
    holding: dict[int, list[frozenset[int]]] = {}
    for one in sets:
        for piece in one:
            holding.setdefault(piece, []).append(one)
    # What holds all pieces of a set holds the one of them that the fewest sets hold.
    fewest = (min((holding[piece] for piece in one), key=len, default=[]) for one in sets)
    return [tuple(sorted(one)) for one, others in zip(sets, fewest, strict=True)
            if not any(one < other for other in others)]  # fmt: skip


def _largest(intervals: Iterable[tuple[int, int, int]]) -> list[tuple[int, ...]]:
    """The largest sets of intervals (first, last, key) with a point in common, as keys."""
    coming = sorted(intervals)
    live: dict[int, int] = {}  # last points by key
    found = []
    for place, (first, last, key) in enumerate(coming):
        live = {other: end for other, end in live.items() if end >= first}
        live[key] = last
        following = coming[place + 1][0] if place + 1 < len(coming) else None
        if following is None or min(live.values()) < following:
            found.append(tuple(live))
    return found

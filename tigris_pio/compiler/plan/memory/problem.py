"""A placement as the exact search sees it: pieces of whole units, and the moments at which they meet."""

from __future__ import annotations

import bisect
import dataclasses
import functools
import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

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
    sections: np.ndarray  #: whether each section (row) has each piece: those taken at one moment; the fullest first
    life: tuple[int, ...]  #: steps of each request
    area: tuple[int, ...]  #: units times steps

    @functools.cached_property
    def staircases(self) -> tuple[bool, ...]:
        """Which requests have several pieces, or one that does not begin at their start."""
        pairs = itertools.pairwise(self.first_piece)
        return tuple(end - first > 1 or self.offset[first] != 0 for first, end in pairs)

    @functools.cached_property
    def height(self) -> tuple[int, ...]:
        """Where the last piece of each request ends."""
        pairs = itertools.pairwise(self.first_piece)
        return tuple(max(self.offset[j] + self.size[j] for j in range(first, end)) for first, end in pairs)

    @functools.cached_property
    def load(self) -> tuple[int, ...]:
        """For each request the most bytes that are taken at one of its moments."""
        taken = self.sections @ np.array(self.size)
        most = np.where(self.sections, taken[:, None], 0).max(axis=0)
        return tuple(np.maximum.reduceat(most, self.first_piece[:-1]).tolist())

    @functools.cached_property
    def members(self) -> np.ndarray:
        """The pieces of the sections, one section behind the other."""
        return np.nonzero(self.sections)[1]

    @functools.cached_property
    def first_member(self) -> np.ndarray:
        """Where each section begins in `members`, then where they end."""
        return np.concatenate(([0], np.cumsum(self.sections.sum(axis=1))))

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
    sections = find_sections(everything)
    return Problem(
        names=tuple(request.name for request, _ in solid),
        unit=unit,
        first_piece=tuple(itertools.accumulate((len(pieces) for _, pieces in solid), initial=0)),
        offset=tuple(offset // unit for offset in offsets),
        size=tuple(size // unit for size in sizes),
        sections=sections[np.argsort(-(sections @ np.array(sizes)), kind="stable")],
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


def find_sections(pieces: Sequence[Piece]) -> np.ndarray:
    """The largest sets of pieces that are taken at one moment, in the order of moments: whether each (row) has each
    piece (column)."""
    moments = [(p.life.birth, p.life.death, p.bands.birth, p.bands.death) for p in pieces if p.bands is not NO_BAND]
    there = np.array([piece.bands is not NO_BAND for piece in pieces])
    if not moments:
        return np.zeros((0, len(pieces)), bool)
    found = np.array(moments, np.int64)
    always = np.array([piece.bands is EVERY_BAND for piece in pieces])[there]
    rows = []
    for step in _moments(found[:, :2]):
        live = (found[:, 0] <= step) & (step <= found[:, 1])
        some = live & ~always
        bands = _moments(found[some, 2:]) if some.any() else [0]
        rows += [live & (always | ((found[:, 2] <= band) & (band <= found[:, 3]))) for band in bands]
    sections = np.zeros((len(rows), len(pieces)), bool)
    sections[:, there] = np.array(rows)
    return sections if always.all() else _largest(sections)


def _moments(lives: np.ndarray) -> list[int]:
    """Moments, ascending, at which the sets of those alive are largest: before the next birth one of them ends.

    lives: first and last moment of each
    """
    births, ends = np.unique(lives[:, 0]), np.unique(lives[:, 1])
    first, last = np.searchsorted(ends, births), np.searchsorted(ends, np.append(births[1:], ends[-1] + 1))
    found: list[int] = births[first < last].tolist()
    return found


def _largest(sections: np.ndarray) -> np.ndarray:
    """Without those that lie within another, each once."""
    packed = np.packbits(sections, axis=1)
    sections = sections[np.sort(np.unique(packed, axis=0, return_index=True)[1])]
    holders, kept = sections.sum(axis=0), []
    for place, one in enumerate(sections):
        members = np.flatnonzero(one)
        # What holds all pieces of a set holds the one of them that the fewest sets hold.
        others = np.flatnonzero(sections[:, members[np.argmin(holders[members])]])
        if np.count_nonzero(sections[np.ix_(others, members)].all(axis=1)) == 1:
            kept.append(place)
    return sections[kept]

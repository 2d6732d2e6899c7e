"""The requests and answers of an allocator, and the check of every answer."""

from __future__ import annotations

import bisect
import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np

from tigris_pio.compiler.plan.lifetimes import Lifetime
from tigris_pio.sizes import round_up

#: The bands of what is taken whatever band runs.
EVERY_BAND = Lifetime(0, 1 << 30)


@dataclasses.dataclass(frozen=True)
class Piece:
    """`bytes`, `offset` from the start of a part or a request, taken during the steps of `life` of the bands `bands`.

    A stage runs its steps band after band, so a moment is a band and a step: two pieces meet when their steps and
    their bands do. Only pieces whose life lies within one stage have other bands than EVERY_BAND.
    """

    offset: int
    bytes: int
    life: Lifetime
    bands: Lifetime = EVERY_BAND

    def meets(self, other: Piece) -> bool:
        """Whether there is a moment at which both are taken."""
        return _overlap(self.life, other.life) and _overlap(self.bands, other.bands)


def _overlap(one: Lifetime, other: Lifetime) -> bool:
    return one.birth <= other.death and other.birth <= one.death


@dataclasses.dataclass(frozen=True)
class Part:
    """`bytes` of a request, `offset` from its start, that are taken during `life`.

    pieces: when that is not all of them all the time; offsets from the start of the part.
    """

    name: str
    offset: int
    bytes: int
    life: Lifetime
    pieces: tuple[Piece, ...] = ()

    @property
    def taken(self) -> Iterable[Piece]:
        """The pieces, offsets from the start of the request."""
        if not self.pieces:
            return (Piece(self.offset, self.bytes, self.life),)
        if not self.offset:
            return self.pieces
        return (dataclasses.replace(piece, offset=self.offset + piece.offset) for piece in self.pieces)


@dataclasses.dataclass(frozen=True)
class Request:
    """`bytes` of arena during `life`, on a multiple of the arena's alignment.

    parts: what the bytes are for, when that is several things that lie at fixed distances from each other. They
    may overlap each other; bytes that no part takes at some moment are free for others then.
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
    def taken(self) -> tuple[Piece, ...]:
        """The bytes, steps and bands that the request occupies, as pieces that do not overlap."""
        pieces = tuple(piece for part in self.contents for piece in part.taken)
        ordered = sorted((piece for piece in pieces if piece.bytes), key=lambda piece: piece.offset)
        for place, piece in enumerate(ordered):
            over = bisect.bisect_left(ordered, piece.offset + piece.bytes, place + 1, key=lambda other: other.offset)
            if any(piece.meets(other) for other in ordered[place + 1 : over]):
                return _apart(pieces)
        return pieces


def _apart(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """The same bytes at the same moments in pieces of which no two overlap."""
    found: list[Piece] = []
    for life in _intervals(piece.life for piece in pieces):
        now = [piece for piece in pieces if piece.bytes and _overlap(piece.life, life)]
        for bands in _intervals(piece.bands for piece in now):
            live = sorted((p.offset, p.offset + p.bytes) for p in now if _overlap(p.bands, bands))
            found += [Piece(start, stop - start, life, bands) for start, stop in _joined(live)]
    return tuple(found)


def _intervals(lives: Iterable[Lifetime]) -> list[Lifetime]:
    """Intervals, one behind the other, in each of which the same lives live throughout."""
    starts = sorted({start for life in lives for start in (life.birth, life.death + 1)})
    return [Lifetime(start, end - 1) for start, end in itertools.pairwise(starts)]


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
    proved_optimal: bool = False  #: no placement of the requests has a lower peak, rounded up to the alignment


def lower_bound(requests: Sequence[Request], alignment: int, beside: bool = True) -> int:
    """Most aligned bytes taken at one moment: no placement has a lower peak.

    `beside`: also of requests that lie side by side though not all of their bytes are taken at one moment.
    """
    pieces = [piece for request in requests for piece in request.taken]
    events: dict[int, int] = {}
    for piece in pieces:
        if piece.bands is EVERY_BAND:
            size = round_up(piece.bytes, alignment)
            events[piece.life.birth] = events.get(piece.life.birth, 0) + size
            events[piece.life.death + 1] = events.get(piece.life.death + 1, 0) - size
    steps = np.array(sorted(events), np.int64)
    live = np.cumsum([events[step] for step in sorted(events)], dtype=np.int64)
    peak = int(live.max(initial=0))
    for together in _stages(pieces):
        peak = max(peak, _fullest_moment(together, alignment, steps, live))
    return max(peak, _side_by_side(requests, pieces, alignment)) if beside else peak


def _side_by_side(requests: Sequence[Request], pieces: Sequence[Piece], alignment: int) -> int:
    """Most aligned bytes of requests that cannot overlap though not all of their bytes are taken at one moment.

    These are requests of the same life whose first bytes are taken all of it: where two of them overlapped, the first
    bytes of one would lie in the other."""
    sizes: dict[Lifetime, int] = {}
    for request in requests:
        taken = request.parts[0].pieces if len(request.parts) == 1 else ()
        if taken and taken[0].offset == 0 and taken[0].life == request.life and taken[0].bands is EVERY_BAND:
            throughout = sum(round_up(piece.bytes, alignment) for piece in taken if _covers(piece, request.life))
            beside = max(0, round_up(request.bytes, alignment) - throughout)
            sizes[request.life] = sizes.get(request.life, 0) + beside
    always = sorted((piece for piece in pieces if piece.bands is EVERY_BAND), key=lambda piece: piece.life.birth)
    live: list[Piece] = []  # of a plan's many stages each meets few pieces
    coming, most = 0, 0
    for life in sorted(sizes, key=lambda life: life.birth):
        begun = bisect.bisect_right(always, life.birth, coming, key=lambda piece: piece.life.birth)
        live = [piece for piece in (*live, *always[coming:begun]) if piece.life.death >= life.birth]
        throughout = sum(round_up(piece.bytes, alignment) for piece in live if piece.life.death >= life.death)
        coming, most = begun, max(most, sizes[life] + throughout)
    return most


def _covers(piece: Piece, life: Lifetime) -> bool:
    """Whether a piece is taken throughout, in every band."""
    return piece.bands is EVERY_BAND and piece.life.birth <= life.birth and life.death <= piece.life.death


def _stages(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """The pieces that are taken in some bands only, those of one stage together."""
    stages: list[list[Piece]] = []
    last = -2
    banded = (piece for piece in pieces if piece.bands is not EVERY_BAND)
    for piece in sorted(banded, key=lambda piece: piece.life.birth):
        if piece.life.birth > last:
            stages.append([])
        stages[-1].append(piece)
        last = max(last, piece.life.death)
    return stages


def _fullest_moment(pieces: Sequence[Piece], alignment: int, steps: np.ndarray, live: np.ndarray) -> int:
    """Most aligned bytes at a moment of the pieces' stage; `live`: taken in every band, from each of `steps` on."""
    rows = np.array([(p.bytes, p.life.birth, p.life.death + 1, p.bands.birth, p.bands.death + 1) for p in pieces])
    rows[:, 0] += -rows[:, 0] % alignment
    inside = steps[(steps > rows[:, 1].min()) & (steps < rows[:, 2].max())]
    at_step, at_band = np.unique(np.concatenate((rows[:, 1], rows[:, 2], inside))), np.unique(rows[:, 3:])
    taken = np.zeros((len(at_band), len(at_step)), np.int64)
    for sign, band, step in ((1, 3, 1), (-1, 3, 2), (-1, 4, 1), (1, 4, 2)):
        where = np.searchsorted(at_band, rows[:, band]), np.searchsorted(at_step, rows[:, step])
        np.add.at(taken, where, sign * rows[:, 0])
    beside = np.concatenate(([0], live))[np.searchsorted(steps, at_step, side="right")]
    return int((taken.cumsum(0).cumsum(1) + beside)[:, :-1].max(initial=0))


def check(requests: Sequence[Request], offsets: Mapping[str, int], alignment: int) -> None:
    """Raises AssertionError when two requests that are taken at one moment overlap, or one is misaligned."""
    pieces = [
        (offsets[request.name] + piece.offset, piece, request.name)
        for request in requests
        for piece in request.taken
        if piece.bytes
    ]
    for name, start in ((request.name, offsets[request.name]) for request in requests):
        assert start >= 0 and start % alignment == 0, f"{name} at {start} is misaligned"
    _check_all_bands([item for item in pieces if item[1].bands is EVERY_BAND])
    _check_some_bands(pieces)


def _check_all_bands(pieces: Sequence[tuple[int, Piece, str]]) -> None:
    """A sweep over births and deaths that keeps what is live sorted by offset, so only neighbours need comparing."""
    events = []
    for start, piece, name in pieces:
        item = (start, start + piece.bytes, name)
        events += [(piece.life.birth, 1, item), (piece.life.death + 1, 0, item)]
    live: list[tuple[int, int, str]] = []
    for _, born, item in sorted(events):
        start, end, name = item
        place = bisect.bisect_left(live, item)
        if not born:
            del live[place]
            continue
        assert place == 0 or live[place - 1][1] <= start, f"{name} overlaps {live[place - 1][2]}"
        assert place == len(live) or end <= live[place][0], f"{name} overlaps {live[place][2]}"
        live.insert(place, item)


def _check_some_bands(pieces: Sequence[tuple[int, Piece, str]]) -> None:
    """Every piece that is taken in some bands only, against all others."""
    if all(piece.bands is EVERY_BAND for _, piece, _ in pieces):
        return
    rows = np.array([(start, start + p.bytes, p.life.birth, p.life.death + 1, p.bands.birth, p.bands.death + 1)
                     for start, p, _ in pieces])
    for place, (_, piece, name) in enumerate(pieces):
        if piece.bands is not EVERY_BAND:
            mine = rows[place]
            clash = np.ones(len(rows), bool)
            for low in (0, 2, 4):
                clash &= (rows[:, low] < mine[low + 1]) & (mine[low] < rows[:, low + 1])
            clash[place] = False
            assert not clash.any(), f"{name} overlaps {pieces[int(clash.argmax())][2]}"

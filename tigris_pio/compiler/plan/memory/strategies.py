"""Offset assignment strategies, after the study in the ONNC paper (Lin et al., section V).

Each takes requests in the order they are to be placed and returns an offset for each. All share
one step: list the gaps left by the already placed requests that live at the same time, then
choose a gap. A gap is a range of starts: all places, first and last included, where the request could begin.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from tigris_pio.compiler.plan.memory.request import Piece, Request
from tigris_pio.sizes import round_up

#: Chooses among gaps; None when there are none.
Choose = Callable[[Sequence[tuple[int, int]]], "tuple[int, int] | None"]
Strategy = Callable[[Sequence[Request], int], Mapping[str, int]]


def _first(gaps: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    return gaps[0] if gaps else None


def _best(gaps: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    return min(gaps, key=lambda gap: (gap[1] - gap[0], gap[0]), default=None)


class _Placed:
    """Requests placed so far, found again by the steps they live in."""

    def __init__(self) -> None:
        self._by_step: dict[int, list[tuple[int, int, int, int, int]]] = defaultdict(list)
        self._long: list[tuple[int, int, Piece]] = []
        self._count = 0

    #: Lives longer than this are kept in one list instead of under each of their steps.
    LONG = 64

    def add(self, piece: Piece, start: int, end: int) -> None:
        self._count += 1
        life, bands = piece.life, piece.bands
        if life.death - life.birth > self.LONG:
            self._long.append((start, end, piece))
            return
        for step in range(life.birth, life.death + 1):
            self._by_step[step].append((start, end, bands.birth, bands.death, self._count))

    def overlapping(self, piece: Piece) -> set[tuple[int, int]]:
        """Intervals taken at some moment of `piece`."""
        birth, death = piece.life.birth, piece.life.death
        first, last = piece.bands.birth, piece.bands.death
        taken = {(start, end) for start, end, other in self._long if piece.meets(other)}
        steps = range(birth, death + 1)
        if len(steps) > len(self._by_step):
            steps_with = [step for step in self._by_step if birth <= step <= death]
        else:
            steps_with = [step for step in steps if step in self._by_step]
        for step in steps_with:
            taken.update((start, end) for start, end, begun, ended, _ in self._by_step[step]
                         if begun <= last and first <= ended)
        return taken


def _gaps(placed: _Placed, request: Request, alignment: int) -> tuple[list[tuple[int, int]], int]:
    """Where `request` can start below the highest byte taken, and the first start above that."""
    ruled_out = [
        (start - piece.offset - round_up(piece.bytes, alignment), end - piece.offset)  # neither end included
        for piece in request.taken
        for start, end in placed.overlapping(piece)
    ]
    gaps, free = [], 0
    for before, after in sorted(ruled_out):
        if before >= free:
            gaps.append((free, before))
        free = max(free, after)
    return gaps, free


def _place(requests: Sequence[Request], alignment: int, choose: Choose, low_boundary: bool) -> Mapping[str, int]:
    placed, offsets, arena = _Placed(), {}, 0
    for request in requests:
        size = round_up(request.bytes, alignment)
        gaps, top = _gaps(placed, request, alignment)
        gap = choose(gaps)
        if gap is None:
            start = choose_top(top, arena, size) if low_boundary else top
        elif low_boundary and gap[0] == 0 and gap[1] <= arena // 2:
            start = gap[1]  # to the right: leaves the low boundary free in one piece
        else:
            start = gap[0]
        offsets[request.name] = start
        arena = max(arena, start + size)
        for piece in request.taken:
            if piece.bytes:
                first = start + piece.offset
                placed.add(piece, first, first + round_up(piece.bytes, alignment))
    return offsets


def choose_top(top: int, arena: int, size: int) -> int:
    """Above everything live: flush with the arena's end when that leaves the larger free piece below."""
    return arena - size if arena - size >= top else top


def first_fit(requests: Sequence[Request], alignment: int) -> Mapping[str, int]:
    """The lowest gap that is large enough."""
    return _place(requests, alignment, _first, low_boundary=False)


def best_fit(requests: Sequence[Request], alignment: int) -> Mapping[str, int]:
    """The smallest gap that is large enough."""
    return _place(requests, alignment, _best, low_boundary=False)


def best_fit_low_boundary(requests: Sequence[Request], alignment: int) -> Mapping[str, int]:
    """Best fit that keeps the low end of the arena in one piece."""
    return _place(requests, alignment, _best, low_boundary=True)


def by_birth(requests: Sequence[Request]) -> list[Request]:
    """The order in which a run asks for them."""
    return sorted(requests, key=lambda r: (r.life.birth, -r.bytes, r.name))


def by_size(requests: Sequence[Request]) -> list[Request]:
    """Largest first."""
    return sorted(requests, key=lambda r: (-r.bytes, r.life.birth, r.name))


def by_area(requests: Sequence[Request]) -> list[Request]:
    """Largest product of bytes and steps first."""
    def area(request: Request) -> int:
        return sum(piece.bytes * (piece.life.death - piece.life.birth + 1) for piece in request.taken)

    return sorted(requests, key=lambda r: (-area(r), r.life.birth, r.name))


def _ordered(strategy: Strategy, order: Callable[[Sequence[Request]], list[Request]]) -> Strategy:
    return lambda requests, alignment: strategy(order(requests), alignment)


#: Every strategy by its name in reports; the best result is kept.
STRATEGIES: Mapping[str, Strategy] = {
    "first-fit": _ordered(first_fit, by_birth),
    "best-fit": _ordered(best_fit, by_birth),
    "best-fit, low boundary": _ordered(best_fit_low_boundary, by_birth),
    "first-fit by size": _ordered(first_fit, by_size),
    "best-fit by size": _ordered(best_fit, by_size),
    "best-fit, low boundary, by size": _ordered(best_fit_low_boundary, by_size),
    "best-fit by area": _ordered(best_fit, by_area),
}

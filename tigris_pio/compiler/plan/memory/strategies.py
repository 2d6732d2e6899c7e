"""Offset assignment strategies, after the study in the ONNC paper (Lin et al., section V).

Each takes requests in the order they are to be placed and returns an offset for each. All share
one step: list the gaps left by the already placed requests that live at the same time, then
choose a gap. A gap is a range of starts: all places, first and last included, where the request could begin.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

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
    """The pieces placed so far: where they start and end, and the steps and bands in which they are taken."""

    def __init__(self, requests: Sequence[Request], alignment: int) -> None:
        pieces = {request.name: [piece for piece in request.taken if piece.bytes] for request in requests}
        self._rows = {name: _rows(found, alignment) for name, found in pieces.items()}
        self._taken = np.empty((sum(map(len, pieces.values())), 6), np.int64)
        self._count = 0

    def add(self, name: str, start: int) -> None:
        """Places a request."""
        rows = self._rows[name]
        end = self._count + len(rows)
        self._taken[self._count : end] = rows
        self._taken[self._count : end, :2] += start
        self._count = end

    def gaps(self, name: str) -> tuple[list[tuple[int, int]], int]:
        """Where a request can start below the highest byte taken, and the first start above that."""
        mine, taken = self._rows[name][:, None, :], self._taken[None, : self._count]
        meet = (taken[..., 2] <= mine[..., 3]) & (mine[..., 2] <= taken[..., 3])
        meet &= (taken[..., 4] <= mine[..., 5]) & (mine[..., 4] <= taken[..., 5])
        before, after = (taken[..., 0] - mine[..., 1])[meet], (taken[..., 1] - mine[..., 0])[meet]  # neither included
        if not len(before):
            return [], 0
        order = np.argsort(before)
        before, free = before[order], np.maximum.accumulate(np.maximum(after[order], 0))
        first = np.concatenate(([0], free[:-1]))
        return [(int(first[at]), int(before[at])) for at in np.flatnonzero(before >= first)], int(free[-1])


def _rows(pieces: Sequence[Piece], alignment: int) -> np.ndarray:
    """Start and end, aligned, and the first and last step and band of each piece."""
    taken = [(p.offset - p.offset % alignment, round_up(p.offset + p.bytes, alignment)) for p in pieces]
    moments = [(p.life.birth, p.life.death, p.bands.birth, p.bands.death) for p in pieces]
    return np.concatenate((np.array(taken, np.int64).reshape(-1, 2), np.array(moments, np.int64).reshape(-1, 4)), 1)


def _place(requests: Sequence[Request], alignment: int, choose: Choose, low_boundary: bool) -> Mapping[str, int]:
    placed, offsets, arena = _Placed(requests, alignment), {}, 0
    for request in requests:
        size = round_up(request.bytes, alignment)
        gaps, top = placed.gaps(request.name)
        gap = choose(gaps)
        if gap is None:
            start = choose_top(top, arena, size) if low_boundary else top
        elif low_boundary and gap[0] == 0 and gap[1] <= arena // 2:
            start = gap[1]  # to the right: leaves the low boundary free in one piece
        else:
            start = gap[0]
        offsets[request.name] = start
        arena = max(arena, start + size)
        placed.add(request.name, start)
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

"""The exact search step by step, where there is no library that does it faster.

The same steps as runtime/host/placement_search.c and placement_stack.c, in the same order: outcome, starts and nodes
are the same.
"""

from __future__ import annotations

import bisect
import itertools
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tigris_pio.compiler.plan.memory.problem import Problem

#: Values of TIGRIS_PLACE_… in runtime/host/placement_search.h.
LOADS, HEADS, DOMINANCE, BLOCKERS, DECOMPOSITION = 1, 2, 4, 8, 16
FOUND, EXHAUSTED, LIMIT = 1, 0, -1

#: How often lower bounds of blocked requests are drawn from those of others.
ROUNDS = 4


def run(
    problem: Problem, rank: Sequence[int], capacity: int, rules: int, fullest_first: bool, staircases_first: bool,
    limit: int,
) -> tuple[int, list[int], int]:
    """Outcome, starts in units, nodes; see `PlacementSearch.run`."""
    search = _Search(problem, rank, capacity, rules, fullest_first, staircases_first, limit)
    with _deep(4 * len(rank)):
        order = sorted(range(len(rank)), key=rank.__getitem__)
        outcome = search.solve_groups(order) if order else FOUND
    return outcome, search.start, search.nodes


@contextmanager
def _deep(frames: int) -> Iterator[None]:
    """Room for as many more calls within calls."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + frames)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


class _Search:
    """What tigris_place_state holds; `_trail` undoes."""

    def __init__(
        self, problem: Problem, rank: Sequence[int], capacity: int, rules: int, fullest_first: bool,
        staircases_first: bool, limit: int,
    ) -> None:
        requests = len(rank)
        self.problem, self.rank, self.capacity, self.rules = problem, rank, capacity, rules
        self.fullest_first, self.staircases_first, self.limit = fullest_first, staircases_first, limit
        self.owner, self.height = problem.owner, problem.height
        self.irregular = any(problem.staircases)
        self.pieces = [range(a, b) for a, b in itertools.pairwise(problem.first_piece)]
        self.piece_sections: list[list[int]] = [[] for _ in problem.size]
        for at, section in enumerate(problem.sections):
            for j in section:
                self.piece_sections[j].append(at)
        self.stacked = [bisect.bisect_left(sections, problem.stacked) for sections in self.piece_sections]
        self.rivals = [self._rivals(j) for j in range(len(problem.size))]
        self.neighbours = [sorted({self.owner[j] for i in own for j in self.rivals[i]}) for own in self.pieces]
        self.low, self.start, self.head = [0] * requests, [0] * requests, [0] * requests
        self.placed, self.postponed = [0] * requests, [0] * requests
        self._trail: list[tuple[list[int], int, int]] = []
        self.nodes = 0

    def _rivals(self, piece: int) -> list[int]:
        together = {j for at in self.piece_sections[piece] for j in self.problem.sections[at]}
        return sorted(j for j in together if self.owner[j] != self.owner[piece])

    def _set(self, where: list[int], index: int, value: int) -> None:
        self._trail.append((where, index, where[index]))
        where[index] = value

    def _undo(self, changes: int) -> None:
        while len(self._trail) > changes:
            where, index, old = self._trail.pop()
            where[index] = old

    def _lowest(self, request: int, least: int) -> int:
        """The lowest start from `least` on where a request meets nothing that is placed."""
        offset, size = self.problem.offset, self.problem.size
        at, again = least, True
        while again:
            again = False
            for i in self.pieces[request]:
                for j in self.rivals[i]:
                    if self.placed[self.owner[j]]:
                        bottom = self.start[self.owner[j]] + offset[j]
                        if at + offset[i] < bottom + size[j] and bottom < at + offset[i] + size[i]:
                            at, again = bottom + size[j] - offset[i], True
        return at

    def _put(self, request: int, at: int) -> None:
        simple = not self.irregular and self.rules & DOMINANCE
        self._set(self.placed, request, 1)
        self._set(self.start, request, at)
        for u in self.neighbours[request]:
            if not self.placed[u]:
                low = at + self.height[request] if simple else self._lowest(u, self.low[u])
                if low > self.low[u]:
                    self._set(self.low, u, low)
                    self._set(self.postponed, u, 0)

    def _above_blockers(self, request: int) -> int:
        """Where a blocked request may start at the earliest: above whatever blocks it; -1 when nothing can."""
        offset, size = self.problem.offset, self.problem.size
        end = self.low[request] + self.height[request]
        if self.problem.staircases[request]:
            blocked = any(not self.placed[u] and self.head[u] < end for u in self.neighbours[request])
            return self.head[request] if blocked else -1
        bottoms = (
            (self.head[self.owner[j]] + offset[j], size[j])
            for j in self.rivals[self.pieces[request][0]]
            if not self.placed[self.owner[j]]
        )
        return min((bottom + height for bottom, height in bottoms if bottom < end), default=-1)

    def _find_heads(self, requests: Sequence[int]) -> bool:
        """Lower bounds of the starts; False when some request has no place left."""
        for u in requests:
            self.head[u] = self.low[u]
        again = bool(self.rules & BLOCKERS)
        for _ in range(ROUNDS):
            if not again:
                break
            again = False
            for u in requests:
                if self.postponed[u]:
                    head = self._above_blockers(u)
                    if head < 0:
                        return False
                    if head > self.head[u]:
                        self.head[u], again = head, True
        return all(self.head[u] + self.height[u] <= self.capacity for u in requests)

    def _items(self, requests: Sequence[int]) -> list[tuple[int, int]]:
        """Heads and pieces: of open requests, and placed ones too where others may still come below them."""
        if not self.irregular:
            return [(self.head[u], u) for u in requests]
        offset = self.problem.offset
        items = [(self.head[u] + offset[j], j) for u in requests for j in self.pieces[u]]
        placed = (j for j, u in enumerate(self.owner) if self.placed[u])
        return sorted([*items, *((self.start[self.owner[j]] + offset[j], j) for j in placed)])

    def _stack_sections(self, requests: Sequence[int]) -> int | None:
        """Stacks every section's pieces on their heads; None when one ends above the capacity.

        The section to go on with: that with the lowest open piece, of several the fullest or the one with the first
        request to try; -1 when none holds two open pieces.
        """
        top: dict[int, int] = {}
        opened: dict[int, tuple[int, int, int]] = {}  # open pieces, least head, first rank
        for head, j in self._items(requests):
            u = self.owner[j]
            for at in self.piece_sections[j][: self.stacked[j]]:
                count, least, first = opened.get(at, (0, head, len(self.rank)))
                bottom = top.get(at, head)
                if bottom < head and (self.rules & HEADS or not count):
                    bottom = head
                top[at] = bottom + self.problem.size[j]
                if not self.placed[u]:
                    opened[at] = (count + 1, least, min(first, self.rank[u]))
        if self.rules & (HEADS | LOADS) and any(top[at] > self.capacity for at in opened):
            return None
        best = None
        for at, (count, least, first) in opened.items():
            if count > 1:
                key = (least, -top[at] if self.fullest_first else first, at)
                best = key if best is None else min(best, key)
        return -1 if best is None else best[2]

    def _is_dominated(self, request: int) -> bool:
        """Whether another open request fits wholly below a request's lowest start."""
        low = self.low[request]
        return bool(self.rules & DOMINANCE) and any(
            not self.placed[u] and self.head[u] + self.height[u] <= low for u in self.neighbours[request]
        )

    def _choose(self, requests: Sequence[int], pivot: int) -> int | None:
        """The request to place or to postpone next; None when all are postponed."""
        here = () if pivot < 0 else {self.owner[j]: None for j in self.problem.sections[pivot]}
        for among in (here, requests):
            for u in sorted(among, key=lambda u: (self.low[u], self.rank[u])):
                if not self.placed[u] and not self.postponed[u] and not self._is_dominated(u):
                    return u
        return None

    def _groups(self, requests: Sequence[int]) -> list[list[int]]:
        """Requests that meet each other, one way or another, together; the smallest group first."""
        group: dict[int, int] = {}
        for seed in requests:
            if seed not in group:
                group[seed] = seed
                reached = [seed]
                for u in reached:
                    for v in self.neighbours[u]:
                        if not self.placed[v] and v not in group:
                            group[v] = seed
                            reached.append(v)
        seeds = dict.fromkeys(group[u] for u in requests)
        return sorted(([u for u in requests if group[u] == seed] for seed in seeds), key=len)

    def solve_groups(self, requests: list[int]) -> int:
        """Requests that meet none of the others in hand are searched by themselves."""
        if not self.rules & DECOMPOSITION or len(requests) < 2:
            return self._solve(requests)
        changes = len(self._trail)
        for group in self._groups(requests):
            outcome = self._solve(group)
            if outcome != FOUND:
                self._undo(changes)
                return outcome
        return FOUND

    def _solve_rest(self, requests: Sequence[int], placed: int) -> int:
        return self.solve_groups([u for u in requests if u != placed]) if len(requests) > 1 else FOUND

    def _try_every_place(self, requests: Sequence[int], request: int) -> int:
        """Every place of one request with several pieces, from the lowest on."""
        at, changes = self.low[request], len(self._trail)
        while at + self.height[request] <= self.capacity:
            self.nodes += 1
            if self.nodes > self.limit:
                return LIMIT
            self._put(request, at)
            outcome = self._solve_rest(requests, request)
            if outcome != EXHAUSTED:
                return outcome
            self._undo(changes)
            at = self._lowest(request, at + 1)
        return EXHAUSTED

    def _solve(self, requests: list[int]) -> int:
        """Places one request after the other, each on the lowest place or, when that fails, not there."""
        changes = len(self._trail)
        outcome = self._branch(requests)
        if outcome != FOUND:
            self._undo(changes)
        return outcome

    def _branch(self, requests: list[int]) -> int:
        while True:
            self.nodes += 1
            if self.nodes > self.limit:
                return LIMIT
            if not self._find_heads(requests):
                return EXHAUSTED
            requests = sorted(requests, key=lambda u: (self.head[u], self.rank[u]))
            pivot = self._stack_sections(requests)
            if pivot is None:
                return EXHAUSTED
            stairs = [u for u in requests if self.staircases_first and self.problem.staircases[u]]
            if stairs:
                return self._try_every_place(requests, min(stairs, key=self.rank.__getitem__))
            request = self._choose(requests, pivot)
            if request is None:
                return EXHAUSTED
            before = len(self._trail)
            self._put(request, self.low[request])
            outcome = self._solve_rest(requests, request)
            if outcome != EXHAUSTED:
                return outcome
            self._undo(before)
            self._set(self.postponed, request, 1)

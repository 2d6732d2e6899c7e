"""Runs the strategies, searches further when none reaches the bound, checks every answer and keeps the best."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Hashable, Mapping, Sequence

from tigris_pio.compiler.plan.memory.exact import FIRST_NODES, Search, place_exactly, searcher
from tigris_pio.compiler.plan.memory.problem import Problem, state_problem
from tigris_pio.compiler.plan.memory.request import Placement, Request, check, lower_bound
from tigris_pio.compiler.plan.memory.strategies import STRATEGIES
from tigris_pio.compiler.plan.timeline import sweep
from tigris_pio.compiler.plan.work import Work
from tigris_pio.sizes import round_up

#: Nodes of the exact search in a placement of the planner, which asks for many: some 20 ms.
NODES = 2000
EXACT = "exact"
#: A unit of work (`work.py`): pairs of pieces that a strategy looks at; nodes of the exact search, and such nodes times
#: pairs.
STRATEGY_MEETINGS, NODES_OF_UNIT, NODE_MEETINGS = 300, 8, 400_000


def allocate(requests: Sequence[Request], alignment: int, nodes: int = NODES, enough: int = 0) -> Placement:
    """Offsets for all requests with the lowest peak found; see `Allocation.lowest`."""
    return Allocation(requests, alignment).lowest(nodes, enough)


class Allocation:
    """Requests to place. What is searched for several times is prepared once. work: what it takes is charged there."""

    def __init__(self, requests: Sequence[Request], alignment: int, work: Work | None = None) -> None:
        self.requests, self.alignment, self._work = requests, alignment, work or Work()

    def lowest(self, nodes: int = NODES, enough: int = 0) -> Placement:
        """The lowest placement found.

        Stops early at the lower bound. The peak is not rounded up: it is the highest byte used. `nodes`: the budget of
        the exact search, which runs when no strategy reaches the bound and the budget is enough for one try. `enough`:
        a peak at which it stops.
        """
        requests, alignment = self.requests, self.alignment
        best, bound = self._quick, self.bound
        peaks = dict(best.peaks)
        if best.peak > max(bound, enough) and nodes >= FIRST_NODES * len(requests):
            self._work.charge(nodes // NODES_OF_UNIT + nodes * self._meetings // NODE_MEETINGS)
            problem, peak = self._problem, round_up(best.peak, alignment)
            answer = place_exactly(
                requests, alignment, bound, peak, nodes, enough, run=self._search, problem=problem
            )
            bound = answer.lower_bound
            if answer.offsets is not None:
                check(requests, answer.offsets, alignment)
                peaks[EXACT] = highest_byte(requests, answer.offsets)
                if peaks[EXACT] < best.peak:
                    best = Placement(answer.offsets, peaks[EXACT], bound, EXACT)
        offsets = {part.name: best.offsets[r.name] + part.offset for r in requests for part in r.contents}
        proved = round_up(best.peak, alignment) <= bound
        return Placement({**best.offsets, **offsets}, best.peak, bound, best.strategy, peaks, proved)

    @functools.cached_property
    def _meetings(self) -> int:
        """How many pairs of pieces are looked at, step by step."""
        lives = [piece.life for request in self.requests for piece in request.taken]
        counts = sweep(((life, 1) for life in lives), max((life.death for life in lives), default=0)).live
        return int(counts @ counts)

    @functools.cached_property
    def bound(self) -> int:
        """A height that no placement stays below."""
        return lower_bound(self.requests, self.alignment)

    @functools.cached_property
    def _quick(self) -> Placement:
        """The lowest of the strategies', up to the first that reaches the bound."""
        requests, alignment, bound = self.requests, self.alignment, self.bound
        best: Placement | None = None
        peaks: dict[str, int] = {}
        for name, strategy in STRATEGIES.items():
            self._work.charge(len(requests) + self._meetings // STRATEGY_MEETINGS)
            offsets = strategy(requests, alignment)
            check(requests, offsets, alignment)
            peak = highest_byte(requests, offsets)
            peaks[name] = peak
            if best is None or peak < best.peak:
                best = Placement(offsets, peak, bound, name)
            if peak <= bound:
                break
        assert best is not None
        return dataclasses.replace(best, peaks=peaks)

    @functools.cached_property
    def alike(self) -> Hashable:
        """What is the same of allocations of which one's placements do for the other."""
        parts = tuple((part.name, part.offset) for request in self.requests for part in request.contents)
        return self._problem, parts, self.alignment

    @functools.cached_property
    def _problem(self) -> Problem:
        return state_problem(self.requests, self.alignment)

    @functools.cached_property
    def _search(self) -> Search:
        return searcher(self._problem)


def highest_byte(requests: Sequence[Request], offsets: Mapping[str, int]) -> int:
    """The peak of a placement."""
    return max((offsets[request.name] + request.bytes for request in requests), default=0)

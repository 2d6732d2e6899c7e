"""The lowest placement there is, by branch and bound within a budget of nodes.

The frame, as in MiniMalloc (M. D. Moffitt, "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine
Learning", ASPLOS 2023): is there a placement below a given height? Sections are the moments at which most is taken. The
branching differs. A request is either placed on its lowest free start, or postponed ("schedule or postpone", by C. Le
Pape et al., 1994, for tasks over time). If it is postponed, a request that is not placed yet must take bytes that it
would have had there. In a placement whose starts cannot be lowered, one of the two holds for every request at every
step. So no placement is missed.

The next request is one of the section that has the lowest start left, which keeps neighbouring decisions together. Ties
go to the first in an order of requests. The search is run in six orders, then in random disturbances of these. Most
runs are short, because luck meets a tight height more often than patience.

Requests whose pieces lie at several heights may interlock: their lowest start may be below a request that is placed
later. If the quick way finds nothing, every start of these is tried, before all other requests. They are in many
sections, most of them much alike, and lower bounds take nearly all time. For such problems only the fullest sections
have bounds.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence

from tigris_pio.compiler.plan.memory.problem import Problem, state_problem
from tigris_pio.compiler.plan.memory.request import Request
from tigris_pio.errors import ToolError
from tigris_pio.host import library
from tigris_pio.host.placement import (
    BLOCKERS,
    DECOMPOSITION,
    DOMINANCE,
    EXHAUSTED,
    FOUND,
    HEADS,
    LIMIT,
    LOADS,
    Geometry,
    PlacementSearch,
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Rules:
    """The rules that prune the search. Without any of them it finds the same, later."""

    loads: bool = True  #: open pieces of a section fit above the lowest of them
    heads: bool = True  #: and still do when none of them starts below its own lower bound
    dominance: bool = True  #: nothing is placed as long as another fits wholly below it
    blockers: bool = True  #: a postponed request starts above something that can still come in its way
    decomposition: bool = True  #: groups of requests that do not meet are searched one by one

    @property
    def bits(self) -> int:
        """As the search in C takes them."""
        return sum(bit for bit, on in zip(_BITS, dataclasses.astuple(self), strict=True) if on)


#: Whether one run found something, the starts it found and its nodes, as `PlacementSearch.run` tells them.
Search = Callable[..., tuple[int, list[int], int]]

_BITS = (LOADS, HEADS, DOMINANCE, BLOCKERS, DECOMPOSITION)


@dataclasses.dataclass(frozen=True)
class Answer:
    """The result of a search; heights in bytes."""

    offsets: Mapping[str, int] | None  #: the lowest found; None when nothing is lower than what was known
    lower_bound: int  #: proved
    nodes: int


#: Orders in which requests are tried: by the fullest of their moments, by bytes times steps, by steps.
ORDERS = ("LAS", "SLA", "SAL", "ASL", "LSA", "ALS")
#: Nodes of the shortest runs, a request; a successful run needs one or more.
FIRST_NODES = 4
#: By up to how many thousandths the values that make an order are disturbed, in even and in odd rounds.
DISTURBANCES = (100, 300)
#: From this round on, only every so many rounds ask for a height above the bound.
EARLY_ROUNDS, SELDOM = 4, 4
#: Sums of sizes in units that the search in C can hold.
MOST_UNITS = 1 << 30


def place_exactly(
    requests: Sequence[Request],
    alignment: int,
    lower_bound: int,
    peak: int,
    nodes: int,
    enough: int = 0,
    rules: Rules = Rules(),
) -> Answer:
    """Searches for a placement lower than `peak` within a budget of nodes; both heights in bytes, aligned.

    `lower_bound`: no placement is lower. `enough`: a peak at which the search stops. Without the library there
    is no answer.
    """
    problem = state_problem(requests, alignment)
    if not problem.names or sum(problem.height) >= MOST_UNITS:
        return Answer(None, lower_bound, 0)
    run = searcher(problem)
    if run is None:
        return Answer(None, lower_bound, 0)
    search = _Driver(problem, rules, run, nodes)
    aim = max(-(-lower_bound // problem.unit), enough // problem.unit)
    reached = search.lower(aim, -(-peak // problem.unit))
    bound = max(lower_bound, reached * problem.unit) if reached > aim or enough <= lower_bound else lower_bound
    if search.starts is None:
        return Answer(None, bound, search.nodes)
    offsets = {request.name: 0 for request in requests}
    offsets.update({name: start * problem.unit for name, start in zip(problem.names, search.starts, strict=True)})
    return Answer(offsets, bound, search.nodes)


def searcher(problem: Problem) -> Search | None:
    """The library's search for a problem; None without a library."""
    geometry = Geometry(
        problem.first_piece, problem.offset, problem.size, problem.first_member, problem.members, problem.stacked
    )
    try:
        return PlacementSearch(geometry).run
    except ToolError:
        return None


def can_search() -> bool:
    """Whether the search is there: it is part of the runtime's library for this machine."""
    try:
        library.load()
    except ToolError:
        return False
    return True


def luby(number: int) -> int:
    """The length of run `number`, from 1 on: 1, 1, 2, 1, 1, 2, 4, 1, …

    These lengths are at most a logarithm worse than the best for runs of unknown luck (M. Luby, A. Sinclair, D.
    Zuckerman, 1993).
    """
    whole = number.bit_length()
    return 1 << (whole - 1) if number == (1 << whole) - 1 else luby(number - (1 << (whole - 1)) + 1)


class _Driver:
    """Runs of the search, one after the other."""

    def __init__(
        self, problem: Problem, rules: Rules, run: Search, budget: int
    ) -> None:
        self.problem, self.rules, self.run, self.budget = problem, rules, run, budget
        self.nodes = 0
        self.starts: list[int] | None = None  #: of the lowest placement found
        self._random = 1

    def lower(self, low: int, high: int) -> int:
        """Searches between a proved bound and a height that is known to do, in units; the bound then proved.

        Each round asks for the bound itself and for one height between it and the best, so that a budget too small
        for the bound still lowers the peak.
        """
        hope = low + 1
        for number in itertools.count():
            limit = FIRST_NODES * len(self.problem.names) * luby(number // 2 + 1)
            for at_bound in (True, False):
                if not at_bound and number >= EARLY_ROUNDS and number % SELDOM:
                    continue
                hope = hope if low < hope < high else low + 1
                capacity = low if at_bound else (hope + high - 1) // 2
                if capacity >= high or self.nodes >= self.budget:
                    return low
                outcome = self._round(number, capacity, limit)
                if outcome == FOUND:
                    assert self.starts is not None
                    high = max(start + h for start, h in zip(self.starts, self.problem.height, strict=True))
                elif outcome == EXHAUSTED:
                    low = capacity + 1
                elif not at_bound:
                    hope = capacity + 1
        raise AssertionError("rounds do not end")

    def _round(self, number: int, capacity: int, limit: int) -> int:
        """One run in each order; EXHAUSTED is a proof that there is no placement."""
        interlocking = any(self.problem.staircases)
        disturbance = DISTURBANCES[number % 2] if number else 0
        for letters in ORDERS:
            outcome = self._run(self._rank(letters, disturbance), capacity, number % 2 == 0, False, limit)
            if outcome == FOUND or (outcome == EXHAUSTED and not interlocking):
                return outcome
            if outcome == EXHAUSTED:
                break
        if not interlocking:
            return LIMIT
        return self._run(self._rank(ORDERS[0], 0), capacity, True, True, limit)

    def _run(
        self, rank: Sequence[int], capacity: int, fullest_first: bool, staircases_first: bool, limit: int
    ) -> int:
        limit = min(limit, self.budget - self.nodes)
        if limit <= 0:
            return LIMIT
        outcome, starts, nodes = self.run(rank, capacity, self.rules.bits, fullest_first, staircases_first, limit)
        self.nodes += min(nodes, limit)
        if outcome == FOUND:
            self.starts = starts
        return outcome

    def _rank(self, letters: str, disturbance: int) -> list[int]:
        """The place of each request in an order."""
        values = {"L": self.problem.load, "A": self.problem.area, "S": self.problem.life}
        keys = []
        for place in range(len(self.problem.names)):
            keys.append([-values[letter][place] * self._factor(disturbance) for letter in letters])
        rank = [0] * len(keys)
        for position, place in enumerate(sorted(range(len(keys)), key=lambda place: (keys[place], place))):
            rank[place] = position
        return rank

    def _factor(self, disturbance: int) -> int:
        """The next random number of thousandths (D. E. Knuth's MMIX generator), the same on every machine."""
        self._random = (self._random * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        return 1000 - disturbance + (self._random >> 33) % (2 * disturbance + 1)

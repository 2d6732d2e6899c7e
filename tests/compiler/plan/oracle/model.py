"""The plans of a program in one order of its operators, as a constraint program for CP-SAT.

- One Boolean for each way to run a segment. The chosen ones are a path over the cuts.
- One Boolean for each tensor that may cross a cut: is it in slow memory? A way implies it for what it touches.
- One offset for each home and each window, in units of the alignment, whichever way is chosen. If two of them are
  needed at one moment, certain distances between their offsets are excluded: one linear expression with a domain,
  enforced by the way or the cut where they meet.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Container, Iterable, Mapping, Sequence

from ortools.sat.python import cp_model

from tests.compiler.plan.oracle.ways import Way, Ways
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.plan.arrange import Stages
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.lifetimes import Lifetime
from tigris_pio.compiler.plan.memory.request import Piece, Placement, Request
from tigris_pio.compiler.plan.memory.sharing import Kind, Link, links_of
from tigris_pio.compiler.plan.placement import Arrangement, home_request
from tigris_pio.compiler.plan.residency import crossing_tensors, home_lifetimes
from tigris_pio.compiler.plan.smallest import smallest as planned
from tigris_pio.format.enums import Home
from tigris_pio.format.records import VIEW_STATE_BYTES
from tigris_pio.sizes import round_up

#: The most that the solver spends on one case, in its own deterministic seconds.
EFFORT = 30.0
#: Units of the objective for one instruction.
PRECISION = 8
#: A plan is cheaper than another if it costs less than this share.
LESS = 0.9999
#: No plan of a small program costs so much.
DEAREST = 1e12

Pieces = Sequence[Piece]
#: Literals that must all be true.
Condition = tuple[cp_model.IntVar, ...]
#: A request: its pieces, and when it is there.
Item = tuple[Pieces, Condition]
#: The program in its order, and a plan.
Found = tuple[ProgramIndex, Arrangement]


class Undecided(Exception):
    """The solver's effort was not enough."""


class Model:
    """The plans of `ways` within `budget`."""

    def __init__(self, index: ProgramIndex, ways: Sequence[Way], budget: Budget, alignment: int) -> None:
        assert budget.fast is not None
        self.index, self.ways, self.budget, self.alignment = index, ways, budget, alignment
        self.model = cp_model.CpModel()
        self.most = {Home.FAST: budget.fast // alignment, Home.SLOW: budget.slow // alignment}
        self.peak = self.model.new_int_var(0, self.most[Home.FAST], "peak")
        self.state = self.model.new_int_var(0, self.most[Home.FAST], "run-time state")
        self.slow = {name: self.model.new_bool_var(f"slow {name}") for name in index.lives}
        self.chosen = [self.model.new_bool_var(f"way {place}") for place in range(len(ways))]
        self.cuts = [self.model.new_bool_var(f"cut {cut}") for cut in range(len(index.ops) + 1)]
        self.offsets: dict[tuple[Home, str], cp_model.IntVar] = {}
        self.apart: dict[tuple[Home, str, str, tuple[int, ...]], list[Condition]] = {}
        self.within: dict[tuple[Home, str, int], list[Condition]] = {}
        self.home_of = {name: home_request(name) for name in index.lives}
        sizes = {home_request(name): index.tensor(name).bytes for name in index.lives}
        links = itertools.chain.from_iterable(links_of(op, self.home_of, sizes) for op in index.ops)
        self.holds = [link for link in links if link.kind is Kind.HOLDS
                      and 0 <= link.offset <= sizes[link.first] - sizes[link.second]]  # fmt: skip
        self._path()
        for cut, visited in enumerate(self.cuts):
            self._cross(cut, visited)
        for way, chosen in zip(ways, self.chosen, strict=True):
            self._stage(way, chosen)
        self._enforce()

    # -- constraints

    def _path(self) -> None:
        chosen = list(zip(self.ways, self.chosen, strict=True))
        self.model.add_bool_and(self.cuts[0], self.cuts[-1])
        for cut, visited in enumerate(self.cuts[:-1]):
            self.model.add_exactly_one([~visited, *(literal for way, literal in chosen if way.first == cut)])
        for cut, visited in enumerate(self.cuts[1:], 1):
            self.model.add_exactly_one([~visited, *(literal for way, literal in chosen if way.end == cut)])

    def _cross(self, cut: int, visited: cp_model.IntVar) -> None:
        """Tensors across a visited cut lie apart, unless one holds the other."""
        live = [name for name, life in self.index.lives.items() if life.birth < cut <= life.death]
        for memory in Home.FAST, Home.SLOW:
            lie = {name: (visited, self._lies(name, memory)) for name in live}
            for name, condition in lie.items():
                self._fit(memory, self.home_of[name], self.index.tensor(name).bytes, condition)
            items = {self.home_of[name]: (self._whole(name, cut, cut + 1), lie[name]) for name in live}
            self._part_all(memory, items, self.holds, items)

    def _stage(self, way: Way, chosen: cp_model.IntVar) -> None:
        """A way's windows and the homes that it fills lie apart from all else; its state precedes the arena."""
        state = round_up(VIEW_STATE_BYTES * len(way.draft.views), self.alignment)
        self.model.add(self.state >= state // self.alignment).only_enforce_if(chosen)
        for name, home in way.homes.items():
            self.model.add_implication(chosen, self._lies(name, home))
        for request in way.windows:
            self._fit(Home.FAST, request.name, request.bytes, (chosen,))
        made = {self.home_of[name] for name in self.index.outputs(way.first, way.end)}
        own = made | {request.name for request in way.windows}
        items = {name: (pieces, (chosen,)) for name, pieces in way.taken.items()}
        for name, life in self.index.lives.items():
            if life.birth < way.first and life.death >= way.end and name not in way.homes:
                items[self.home_of[name]] = self._whole(name, way.first, way.end), (chosen, self._lies(name, Home.FAST))
        links = (*way.links, *(link for link in self.holds if not {link.first, link.second} & made))
        slow = [name for name, home in way.homes.items() if home is Home.SLOW]
        lying = {self.home_of[name]: (self._whole(name, way.first, way.end), (chosen,)) for name in slow}
        self._part_all(Home.FAST, items, links, own)
        self._part_all(Home.SLOW, lying, (), made)

    def _whole(self, name: str, first: int, end: int) -> Pieces:
        return (Piece(0, self.index.tensor(name).bytes, Lifetime(first, end - 1)),)

    def _part_all(self, memory: Home, items: Mapping[str, Item], links: Iterable[Link], own: Container[str]) -> None:
        """Keeps every pair apart of which one is in `own`."""
        for one, other in itertools.combinations(sorted(items), 2):
            if one in own or other in own:
                self._part(memory, one, other, items, tuple(links))

    def _part(self, memory: Home, one: str, other: str, items: Mapping[str, Item], links: Iterable[Link]) -> None:
        """Excludes the distances from `one` to `other` at which two of their pieces overlap at one moment."""
        (pieces, condition), (others, further), unit = items[one], items[other], self.alignment
        hit = [
            [(a.offset - b.offset - b.bytes) // unit + 1, -(-(a.offset + a.bytes - b.offset) // unit) - 1]
            for a in pieces for b in others if a.bytes and b.bytes and a.meets(b)
        ]  # fmt: skip
        if hit:
            apart = cp_model.Domain.from_intervals(hit).complement().union_with(_shared(one, other, links, unit))
            farthest = max(self.most.values())
            apart = apart.intersection_with(cp_model.Domain(-farthest, farthest))
            conditions = self.apart.setdefault((memory, one, other, tuple(apart.flattened_intervals())), [])
            conditions.append(tuple(dict.fromkeys((*condition, *further))))

    def _fit(self, memory: Home, name: str, size: int, condition: Condition) -> None:
        self.within.setdefault((memory, name, -(-size // self.alignment)), []).append(condition)

    def _enforce(self) -> None:
        """Adds each constraint once, for all the ways and cuts that ask for it."""
        for (memory, name, size), conditions in self.within.items():
            top = self.peak - self.state if memory is Home.FAST else self.most[memory]
            self.model.add(self._offset(memory, name) + size <= top).only_enforce_if(*self._any(conditions))
        for (memory, one, other, allowed), conditions in self.apart.items():
            distance = self._offset(memory, other) - self._offset(memory, one)
            domain = cp_model.Domain.from_flat_intervals(list(allowed))
            self.model.add_linear_expression_in_domain(distance, domain).only_enforce_if(*self._any(conditions))

    def _any(self, conditions: Sequence[Condition]) -> Condition:
        if len(conditions) == 1:
            return conditions[0]
        found = self.model.new_bool_var("")
        for condition in conditions:
            self.model.add_bool_or([*(~literal for literal in condition), found])
        return (found,)

    def _lies(self, name: str, memory: Home) -> cp_model.IntVar:
        if not self.budget.slow:
            return self.model.new_constant(memory is Home.FAST)
        return self.slow[name] if memory is Home.SLOW else ~self.slow[name]

    def _offset(self, memory: Home, name: str) -> cp_model.IntVar:
        if (memory, name) not in self.offsets:
            self.offsets[memory, name] = self.model.new_int_var(0, self.most[memory], f"{memory} {name}")
        return self.offsets[memory, name]

    # -- solutions

    def cheapest(self, below: float) -> Arrangement | None:
        """The cheapest plan that costs at most `below`; None if there is none."""
        cost = sum(int(PRECISION * way.cost) * chosen for way, chosen in zip(self.ways, self.chosen, strict=True))
        self.model.add(cost <= int(PRECISION * below))
        self.model.minimize(cost)
        return self._solved()

    def smallest(self) -> Arrangement | None:
        """The plan of least fast memory; None if there is none."""
        self.model.minimize(self.peak)
        return self._solved()

    def _solved(self) -> Arrangement | None:
        solver = cp_model.CpSolver()
        solver.parameters.max_deterministic_time = EFFORT
        solver.parameters.num_workers = 1
        status = solver.solve(self.model)
        if status == cp_model.INFEASIBLE:
            return None
        if status != cp_model.OPTIMAL:
            raise Undecided(solver.status_name(status))
        chosen = [way for way, chosen in zip(self.ways, self.chosen, strict=True) if solver.boolean_value(chosen)]
        return self._arrangement(solver, sorted(chosen, key=lambda way: way.first))

    def _arrangement(self, solver: cp_model.CpSolver, ways: Sequence[Way]) -> Arrangement:
        index, segments = self.index, [way.draft.segment for way in ways]
        homes = {name: home for way in ways for name, home in way.homes.items()}
        homes = {name: homes[name] for name in crossing_tensors(index, segments)}
        lives = home_lifetimes(index, segments, homes)
        requests = {name: Request(self.home_of[name], index.tensor(name).bytes, lives[name]) for name in homes}
        fast = [request for way in ways for request in way.windows]
        fast += [request for name, request in requests.items() if homes[name] is Home.FAST]
        slow = [request for name, request in requests.items() if homes[name] is Home.SLOW]
        placed = [self._placement(solver, memory, asked) for memory, asked in ((Home.FAST, fast), (Home.SLOW, slow))]
        state = round_up(VIEW_STATE_BYTES * max(len(way.draft.views) for way in ways), self.alignment)
        return Arrangement(tuple(way.draft for way in ways), homes, tuple(fast), *placed, state)

    def _placement(self, solver: cp_model.CpSolver, memory: Home, requests: Sequence[Request]) -> Placement:
        offsets = {r.name: self.alignment * solver.value(self.offsets[memory, r.name]) for r in requests}
        return Placement(offsets, max((offsets[r.name] + r.bytes for r in requests), default=0), 0, "CP-SAT")


def _shared(one: str, other: str, links: Iterable[Link], unit: int) -> cp_model.Domain:
    """The distances from `one` to `other` at which the two may overlap."""
    allowed = cp_model.Domain.from_values([])
    for link in links:
        if {link.first, link.second} == {one, other} and link.offset % unit == 0:
            distance = link.offset // unit
            least = cp_model.Domain(-(1 << 40) if link.kind is Kind.GROWS else distance, distance)
            allowed = allowed.union_with(least if link.first == one else least.negation())
    return allowed


def cheapest(stages: Ways, budget: Budget, below: float = math.inf) -> Found | None:
    """The cheapest plan within `budget` that costs less than `below` by more than a ten-thousandth."""
    limit = stages.least_cost
    while limit < min(below * LESS, DEAREST):
        limit = min(2 * limit, below * LESS)  # most ways cost more than the cheapest plan
        ways = stages.within(budget, limit)
        found = Model(stages.index, ways, budget, stages.alignment).cheapest(limit) if ways else None
        if found is not None:
            return stages.index, found
    return None


def smallest(stages: Ways) -> Found:
    """The plan of least fast memory without slow memory."""
    known = planned(Stages.of(stages.index, stages.alignment), 0)
    assert known is not None, "without a limit there is a plan"
    budget = Budget(round_up(known.fast_bytes, stages.alignment))
    ways = stages.within(budget, DEAREST)
    return stages.index, Model(stages.index, ways, budget, stages.alignment).smallest() or known

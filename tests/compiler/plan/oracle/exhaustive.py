"""The cheapest plan of a small program: all orders, cuts, strategies, heights and homes.

A graph: a node is what has run and the homes of what crosses the cut there, an edge a stage run in one way. Each stage
must fit by itself, beside what lives through it. How cheaply the end can be reached from a node is then known by going
backwards, and with that whole plans come in the order of their costs (A*, with an estimate that misses only what the
placement costs): the first whose buffers can all be placed is the cheapest there is. The run-time state of a plan
depends on the stage with the most views, so the search is for each number of them.
"""

from __future__ import annotations

import dataclasses
import heapq
import itertools
import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tests.compiler.plan.oracle.cuts import Cuts, after
from tests.compiler.plan.oracle.placing import fitting, state_bytes
from tests.compiler.plan.oracle.ways import Known, Ways, ways_of
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.plan.band.spatial import Draft
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.placement import Arrangement
from tigris_pio.format.enums import Home
from tigris_pio.sizes import round_up

#: Plans of which every stage fits by itself and that cannot be placed, before the search is given up.
MOST_MISSES = 300

#: The cost up to which stages are looked at first, where slow memory makes them many, and the most that is of use.
FIRST_LIMIT, LAST_LIMIT = 20_000.0, 1e12

Homes = tuple[Home, ...]


class Undecided(Exception):
    """More plans failed to be placed than the search looks at."""


@dataclasses.dataclass(frozen=True)
class Found:
    """The cheapest plan: what it costs, the program in the order it has, and the plan."""

    cost: float
    index: ProgramIndex
    arrangement: Arrangement


class Edge(NamedTuple):
    """The ways to run a stage from one node to another, cheapest first. peak: bytes of the fast arena, without the
    run-time state, that are taken at the stage's fullest step."""

    ops: tuple[int, ...]
    done: int
    homes: Homes
    made: Mapping[str, Home]  #: of what the stage leaves
    ways: Ways
    peak: np.ndarray

    def way(self, limits: tuple[int, int], since: int = 0) -> int | None:
        """The first way from `since` on within a peak and a number of views."""
        fits = (self.peak[since:] <= limits[0]) & (self.ways.views[since:] <= limits[1])
        return since + int(fits.argmax()) if fits.any() else None


class Planner:
    """The plans of one program that cost at most `below`. What is known of stages stays from budget to budget."""

    def __init__(self, cuts: Cuts, alignment: int, below: float = math.inf, small: bool = False) -> None:
        """`small`: only the ways that take least memory, to find out whether there is a plan."""
        self.cuts, self.alignment, self.below, self.small = cuts, alignment, below, small
        self._known: Known = {}
        self._edges: dict[tuple[bool, int, Homes], list[Edge]] = {}
        index = next(iter(cuts.orders.values()))
        self.sizes = {name: round_up(index.tensor(name).bytes, alignment) for name in index.lives}
        holding = (op for op in index.ops if op.aliases)
        self._holds = {op.output: (op.output, *(op.operands[alias.operand].tensor for alias in op.aliases))
                       for op in holding}

    def cheapest(self, budget: Budget) -> Found | None:
        """The cheapest plan within `budget`; None when there is none, Undecided when too many had to be tried."""
        return _Search(self, budget).run()

    def smallest(self, slow: int) -> int:
        """The least multiple of the alignment in which there is a plan; of a planner of small ways."""
        step = self.alignment
        low, high = 0, sum(self.sizes.values()) // step + 1
        while not _Search(self, Budget(high * step, slow)).starts():
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if _Search(self, Budget(middle * step, slow)).starts() else (middle, high)
        while self.cheapest(Budget(high * step, slow)) is None:
            high += 1
        return high * step

    @staticmethod
    def deepening(cuts: Cuts, alignment: int, budget: Budget, below: float) -> Found | None:
        """The cheapest plan that costs at most `below`, as `cheapest` finds it, but with ever dearer stages: most
        cost more than the cheapest plan."""
        limit = FIRST_LIMIT
        while limit < min(below, LAST_LIMIT):
            found = Planner(cuts, alignment, limit).cheapest(budget)
            if found is not None:
                return found
            limit *= 2
        return Planner(cuts, alignment, min(below, LAST_LIMIT)).cheapest(budget)

    @cached_property
    def _crossing(self) -> dict[int, tuple[str, ...]]:
        crossing = {}
        for done, following in self.cuts.segments.items():
            index, first = next(iter(following.values()))
            crossing[done] = _living(index, first)
        index = next(iter(self.cuts.orders.values()))
        return {**crossing, self.cuts.end: _living(index, len(index.ops))}

    def crossing(self, done: int) -> tuple[str, ...]:
        """What lives before and after the cut where `done` has run."""
        return self._crossing[done]

    def edges(self, slow: bool, done: int, homes: Homes) -> list[Edge]:
        """The stages that may begin at a node, some of what they make in slow memory if there is any."""
        if (slow, done, homes) not in self._edges:
            lying = dict(zip(self.crossing(done), homes, strict=True))
            segments = self.cuts.segments[done]
            self._edges[slow, done, homes] = [edge for ops in segments for edge in self._run(slow, done, ops, lying)]
        return self._edges[slow, done, homes]

    def _run(self, slow: bool, done: int, ops: tuple[int, ...], lying: Mapping[str, Home]) -> Iterator[Edge]:
        index, first = self.cuts.segments[done][ops]
        end = first + len(ops)
        outputs = index.outputs(first, end)
        for choice in choices(slow, len(outputs)):
            made = dict(zip(outputs, choice, strict=True))
            homes = {**lying, **made}
            ways = ways_of(index, first, end, homes, self.alignment, self.below, self._known)
            if ways.ways:
                ways = ways.smallest() if self.small else ways
                then = after(done, ops)
                left = tuple(homes[name] for name in self.crossing(then))
                yield Edge(ops, then, left, made, ways, self._peak(index, first, end, homes, ways))

    def _peak(self, index: ProgramIndex, first: int, end: int, homes: Mapping[str, Home], ways: Ways) -> np.ndarray:
        """What each way takes at least at its fullest step, beside the homes in fast memory. A lower bound: of tensors
        that may share memory it counts the largest."""
        fast = [name for name, home in homes.items() if home is Home.FAST]
        before = {op.output for op in index.ops[:first]}
        throughout = self._least(fast, before, ())
        at_step = np.zeros((2, end - first), dtype=np.int64)
        for step in range(first, end):
            op = index.ops[step]
            live = [name for name, life in index.lives.items() if life.birth <= step <= life.death]
            at_home = [name for name in live if name in fast]
            at_step[0, step - first] = self._least(at_home, before, ())
            windows = [name for name in live if name not in homes]
            takes = (op.output, *(op.operands[place].tensor for place in op.in_place))
            sharing = before | {op.output for op in index.ops[first:end]}
            apart = sum(self.sizes[name] for name in windows)
            at_step[1, step - first] = self._least([*at_home, *windows], sharing, takes) - apart
        all_along = min(throughout, self._least(fast, before | {op.output for op in index.ops[first:end]}, ()))
        alone = np.where(ways.stays[:, None], throughout, at_step[0])
        shared = np.minimum(np.where(ways.stays[:, None], all_along, at_step[1]), alone)
        peak: np.ndarray = (ways.need + np.where(ways.shares[:, None], shared, alone)).max(axis=1)
        return peak

    def _least(self, names: list[str], holding: set[str], takes: tuple[str, ...]) -> int:
        """Bytes that tensors take at least at one moment, when those of `takes` may share memory, and so may those of
        `holding` with what they are copies of."""
        group = {name: place for place, name in enumerate(names)}
        for together in (*(held for made, held in self._holds.items() if made in holding), takes):
            joined = {group[name] for name in together if name in group}
            group = {name: min(joined) if place in joined else place for name, place in group.items()}
        largest: dict[int, int] = {}
        for name in names:
            largest[group[name]] = max(largest.get(group[name], 0), self.sizes[name])
        return sum(largest.values())


def _living(index: ProgramIndex, cut: int) -> tuple[str, ...]:
    """What lives before and after a cut."""
    return tuple(sorted(name for name, life in index.lives.items() if life.birth < cut <= life.death))


def choices(slow: bool, count: int) -> Iterator[Homes]:
    """The homes that so many tensors may have."""
    return itertools.product((Home.FAST, Home.SLOW) if slow else (Home.FAST,), repeat=count)


@dataclasses.dataclass(frozen=True)
class _Node:
    """A plan up to a cut, for stages of at most `views` views. Its last stage is way `way` of edge `edge` of the node
    before."""

    views: int
    done: int
    homes: Homes
    cost: float
    before: _Node | None = None
    edge: Edge | None = None
    way: int = 0


class _Search:
    def __init__(self, planner: Planner, budget: Budget) -> None:
        assert budget.fast is not None
        self.planner, self.budget = planner, budget
        self._rest: dict[tuple[int, int, Homes], float] = {}
        self._heap: list[tuple[float, int, _Node]] = []
        self._pushed = itertools.count()

    def limits(self, views: int) -> tuple[int, int]:
        """The peak and the views that a stage may have."""
        assert self.budget.fast is not None
        return self.budget.fast - state_bytes(views, self.planner.alignment), views

    def edges(self, done: int, homes: Homes) -> Iterator[Edge]:
        """From a node, those that fit slow memory."""
        sizes, before = self.planner.sizes, self.planner.crossing(done)
        taken = sum(sizes[name] for name, home in zip(before, homes, strict=True) if home is Home.SLOW)
        for edge in self.planner.edges(self.budget.slow > 0, done, homes):
            added = sum(sizes[name] for name, home in edge.made.items() if home is Home.SLOW)
            if taken + added <= self.budget.slow + self.planner.alignment - 1:
                yield edge

    def rest(self, views: int, done: int, homes: Homes) -> float:
        """The least that reaching the end from a node costs; infinite when it cannot be reached."""
        if done == self.planner.cuts.end:
            return 0.0
        key = views, done, homes
        if key not in self._rest:
            least = math.inf
            for edge in self.edges(done, homes):
                way = edge.way(self.limits(views))
                if way is not None and edge.ways.cost[way] < least:
                    least = min(least, edge.ways.cost[way] + self.rest(views, edge.done, edge.homes))
            self._rest[key] = least
        return self._rest[key]

    def starts(self) -> list[_Node]:
        """Those from which the end can be reached, if only each stage has to fit."""
        homes = list(choices(self.budget.slow > 0, len(self.planner.crossing(0))))
        nodes = [_Node(views, 0, some, 0.0) for views in range(1, len(self.planner.sizes) + 1) for some in homes]
        return [node for node in nodes if math.isfinite(self.rest(node.views, node.done, node.homes))]

    def run(self) -> Found | None:
        """The first whole plan that can be placed."""
        for node in self.starts():
            self._push(node)
        misses = 0
        while self._heap:
            _, _, node = heapq.heappop(self._heap)
            self._follow(node)
            if node.done == self.planner.cuts.end:
                index, drafts, homes = self._plan(node)
                if max(len(draft.views) for draft in drafts) < node.views:
                    continue  # it comes for fewer views, too
                arrangement = fitting(index, drafts, homes, self.budget, self.planner.alignment)
                if arrangement is not None:
                    return Found(float(node.cost), index, arrangement)
                misses += 1
                if misses > MOST_MISSES:
                    raise Undecided(f"{misses} plans that cannot be placed")
        return None

    def _push(self, node: _Node) -> None:
        least = node.cost + self.rest(node.views, node.done, node.homes)
        if math.isfinite(least) and least <= self.planner.below:
            heapq.heappush(self._heap, (least, next(self._pushed), node))

    def _follow(self, node: _Node) -> None:
        """By the cheapest way of each edge from a node; and by the next way of the edge that led there."""
        limits = self.limits(node.views)
        if node.done != self.planner.cuts.end:
            for edge in self.edges(node.done, node.homes):
                way = edge.way(limits)
                if way is not None:
                    cost = node.cost + edge.ways.cost[way]
                    self._push(_Node(node.views, edge.done, edge.homes, cost, node, edge, way))
        if node.before is not None and node.edge is not None:
            way = node.edge.way(limits, node.way + 1)
            if way is not None:
                self._push(dataclasses.replace(node, cost=node.before.cost + node.edge.ways.cost[way], way=way))

    def _plan(self, node: _Node) -> tuple[ProgramIndex, list[Draft], dict[str, Home]]:
        """The stages of a whole plan, and the homes of what crosses their cuts."""
        stages: list[_Node] = []
        while node.before is not None:
            stages.insert(0, node)
            node = node.before
        order = tuple(op for stage in stages if stage.edge is not None for op in stage.edge.ops)
        index, first, drafts = self.planner.cuts.orders[order], 0, []
        homes = dict(zip(self.planner.crossing(0), node.homes, strict=True))
        for stage in stages:
            assert stage.edge is not None
            homes |= stage.edge.made
            end = first + len(stage.edge.ops)
            drafts.append(stage.edge.ways.ways[stage.way].draft(index, first, end, homes))
            first = end
        return index, drafts, homes

"""Programs of few operators: every way to cut them and every way to run their stages, the cheapest first.

A graph: a node is how many operators have run, where what crosses the cut there lives, and how many views a stage may
have at most, which the run-time state of the whole plan depends on; an edge is a stage run in one way. A stage must fit
by the live bytes, beside what lives through it. How cheaply the end can be reached from a node is then known by going
backwards, and with that whole plans come in the order of their costs (P. Hart, N. Nilsson and B. Raphael, "A formal
basis for the heuristic determination of minimum cost paths", IEEE Transactions SSC 4, 1968). The first whose buffers
can be placed is the cheapest.
"""

from __future__ import annotations

import dataclasses
import heapq
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tigris_pio.compiler.instructions.predict import executor_instructions
from tigris_pio.compiler.plan.aim import Aim, Windows
from tigris_pio.compiler.plan.band.paces import rolling_paces, tallest_height
from tigris_pio.compiler.plan.band.spatial import Draft, draft_stage
from tigris_pio.compiler.plan.cost import SLOW_BYTE, op_costs
from tigris_pio.compiler.plan.heights import SURE, draft_cost
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.placement import Arrangement, fitted, least_bytes, state_bytes, view_count
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.format.enums import Home
from tigris_pio.format.records import VIEW_STATE_BYTES
from tigris_pio.sizes import round_up

#: Programs of more operators have too many cuts.
REACH = 7
#: Plans that are tried to be placed, nodes that are left, and stages that are drafted before the search ends.
TRIES, NODES, DRAFTS = 60, 20_000, 5000
#: Of a stage of up to so many rows all heights are tried; of others the lowest of each number of bands.
FEW_ROWS = 24

_Homes = tuple[tuple[str, Home], ...]


class _Way(NamedTuple):
    """One way to run a stage."""

    cost: float
    draft: Draft


class _Node(NamedTuple):
    """Operators before `done` have run, in stages of at most `views` views."""

    views: int
    done: int
    homes: _Homes  #: of what lives across the cut


class _Edge:
    """The stage from one node to another, run in one of its ways, cheapest first.

    done, left: how many operators have run then, and the homes of what lives on. homes: those that the stage sees.
    """

    def __init__(self, done: int, left: _Homes, homes: Mapping[str, Home], ways: Sequence[_Way]) -> None:
        self.done, self.left, self.homes, self.ways = done, left, homes, ways
        self.takes: dict[int, tuple[int, int, int]] = {}  #: what each way takes, if it was asked for


class _Stage(NamedTuple):
    """A stage run in one way."""

    edge: _Edge
    way: int

    @property
    def draft(self) -> Draft:
        """As it is run."""
        return self.edge.ways[self.way].draft


class _Edges(dict[tuple[bool, int, bool], dict[tuple[int, _Homes], list[_Edge]]]):
    """All edges from nodes: with slow memory or without, by alignment, and all their ways or the smallest alone."""


class _Takes(dict[tuple[Windows, int], dict[tuple[Segment, int, _Homes], int]]):
    """Bytes of fast memory that drafts take at least, by how much of windows is free and alignment: by segment, rows of
    a band and homes."""


class _WholeTakes(dict[tuple[Windows, bool, int], dict[tuple[tuple[tuple[Segment, int], ...], _Homes], int]]):
    """The same of whole plans: by how much of windows is free, whether there is slow memory, and alignment; and by
    segments, rows of their bands, and homes."""


@dataclasses.dataclass(frozen=True)
class _Path:
    """A plan up to a node, whose last stage is `stage`."""

    node: _Node
    cost: float
    before: _Path | None = None
    stage: _Stage | None = None


def cheapest_of_every_cut(index: ProgramIndex, aim: Aim, most: float) -> Arrangement | None:
    """The cheapest arrangement within `aim`'s limits whose stages cost less than `most`; None where there is none, or
    for a program of too many operators, or of streamed tensors or kept states."""
    streams = any(tensor.streamed for tensor in index.program.tensors.values())
    if len(index.ops) > REACH or index.body is not index or streams:
        return None
    aim = dataclasses.replace(aim, windows=Windows.SHARED if aim.slow else Windows.STAIRS)
    found = _Search(index, aim, most, small=False).run()
    if found is None and math.isinf(most):
        return _Search(index, aim, most, small=True).run()
    return found


class _TooManyError(Exception):
    """More stages than a search drafts."""


class _Search:
    """`small`: of each strategy only the way that takes least memory, to find out whether anything fits."""

    def __init__(self, index: ProgramIndex, aim: Aim, most: float, small: bool) -> None:
        self.index, self.aim, self.most, self.small = index, aim, most, small
        self._whole = op_costs(index).whole
        self._edges: dict[tuple[int, _Homes], list[_Edge]] = {}
        if math.isinf(most):  # then they depend on nothing else
            self._edges = index.cache(_Edges).setdefault((aim.slow > 0, aim.alignment, small), {})
        self._known = index.cache(_Takes).setdefault((aim.windows, aim.alignment), {})
        self._whole_takes = index.cache(_WholeTakes).setdefault((aim.windows, aim.slow > 0, aim.alignment), {})
        self._rest: dict[_Node, float] = {}
        self._heap: list[tuple[float, int, _Path]] = []
        self._pushed = itertools.count()
        self._drafted = 0

    def run(self) -> Arrangement | None:
        """The first whole plan that can be placed; None when there is none, or too much had to be looked at."""
        try:
            return self._run()
        except _TooManyError:
            return None

    def _run(self) -> Arrangement | None:
        tried = 0
        for node in self._starts():
            self._push(_Path(node, 0.0))
        for _ in range(NODES):
            if not self._heap or tried == TRIES:
                break
            path = heapq.heappop(self._heap)[2]
            self._turn(path)
            if path.node.done < len(self.index.ops):
                self._follow(path)
            elif max(len(stage.draft.views) for stage in self._stages(path)) == path.node.views:  # else it came before
                tried += 1
                found = self._fitted(path.node, self._stages(path))
                if found is not None:
                    return found
        return None

    def _fitted(self, node: _Node, stages: Sequence[_Stage]) -> Arrangement | None:
        """Stages in a row, beside the run-time state of plans through a node."""
        own = state_bytes(self.index, [stage.draft.segment for stage in stages], self.aim.alignment)
        aim = dataclasses.replace(self.aim, limit=self._room(node) + own)
        homes = {name: home for stage in stages for name, home in stage.edge.homes.items()}
        drafts = tuple(stage.draft for stage in stages)
        key = tuple((draft.segment, draft.band_rows) for draft in drafts), tuple(homes.items())
        if key not in self._whole_takes:
            self._whole_takes[key] = least_bytes(self.index, drafts, homes, aim)
        return fitted(self.index, drafts, homes, aim) if self._whole_takes[key] <= aim.limit else None

    def _stages(self, path: _Path) -> list[_Stage]:
        stages: list[_Stage] = []
        while path.before is not None and path.stage is not None:
            stages.insert(0, path.stage)
            path = path.before
        return stages

    def _starts(self) -> Iterator[_Node]:
        names = tuple(io.tensor for io in self.index.program.inputs)  # also those that nothing reads
        views = {view_count(self.index, Segment(first, end)) for first, end in self._segments()}
        for homes in self._choices(names):
            for most in sorted(views):
                yield _Node(most, 0, tuple(zip(names, homes, strict=True)))

    def _segments(self) -> Iterator[tuple[int, int]]:
        return itertools.combinations(range(len(self.index.ops) + 1), 2)

    def _living(self, cut: int) -> tuple[str, ...]:
        return tuple(name for name, life in self.index.lives.items() if life.birth < cut <= life.death)

    def _choices(self, names: Sequence[str]) -> Iterator[tuple[Home, ...]]:
        return itertools.product((Home.FAST, Home.SLOW) if self.aim.slow else (Home.FAST,), repeat=len(names))

    def _room(self, node: _Node) -> int:
        return self.aim.limit - round_up(VIEW_STATE_BYTES * node.views, self.aim.alignment)

    def _push(self, path: _Path) -> None:
        least = path.cost + self._least(path.node)
        if least < self.most:
            heapq.heappush(self._heap, (least, next(self._pushed), path))

    def _follow(self, path: _Path) -> None:
        """By the cheapest way of each edge from where a path ends."""
        room = self._room(path.node)
        for edge in self._from(path.node):
            way = self._way(edge, room)
            if way is not None:
                node = _Node(path.node.views, edge.done, edge.left)
                self._push(_Path(node, path.cost + edge.ways[way].cost, path, _Stage(edge, way)))

    def _turn(self, path: _Path) -> None:
        """By the next way of the last edge of a path."""
        if path.before is not None and path.stage is not None:
            edge = path.stage.edge
            way = self._way(edge, self._room(path.node), path.stage.way + 1)
            if way is not None:
                self._push(_Path(path.node, path.before.cost + edge.ways[way].cost, path.before, _Stage(edge, way)))

    def _least(self, node: _Node) -> float:
        """What reaching the end from a node costs at least; infinite when it cannot be reached."""
        if node.done == len(self.index.ops):
            return 0.0
        if node not in self._rest:
            least, room = math.inf, self._room(node)
            for edge in self._from(node):
                way = self._way(edge, room)
                if way is not None and edge.ways[way].cost < least:
                    after = self._least(_Node(node.views, edge.done, edge.left))
                    least = min(least, edge.ways[way].cost + after)
            self._rest[node] = least
        return self._rest[node]

    def _from(self, node: _Node) -> Iterator[_Edge]:
        """The edges from a node: those whose stage has no more views."""
        key = node.done, node.homes
        if key not in self._edges:
            self._edges[key] = list(self._found(node.done, dict(node.homes)))
        for edge in self._edges[key]:
            if view_count(self.index, Segment(node.done, edge.done)) <= node.views:
                yield edge

    def _found(self, first: int, lying: Mapping[str, Home]) -> Iterator[_Edge]:
        for end in range(first + 1, len(self.index.ops) + 1):
            made = self.index.outputs(first, end)
            left = self._living(end)
            for choice in self._choices(made):
                homes = {**lying, **dict(zip(made, choice, strict=True))}
                ways = self._ways(first, end, homes)
                if ways:
                    edge = _Edge(end, tuple((name, homes[name]) for name in left), homes, ways)
                    yield self._least_of_each(edge) if self.small else edge

    def _least_of_each(self, edge: _Edge) -> _Edge:
        """The same with one way of each strategy."""
        least: dict[Segment, int] = {}
        for place, way in enumerate(edge.ways):
            other = least.get(way.draft.segment)
            if other is None or self._takes(edge, place) < self._takes(edge, other):
                least[way.draft.segment] = place
        return _Edge(edge.done, edge.left, edge.homes, [edge.ways[place] for place in sorted(least.values())])

    def _ways(self, first: int, end: int, homes: Mapping[str, Home]) -> list[_Way]:
        """Those that cost less than leaves enough for all other operators, and for writing what lies in slow memory."""
        most = self.most - sum(self._whole[:first]) - sum(self._whole[end:])
        most -= SLOW_BYTE * self._written(homes, 0, first)
        drafts = list(self._drafts(first, end, homes, most))
        self._drafted += len(drafts)
        if self._drafted > DRAFTS:
            raise _TooManyError
        ways = [_Way(draft_cost(self.index, draft, homes), draft) for draft in drafts]
        alike = {(way.cost, way.draft.requests, way.draft.overlays): way for way in reversed(ways) if way.cost < most}
        return sorted(alike.values(), key=lambda way: (way.cost, sum(overlay.lead for overlay in way.draft.overlays)))

    def _way(self, edge: _Edge, room: int, since: int = 0) -> int | None:
        """The first way from `since` on that fits, and that takes less in some respect than every one before."""
        for place in range(since, len(edge.ways)):
            taken = self._takes(edge, place)
            if taken[0] <= room and not any(
                all(a <= b for a, b in zip(self._takes(edge, cheaper), taken, strict=True)) for cheaper in range(since)
            ):
                return place
        return None

    def _takes(self, edge: _Edge, place: int) -> tuple[int, int, int]:
        """Of a way the bytes of fast memory at least, without run-time state; those by which overlays move apart what
        shares memory; and those of windows and scratch."""
        if place not in edge.takes:
            draft = edge.ways[place].draft
            key = draft.segment, draft.band_rows, tuple(edge.homes.items())
            if key not in self._known:
                own = state_bytes(self.index, [draft.segment], self.aim.alignment)
                own += self._held(draft.segment.first, edge.homes)
                self._known[key] = least_bytes(self.index, (draft,), edge.homes, self.aim) - own
            leads = sum(overlay.lead for overlay in draft.overlays)
            edge.takes[place] = self._known[key], leads, sum(request.bytes for request in draft.requests)
        return edge.takes[place]

    def _held(self, first: int, homes: Mapping[str, Home]) -> int:
        """Bytes that homes may have in common since a stage before made one of them of the other."""
        fast = {name for name, home in homes.items() if home is Home.FAST}
        pairs = (
            (op.output, op.operands[alias.operand].tensor) for op in self.index.ops[:first] for alias in op.aliases
        )
        return sum(min(self.index.tensor(name).bytes for name in pair) for pair in pairs if fast.issuperset(pair))

    def _drafts(self, first: int, end: int, homes: Mapping[str, Home], most: float) -> Iterator[Draft]:
        """A stage whole, in bands that keep rows and in bands that make them again, and one in slow memory."""
        index, ops = self.index, self.index.ops[first:end]
        beyond = most - sum(self._whole[first:end]) - SLOW_BYTE * self._written(homes, first, end)
        if beyond < 0 or any(op.images != ops[0].images for op in ops):
            return
        yield draft_stage(index, Segment(first, end), 1, homes)
        slow = any(homes.get(name) is Home.SLOW for name in (*index.inputs(first, end), *index.outputs(first, end)))
        if slow and len(ops) == 1:
            yield draft_stage(index, Segment(first, end, direct=True), 1, homes)
        if all(index.bandable[first:end]):
            rolls, repeats = Segment(first, end, True, True), Segment(first, end, True, False)
            if rolling_paces(index, rolls, 1) is not None:
                yield from (draft_stage(index, rolls, rows, homes) for rows in self._heights(rolls, beyond))
            if self._may_repeat(first, end):
                yield from (draft_stage(index, repeats, rows, homes) for rows in self._heights(repeats, beyond))

    def _written(self, homes: Mapping[str, Home], first: int, end: int) -> int:
        """Bytes of slow memory that operators [first, end) leave there."""
        slow = (name for name, home in homes.items() if home is Home.SLOW)
        return sum(self.index.tensor(name).bytes for name in slow if first <= self.index.lives[name].birth < end)

    def _heights(self, segment: Segment, beyond: float) -> Iterator[int]:
        """From the tallest down while what starting so many bands takes is less than `beyond`."""
        steps, views = range(segment.first, segment.end), view_count(self.index, segment)
        walked = {"band": 1, "band view": views, "band operator": len(steps)}
        each = executor_instructions(walked, self.index.processor)
        each += sum(op_costs(self.index).call[step] for step in steps)
        tallest = tallest_height(self.index, segment)
        few = {-(-tallest // bands) for bands in range(1, tallest + 1)}
        for rows in range(tallest, 0, -1) if tallest <= FEW_ROWS else sorted(few, reverse=True):
            if SURE * each * tallest / rows > beyond:
                return
            yield rows

    def _may_repeat(self, first: int, end: int) -> bool:
        """Whether no row is summed over bands, made from the one before, or read by every band."""
        ops = self.index.ops[first:end]
        made = {op.output: self.index.tensor(op.output) for op in ops}
        operands = itertools.chain.from_iterable(op.operands for op in ops)
        once = any(tensor.folded or tensor.sequential for tensor in made.values())
        whole = any(operand.rows.numerator == 0 and operand.tensor in made for operand in operands)
        return not once and not whole and self.index.tensor(ops[-1].output).height > 1

"""Chooses operators to run in tiles of columns (compiler/lower/columns.py), from a plan without tiles.

If rows are so large that few of them fit, stages are short, and the tensors between them go through slow memory. A
tile's rows are smaller, so longer stages fit. But a region's inputs are brought for each of its tiles, and columns at
their edges are made twice. A shortest path over cuts finds the regions that pay. Its edges are the stages of the plan,
rolling stages, and regions in a number of tiles.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tigris_pio.compiler.cost.model import DEFAULT
from tigris_pio.compiler.ir.plan import ExecutionPlan, Stage
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.lower.columns import Span, Tiles, is_tileable, tile_span, tile_spans
from tigris_pio.compiler.lower.passes import with_tiled_columns
from tigris_pio.compiler.plan.band.calls import works_in_slow_memory
from tigris_pio.compiler.plan.cost import DIRECT_BYTE, cost_of, op_costs
from tigris_pio.compiler.plan.cut.estimate import Prices
from tigris_pio.compiler.plan.cut.rolling_sweep import WindowRows, window_rows
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.format.records import VIEW_STATE_BYTES
from tigris_pio.sizes import round_up

#: Numbers of tiles that are tried, fewest first: a CONCAT joins no more.
COUNTS = (1, 2, 3, 4, 6, 8)
#: Operators of a region at most.
REACH = 24
#: Tensors of more than the fast memory's share are cut where they are made, for tiles that read them.
APART = 2
#: Operators of a program in tiles at most: planning takes longer the more there are.
MOST = 600
#: What is expected to cost no more than so many times the least is tried.
NEAR = 1.4
#: Tiles are made for the fast memory there is, and then, one after the other until a plan is found, for sizes that are
#: the same whatever that is: so many from a size to its double, down to this share of it.
STEPS, MOST_LESS, LEAST = 8, 0.96, 0.6
#: What tiles must be expected to save, as a share of what the plan costs.
WORTH = 0.03


#: Run-time state is told apart where this share of the fast memory is at most so many bytes.
STATE_SHARE, SCARCE = 1 / 8, 512


class _Way(NamedTuple):
    """The cheapest way found to a cut."""

    cost: float
    before: int
    tiles: int  #: of the region that leads here; 1: none


def tiled(indices: Sequence[ProgramIndex], plan: ExecutionPlan, alignment: int) -> Iterator[Sequence[Program]]:
    """Programs with operators in tiles of columns that may be cheaper than `plan`, the most promising first.

    `indices` has the orders of the plan's program. Programs for less memory than there is follow, because the memory of
    a tile is an estimate. None is returned twice, and none if tiles do not pay.
    """
    spills = any(stage.slow_read for stage in plan.stages)
    if plan.budget.fast is None or not spills or len(plan.program.ops) > MOST // 2:
        return
    bytes_of = (plan.program.tensors[io.tensor].bytes for io in plan.program.inputs)
    slow_byte = Prices.of(plan.processor or DEFAULT).slow_byte
    planned = sum(_slow_cost(plan, stage, slow_byte) for stage in plan.stages)
    worth = WORTH * cost_of(plan)
    if planned - slow_byte * sum(size for size in bytes_of if size > plan.budget.fast) <= worth:
        return  # what lies in slow memory when the run begins is brought in any case
    known: set[tuple[object, ...]] = set()
    least = round_up(int(STATE_SHARE * plan.budget.fast), alignment)
    for limit in _sizes(plan.budget.fast):
        whole = limit == plan.budget.fast
        kinds = [_Kind()]
        if not whole:
            kinds.append(_Kind(alone=True))
        elif least <= SCARCE:
            kinds.append(_Kind(state=least))
        new: list[_Search] = []
        for kind in kinds:
            ways = []
            for cuts in (True, False):
                searches = (_Search(index, plan, limit, alignment, cuts, kind, planned - worth) for index in indices)
                ways.append(min(searches, key=lambda search: search.cost))
            ways.sort(key=lambda search: search.cost)
            most = min(planned - worth, NEAR * ways[0].cost)
            ways = [way for way in ways if way.cost <= most and way.regions() and way.key not in known]
            new += ways[: 1 if kind.state else 2]
            known.update(way.key for way in new)
        found = (with_tiled_columns(way.program, way.regions(), way.apart) for way in new)
        yield [program for program in found if len(program.ops) <= MOST]


def _sizes(fast: int) -> Iterator[int]:
    """Sizes of memory for which tiles are made, the largest first."""
    yield fast
    most = math.ceil(STEPS * math.log2(MOST_LESS * fast)) - 1
    sizes = (int(2 ** (at / STEPS)) for at in range(most, 0, -1))
    yield from itertools.takewhile(lambda size: size >= LEAST * fast, sizes)


def _slow_cost(plan: ExecutionPlan, stage: Stage, slow_byte: float) -> float:
    return (DIRECT_BYTE if works_in_slow_memory(plan, stage) else slow_byte) * (stage.slow_read + stage.slow_written)


class _Rows(dict[int, list[tuple[int, dict[str, WindowRows]]]]):
    """The segments that roll from each first operator on."""


class _Region(NamedTuple):
    """The properties of a region in tiles that depend neither on the path to it nor on the memory."""

    spans: Sequence[Mapping[str, Span]]  #: the columns that each tile needs
    need: int  #: bytes that the largest takes in bands of one row, about
    again: float  #: instructions of columns that several tiles make


class _Regions(dict[tuple[Tiles, frozenset[str], int], "_Region | None"]):
    """The regions of a program, by the tensors of it that are cut where they are made, and the alignment; None: there
    is none."""


@dataclasses.dataclass(frozen=True)
class _Kind:
    """How a search judges.

    state: bytes of run-time state that no stage exceeds and each leaves free, because stages share the arena: the worst
        case of work in slow memory. None: each stage leaves free its own, the stages of the plan remain, and parts cost
        nothing to cut and to join: the best case of bytes moved
    alone: stages of the plan remain only if they fit the smaller memory that tiles are made for
    """

    state: int | None = None
    alone: bool = False


class _Search:
    """The cheapest way through the operators of a program that costs at most `most`. cuts: what is large is cut where
    it is made."""

    def __init__(
        self, index: ProgramIndex, plan: ExecutionPlan, limit: int, alignment: int, cuts: bool, kind: _Kind, most: float
    ) -> None:
        state = kind.state
        self.index, program = index, index.program
        self.program, self.alignment, self.apart = program, alignment, frozenset[str]()
        self.limit, self.state = limit - (state or 0), state
        self.room = (plan.budget.fast or limit) - (state or 0)
        self.prices = Prices.of(self.index.processor)
        self.costs = op_costs(self.index)
        self.tileable = [is_tileable(program, op) for op in program.ops]
        self.made = {op.output: step for step, op in enumerate(program.ops)}
        if cuts:
            self.apart = frozenset(n for n in self.made if APART * self.index.tensor(n).bytes > self.limit)
        names = [op.output for op in program.ops]
        same = [op.output for op in plan.program.ops] == names
        self.stages = {stage.first_op: (stage.end_op, _slow_cost(plan, stage, self.prices.slow_byte))
                       for stage in plan.stages if same and self._remains(plan, stage, kind)}  # fmt: skip
        self.cuts = self._cuts()
        self.ways = self._found(most)

    @property
    def cost(self) -> float:
        """Instructions beyond running whole in fast memory."""
        return self.ways[len(self.program.ops)].cost if len(self.program.ops) in self.ways else math.inf

    @property
    def key(self) -> tuple[object, ...]:
        """The facts that determine the program in tiles."""
        return id(self.program), self.apart, tuple(self.regions())

    def regions(self) -> list[Tiles]:
        """The regions in tiles on the way."""
        return [tiles for tiles in _back(self.ways, len(self.program.ops)) if tiles.number > 1]

    def _remains(self, plan: ExecutionPlan, stage: Stage, kind: _Kind) -> bool:
        """Whether a stage of the plan without tiles fits, be it in lower bands: beside the run-time state of others, or
        in less memory than the plan has."""
        own = self._state(len(stage.views))
        if self.state is not None:
            planned, room = self._state(max(len(each.views) for each in plan.stages)), self.room
            if own > self.state or planned >= self.state:
                return own <= self.state
        elif kind.alone:
            room = self.limit - own
        else:
            return True
        rows = dict(self._rows(stage.first_op)).get(stage.end_op)
        if rows is None or works_in_slow_memory(plan, stage):
            return True
        whole = {name: Span(0, self.index.tensor(name).width) for name in rows}
        return self._need(Tiles(stage.first_op, stage.end_op, 1), [], rows, whole) <= room

    def _state(self, views: int) -> int:
        return round_up(VIEW_STATE_BYTES * views, self.alignment)

    def _rows(self, first: int) -> list[tuple[int, dict[str, WindowRows]]]:
        known = self.index.cache(_Rows)
        if first not in known:
            known[first] = list(window_rows(self.index, first, REACH))
        return known[first]

    def _found(self, most: float) -> dict[int, _Way]:
        ways: dict[int, _Way] = {0: _Way(0.0, 0, 1)}
        for cut in range(len(self.program.ops)):
            if cut not in ways:
                continue
            for end, tiles, added in self._edges(cut, ways):
                cost = ways[cut].cost + added
                if cost <= most and (end not in ways or cost < ways[end].cost):
                    ways[end] = _Way(cost, cut, tiles)
        return ways

    def _cuts(self) -> frozenset[int]:
        """The cuts of the plan, and the cuts that no more bytes cross than their neighbours."""
        crossing, steps = self.index.crossing, len(self.program.ops)
        least = (c for c in range(1, steps) if crossing[c] <= min(crossing[c - 1], crossing[c + 1]))
        return frozenset((0, *least, *self.stages, steps))

    def _edges(self, first: int, ways: Mapping[int, _Way]) -> Iterator[tuple[int, int, float]]:
        """The edges that may follow a cut: end, number of tiles, and cost."""
        if first in self.stages:
            end, cost = self.stages[first]
            yield end, 1, cost + self._joined(first, end, ways)
        bytes_of = (self.index.tensor(name).bytes for name in self._touched(first, first + 1))
        yield first + 1, 1, DIRECT_BYTE * sum(bytes_of) + self._joined(first, first + 1, ways)
        for end, rows in self._rows(first) if first in self.cuts else ():
            if not self.tileable[end - 1]:
                return
            if end not in self.cuts:
                continue
            regions = (self._region(Tiles(first, end, count), rows, ways) for count in COUNTS)
            found = next((each for each in regions if each is not None), None)
            if found is None:
                return
            yield end, *found

    def _joined(self, first: int, end: int, ways: Mapping[int, _Way]) -> float:
        """Instructions of joining tensors made in tiles that operators of [first, end) read whole.

        They are joined in a stage of their own if a row has space beside its parts, else in slow memory.
        """
        if self.state is None:
            return 0.0
        cost, tiled = 0.0, {step for each in _back(ways, first) if each.number > 1
                            for step in range(each.first, each.end)}  # fmt: skip
        for name in self.index.inputs(first, end):
            if self.made.get(name) in tiled:
                tensor = self.index.tensor(name)
                fits = 2 * round_up(tensor.row_bytes, self.alignment) <= self.room
                cost += 2 * tensor.bytes * (self.prices.slow_byte if fits else DIRECT_BYTE)
        return cost

    def _touched(self, first: int, end: int) -> list[str]:
        """The activations that operators [first, end) read of earlier ones, and make for later ones."""
        read = (name for name in self.index.inputs(first, end) if self.index.tensor(name).constant is None)
        return [*read, *self.index.outputs(first, end)]

    def _region(
        self, region: Tiles, rows: Mapping[str, WindowRows], ways: Mapping[int, _Way]
    ) -> tuple[int, float] | None:
        """In how many tiles it is, and what that costs; None when a tile has no room."""
        left = self.index.outputs(region.first, region.end)
        read = [name for name in self._touched(region.first, region.end) if name not in left]
        brought = 2 if region.number > 1 else 1  # views of what is read, and of the columns taken of it
        state = self._state(brought * len(read) + region.end - region.first)
        if self.state is not None and state > self.state:
            return None
        limit = self.limit - (state if self.state is None else 0)
        found = self._made_of(region, left, read, rows)
        if found is None or found.need > limit:
            return None
        moved = sum(self._loaded(name, found.spans, region, ways) for name in read)
        moved += sum(self.index.tensor(name).bytes for name in left)
        cost = self.prices.slow_byte * moved + region.number * self.prices.stage
        cost += self._joined(region.first, region.end, ways) if region.number == 1 else 0.0
        return region.number, cost + found.again

    def _made_of(
        self, region: Tiles, left: Sequence[str], read: list[str], rows: Mapping[str, WindowRows]
    ) -> _Region | None:
        """The region, made once; None if its outputs are too narrow for so many tiles."""
        known, key = self.index.cache(_Regions), (region, self.apart.intersection(read), self.alignment)
        if key not in known:
            widths = [self.index.tensor(name).width for name in left]
            spans: Sequence[Mapping[str, Span]] = ()
            if region.number == 1:
                spans = [{name: Span(0, self.index.tensor(name).width) for name in rows}]
            elif widths and min(widths) >= 2 * region.number:
                spans = [tile_spans(self.program, region, left, tile) for tile in range(region.number)]
            need = max((self._need(region, read, rows, each) for each in spans), default=0)
            known[key] = _Region(spans, need, self._again(region, spans)) if spans else None
        return known[key]

    def _loaded(self, name: str, spans: Sequence[Mapping[str, Span]], region: Tiles, ways: Mapping[int, _Way]) -> float:
        """Bytes that the tiles bring of a tensor: all of it each, or of what was made in tiles those they need."""
        tensor, step = self.index.tensor(name), self.made.get(name, -1)
        maker = next((each for each in _back(ways, region.first) if each.first <= step < each.end), None)
        if name in self.apart and len(spans) > 1:
            columns = sum(each[name].end - each[name].first for each in spans if name in each)
            strips = 0.0 if self.state is None or maker is None or maker.number > 1 else self._strips(name, spans)
            return tensor.bytes * columns / tensor.width + strips
        if maker is None or maker.number == 1:
            return tensor.bytes * len(spans)
        narrowest = min(self.index.tensor(each).width for each in self.index.outputs(maker.first, maker.end))
        parts = [tile_span(tensor.width, narrowest, tile, maker.number) for tile in range(maker.number)]
        columns = sum(part.end - part.first for each in spans for part in parts
                      if name in each and part.first < each[name].end and each[name].first < part.end)  # fmt: skip
        return tensor.bytes * columns / tensor.width

    def _strips(self, name: str, spans: Sequence[Mapping[str, Span]]) -> float:
        """Bytes moved to cut columns of a tensor that was made whole.

        They are cut in one stage if a row has space beside the part of it. Else each part is cut in slow memory, where
        a byte costs more.
        """
        tensor = self.index.tensor(name)
        edges = sorted({edge for each in spans if name in each for edge in each[name]} | {0, tensor.width})
        widest = max(end - first for first, end in itertools.pairwise(edges))
        row = tensor.row_bytes
        if round_up(row, self.alignment) + round_up(row * widest // tensor.width, self.alignment) <= self.room:
            return 2 * tensor.bytes
        return len(edges) * tensor.bytes * DIRECT_BYTE / self.prices.slow_byte

    def _again(self, region: Tiles, spans: Sequence[Mapping[str, Span]]) -> float:
        """Instructions of columns that several tiles make."""
        again = 0.0
        for step in range(region.first, region.end):
            output = self.index.tensor(self.program.ops[step].output)
            made = sum(each[output.name].end - each[output.name].first for each in spans if output.name in each)
            again += self.costs.whole[step] * max(0, made - output.width) / output.width
        return again

    def _need(self, region: Tiles, read: list[str], rows: Mapping[str, WindowRows], spans: Mapping[str, Span]) -> int:
        """Bytes that a tile takes in bands of one row, about."""
        kept, live = 0, [0] * (region.end - region.first)
        for name, window in rows.items():
            tensor, span = self.index.tensor(name), spans.get(name)
            if span is None:
                continue
            row = tensor.row_bytes * (span.end - span.first) // tensor.width
            size = round_up(window.most * row, self.alignment)
            if window.kept:
                kept += size
            else:
                for step in range(max(window.birth, region.first), window.death + 1):
                    live[step - region.first] += size
            if region.number > 1 and name in read:
                live[window.birth - region.first] += row if name in self.apart else tensor.row_bytes
        return kept + max(live)


def _back(ways: Mapping[int, _Way], end: int) -> Iterator[Tiles]:
    """The path to a cut, the last edge first."""
    while end:
        way = ways[end]
        yield Tiles(way.before, end, way.tiles)
        end = way.before

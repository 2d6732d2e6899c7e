"""Chooses operators to run in tiles of columns (compiler/lower/columns.py), from a plan without tiles.

If rows are so large that few of them fit, stages are short, and the tensors between them go through slow memory. A
tile's rows are smaller, so longer stages fit. But a region's inputs are brought for each of its tiles, and columns at
their edges are made twice. A shortest path over cuts finds the regions that pay. Its edges are the stages of the plan,
rolling stages, and regions in a number of tiles.
"""

from __future__ import annotations

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
#: Sizes from a size to its double that tiles are also made for, so that a little more memory makes no plan dearer.
STEPS = 8
#: What tiles must be expected to save, as a share of what the plan costs.
WORTH = 0.03


class _Way(NamedTuple):
    """The cheapest way found to a cut."""

    cost: float
    before: int
    tiles: int  #: of the region that leads here; 1: none


def tiled(indices: Sequence[ProgramIndex], plan: ExecutionPlan, alignment: int) -> list[Program]:
    """Programs with operators in tiles of columns that are likely cheaper than `plan`, at most two: for the fast memory
    there is, and for the next size below.

    `indices` has the orders of the plan's program. None if tiles do not pay.
    """
    fast, spills = plan.budget.fast, any(stage.slow_read for stage in plan.stages)
    if fast is None or not spills or len(plan.program.ops) > MOST // 2:
        return []
    bytes_of = (plan.program.tensors[io.tensor].bytes for io in plan.program.inputs)
    slow_byte = Prices.of(plan.processor or DEFAULT).slow_byte
    most = sum(_slow_cost(plan, stage, slow_byte) for stage in plan.stages) - WORTH * cost_of(plan)
    if most <= slow_byte * sum(size for size in bytes_of if size > fast):
        return []  # what lies in slow memory when the run begins is brought in any case
    found: dict[object, Program] = {}
    for limit in (fast, int(2 ** ((math.ceil(STEPS * math.log2(fast)) - 1) / STEPS))):
        ways = itertools.product(indices, (True, False))
        searches = (_Search(index, plan, limit, alignment, cuts, most) for index, cuts in ways)
        best = min(searches, key=lambda search: search.cost)
        regions = best.regions()
        if regions:
            key = id(best.program), best.apart, tuple(regions)
            found.setdefault(key, with_tiled_columns(best.program, regions, best.apart))
    return [program for program in found.values() if len(program.ops) <= MOST]


def _slow_cost(plan: ExecutionPlan, stage: Stage, slow_byte: float) -> float:
    return (DIRECT_BYTE if works_in_slow_memory(plan, stage) else slow_byte) * (stage.slow_read + stage.slow_written)


class _Region(NamedTuple):
    """The properties of a region in tiles that depend neither on the path to it nor on the memory."""

    spans: Sequence[Mapping[str, Span]]  #: the columns that each tile needs
    need: int  #: bytes that the largest takes in bands of one row, about
    again: float  #: instructions of columns that several tiles make


def _regions(index: ProgramIndex) -> dict[tuple[Tiles, frozenset[str], int], _Region | None]:
    """The regions of a program, by the tensors of it that are cut where they are made, and the alignment; None: there
    is none."""
    return {}


def _rows_from(index: ProgramIndex, first: int) -> list[tuple[int, dict[str, WindowRows]]]:
    """The segments that roll from an operator on."""
    return list(window_rows(index, first, REACH))


class _Search:
    """The cheapest way through the operators of a program that costs at most `most`. cuts: what is large is cut where
    it is made."""

    def __init__(
        self, index: ProgramIndex, plan: ExecutionPlan, limit: int, alignment: int, cuts: bool, most: float
    ) -> None:
        self.index, program = index, index.program
        self.program, self.limit, self.alignment, self.apart = program, limit, alignment, frozenset[str]()
        self.prices = Prices.of(self.index.processor)
        self.costs = op_costs(self.index)
        self.tileable = [is_tileable(program, op) for op in program.ops]
        self.made = {op.output: step for step, op in enumerate(program.ops)}
        if cuts:
            self.apart = frozenset(n for n in self.made if APART * self.index.tensor(n).bytes > self.limit)
        same = [op.output for op in plan.program.ops] == [op.output for op in program.ops]
        self.stages = {stage.first_op: (stage.end_op, _slow_cost(plan, stage, self.prices.slow_byte))
                       for stage in plan.stages if same}  # fmt: skip
        self.cuts = self._cuts()
        self.ways = self._found(most)

    @property
    def cost(self) -> float:
        """Instructions beyond running whole in fast memory."""
        return self.ways[len(self.program.ops)].cost if len(self.program.ops) in self.ways else math.inf

    def regions(self) -> list[Tiles]:
        """The regions in tiles on the way."""
        end = len(self.program.ops)
        return [tiles for tiles in _back(self.ways, end) if tiles.number > 1] if end in self.ways else []

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
            yield end, 1, cost
        bytes_of = (self.index.tensor(name).bytes for name in self._touched(first, first + 1))
        yield first + 1, 1, DIRECT_BYTE * sum(bytes_of)
        for end, rows in self.index.once(_rows_from, first) if first in self.cuts else ():
            if not self.tileable[end - 1]:
                return
            if end not in self.cuts:
                continue
            regions = (self._region(Tiles(first, end, count), rows, ways) for count in COUNTS)
            found = next((each for each in regions if each is not None), None)
            if found is None:
                return
            yield end, *found

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
        views = brought * len(read) + region.end - region.first
        found = self._made_of(region, left, read, rows)
        if found is None or found.need > self.limit - round_up(VIEW_STATE_BYTES * views, self.alignment):
            return None
        moved = sum(self._loaded(name, found.spans, region, ways) for name in read)
        moved += sum(self.index.tensor(name).bytes for name in left)
        return region.number, self.prices.slow_byte * moved + region.number * self.prices.stage + found.again

    def _made_of(
        self, region: Tiles, left: Sequence[str], read: list[str], rows: Mapping[str, WindowRows]
    ) -> _Region | None:
        """The region, made once; None if its outputs are too narrow for so many tiles."""
        known, key = self.index.once(_regions), (region, self.apart.intersection(read), self.alignment)
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
            return tensor.bytes * columns / tensor.width
        if maker is None or maker.number == 1:
            return tensor.bytes * len(spans)
        narrowest = min(self.index.tensor(each).width for each in self.index.outputs(maker.first, maker.end))
        parts = [tile_span(tensor.width, narrowest, tile, maker.number) for tile in range(maker.number)]
        columns = sum(part.end - part.first for each in spans for part in parts
                      if name in each and part.first < each[name].end and each[name].first < part.end)  # fmt: skip
        return tensor.bytes * columns / tensor.width

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

"""Finds segments that end at a given cut and fit the fast arena in bands of one row that make halo rows again.

For a fixed end, the band geometry of [i - 1, end) is one step from that of [i, end). A sweep towards the front
therefore visits every segment with that end for the cost of one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from tigris_pio.compiler.ir.pace import Pace
from tigris_pio.compiler.ir.program import ProgramTensor
from tigris_pio.compiler.plan.band.geometry import BandRows, StageGeometry
from tigris_pio.compiler.plan.cost import op_costs
from tigris_pio.compiler.plan.cut.size import Size
from tigris_pio.compiler.plan.index import ProgramIndex


class Crossing(NamedTuple):
    """A tensor in slow memory that a segment reads or leaves."""

    name: str
    window: Size
    birth: int  #: the first operator that touches its window
    death: int  #: the last
    traffic: int  #: bytes moved


class Sizes(NamedTuple):
    """The sizes of windows at each step of a segment."""

    bytes: np.ndarray
    growth: np.ndarray

    @property
    def most(self) -> Size:
        """At the fullest step."""
        at = int(self.bytes.argmax())
        return Size(int(self.bytes[at]), float(self.growth[at]))

    def beside(self, first: int, crossing: Iterable[Crossing]) -> Sizes:
        """With windows of what crosses, of a segment that starts at `first`."""
        live, growth = self.bytes.copy(), self.growth.copy()
        for each in crossing:
            live[each.birth - first : each.death + 1 - first] += each.window.bytes
            growth[each.birth - first : each.death + 1 - first] += each.window.growth
        return Sizes(live, growth)


class RecomputingFit(NamedTuple):
    """A segment [first, end) in one-row bands."""

    first: int
    windows: Size  #: at the fullest step
    live: Sizes  #: at each step
    crossing: tuple[Crossing, ...]  #: what it reads and leaves, unless that lies in fast memory
    bands: int
    calls: float  #: instructions of calling its kernels so often
    again: float  #: and of making rows again


class _Sweep:
    """The state of one sweep. `resident`: tensors that outlive the segment are whole in fast memory."""

    def __init__(self, index: ProgramIndex, end: int, resident: bool, reach: int) -> None:
        self.index, self.end, self.resident = index, end, resident
        self.bands = index.tensor(index.ops[end - 1].output).height
        self.geometry = StageGeometry(index.program.tensors, self.bands, keep=False)
        self.leaving: list[Crossing] = []
        self.calls = self.again = 0.0
        self.costs = op_costs(index)
        self.start = max(0, end - reach)
        self.live = np.zeros(end - self.start, dtype=np.int64)  # bytes of windows and scratch at each step
        self.growth = np.zeros(end - self.start)  # and how many more they take for each further row a band

    def add(self, step: int) -> None:
        """Takes operator `step` in at the front."""
        op = self.index.ops[step]
        tensor = self.index.tensor(op.output)
        outlives = self.index.outlives(op.output, self.end)
        if outlives:
            self.geometry.require(op.output, Pace(-(-tensor.height // self.bands)))
        at_home = outlives and self.resident
        self.geometry.add(op, at_home)
        rows = self.geometry.rows[op.output]
        if not at_home:
            self._window(op.output, rows, step)
        made = rows.made_rows
        if outlives and not self.resident:
            self.leaving.append(self._crossing(op.output, rows, step))
        self.again += self.costs.row[step] * max(0, made - tensor.height)
        self.calls += self.costs.call[step] * int((rows.end > rows.made).sum())
        self.live[step - self.start] += op.scratch_bytes

    def wanted_whole(self, step: int) -> bool:
        """Whether every band takes all that operator `step` makes, so that each would make it again."""
        name = self.index.ops[step].output
        readers = (self.index.ops[use] for use in self.index.uses_within(name, step, self.end))
        return self.bands > 1 and any(
            operand.tensor == name and operand.rows.numerator == 0 for op in readers for operand in op.operands
        )

    def _window(self, name: str, rows: BandRows, birth: int) -> None:
        tensor = self.index.tensor(name)
        last = max((birth, *self.index.uses_within(name, birth, self.end)[-1:]))
        self.live[birth - self.start : last - self.start + 1] += tensor.bytes_of(rows.capacity)
        self.growth[birth - self.start : last - self.start + 1] += _growth(tensor, rows)

    @property
    def window_bytes(self) -> int:
        """Bytes of the windows of what the segment makes, at the fullest step; never less with more operators."""
        return int(self.live.max())

    def fit(self, first: int) -> RecomputingFit:
        """The segment that starts at `first`, the operator added last."""
        start = first - self.start
        live = Sizes(self.live[start:].copy(), self.growth[start:].copy())
        crossing = list(self.leaving)
        if not self.resident:
            inputs = [self._crossing(name, rows, first) for name, rows in self.geometry.pending().items()]
            live = live.beside(first, inputs)
            crossing += inputs
        return RecomputingFit(first, live.most, live, tuple(crossing), self.bands, self.calls, self.again)

    def _crossing(self, name: str, rows: BandRows, first: int) -> Crossing:
        """`first`: the first step of the segment, or the one that makes it."""
        tensor, uses = self.index.tensor(name), self.index.uses_within(name, first, self.end)
        window = Size(tensor.bytes_of(rows.capacity), _growth(tensor, rows))
        made = name in self.index.lives and self.index.lives[name].birth == first
        birth = first if made else uses[0]
        return Crossing(name, window, birth, max([birth, *uses]), rows.moved_bytes(tensor) * tensor.batch)


def _growth(tensor: ProgramTensor, rows: BandRows) -> float:
    """Bytes that a window takes more for each further row of a band: its share of the rows that a band goes on by."""
    if len(rows.first) < 2 or rows.capacity >= tensor.height:
        return 0.0
    return float(rows.first[-1] - rows.first[0]) / (len(rows.first) - 1) * tensor.bytes_of(1)


class _Fits:
    """The segments that end at one operator, shortest first, as far as a caller has iterated.

    Each has the bytes of the windows of its outputs, which never shrink with more operators.
    """

    def __init__(self, sweep: Iterator[tuple[int, RecomputingFit]]) -> None:
        self._sweep = sweep
        self._known: list[tuple[int, RecomputingFit]] = []

    def within(self, room: int) -> Iterator[RecomputingFit]:
        """Those whose windows stay within `room`."""
        for place in itertools.count():
            if place == len(self._known):
                further = next(self._sweep, None)
                if further is None:
                    return
                self._known.append(further)
            made, fit = self._known[place]
            if made > room:
                return
            if fit.windows.bytes <= room:
                yield fit


def recomputing_fits(
    index: ProgramIndex, end: int, resident: bool, room: int, reach: int
) -> Iterator[RecomputingFit]:
    """The segments that end at `end`, shortest first, while their windows stay within `room`.

    `resident` is as in `_Sweep`; `reach` limits the operators a segment may have. Only what the caller takes is
    computed, and kept for the next caller.
    """
    return index.once(_fits, end, resident, reach).within(room)


def _fits(index: ProgramIndex, end: int, resident: bool, reach: int) -> _Fits:
    return _Fits(_sweep(index, end, resident, reach))


def _sweep(index: ProgramIndex, end: int, resident: bool, reach: int) -> Iterator[tuple[int, RecomputingFit]]:
    if index.tensor(index.ops[end - 1].output).height < 2:
        return
    sweep = _Sweep(index, end, resident, reach)
    for first in range(end - 1, sweep.start - 1, -1):
        made = index.tensor(index.ops[first].output)
        if not index.bandable[first] or made.folded or made.sequential or made.streamed:
            return  # sums made again would be added again, steps go on from the one before, and rows come once
        if sweep.wanted_whole(first) or index.ops[first].images != index.ops[end - 1].images:
            return
        sweep.add(first)
        yield sweep.window_bytes, sweep.fit(first)

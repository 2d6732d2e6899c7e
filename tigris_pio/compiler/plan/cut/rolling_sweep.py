"""Which rolling segments that start at a given cut fit the fast arena, one input row a band.

Operators are added in execution order. Each changes only the windows of the tensors it reads, so a
sweep visits every segment with that start at little more than the cost of the longest.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tigris_pio.compiler.ir.pace import Pace
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.plan.band.paces import Rolling, bands_until_complete
from tigris_pio.compiler.plan.index import ProgramIndex

#: Bands looked at for the tallest a window gets: a whole period of the paces, or this many of a longer one.
MOST_BANDS = 64


class RollingFit(NamedTuple):
    """A segment that ends before `end`: bytes of its windows, slow traffic, and its number of bands."""

    end: int
    window_bytes: int
    new_output_bytes: int  #: of the tensors made in it that outlive it, whole
    traffic: int
    bands: int


class _Reader(NamedTuple):
    """The pace of an operator's output and the rows it takes of one input; flat, for they are looked at very often."""

    pace_numerator: int
    pace_denominator: int
    pace_offset: int
    numerator: int
    denominator: int
    first: int
    last: int

    @staticmethod
    def of(pace: Pace, rows: RowMap) -> _Reader:
        return _Reader(
            pace.numerator, pace.denominator, pace.offset, rows.numerator, rows.denominator, rows.first, rows.last
        )


@dataclasses.dataclass
class _Window:
    """A tensor's window in the segment so far."""

    birth: int
    death: int
    arrives: Pace | None  #: None: from before the stage, had as soon as it is wanted
    readers: list[_Reader]
    bytes: int = 0  #: from its maker to its last reader, in every band
    kept: int = 0  #: of these all the time
    counted: bool = False  #: whether the sums of the sweep hold it


class _Sweep:
    def __init__(self, index: ProgramIndex, first: int, resident: bool) -> None:
        self.index, self.first, self.resident = index, first, resident
        self.rolling = Rolling(index, 1)
        self.made: dict[str, int] = {}
        self.windows: dict[str, _Window] = {}
        self.stored: dict[str, int] = {}  # tensors that outlive the segment so far, with their bytes
        self.streamed: list[str] = []
        self.loaded = 0
        self.persistent = 0
        self.side_by_side = 0  # bytes of windows of which some rows are kept: no two of them can overlap
        self.transient: list[int] = []  # bytes live at each step, next to the persistent ones

    def add(self, step: int) -> bool:
        """Takes operator `step` in at the end; False when it cannot roll."""
        op = self.index.ops[step]
        if not self.index.bandable[step] or op.images != self.index.ops[self.first].images:
            return False
        pace = self.rolling.add(step, self.made)
        if pace is None:
            return False
        self.transient.append(op.scratch_bytes)
        for operand in op.operands:
            self._read(operand.tensor, operand.rows, pace, step)
        tensor = self.index.tensor(op.output)
        self.made[op.output] = step
        self.windows[op.output] = _Window(step, step, pace, [])
        if tensor.sequential:  # it reads its own row before
            self.windows[op.output].readers.append(_Reader.of(pace, RowMap.shifted(-1)))
        if tensor.streamed:
            self.streamed.append(op.output)
        self.stored[op.output] = tensor.bytes
        self._size(op.output)
        for name in (*(operand.tensor for operand in op.operands), op.output):
            if name in self.stored and not self.index.outlives(name, step + 1):
                del self.stored[name]
                self._count(self.windows[name], 1)
        return True

    def _read(self, name: str, rows: RowMap, pace: Pace, step: int) -> None:
        tensor = self.index.tensor(name)
        if tensor.constant is not None:
            return
        if name not in self.windows:
            if self.resident:
                return
            self.windows[name] = _Window(step, step, None, [])
            self.loaded += tensor.bytes
        window = self.windows[name]
        self._count(window, -1)  # before it lives longer
        window.readers.append(_Reader.of(pace, rows))
        window.death = step
        self._size(name)

    def _size(self, name: str) -> None:
        """Measures a window again and counts it, unless the tensor lies whole in fast memory."""
        tensor, window = self.index.tensor(name), self.windows[name]
        self._count(window, -1)
        rows, kept = _tallest(window)
        window.bytes = tensor.bytes_of(min(rows, tensor.height))
        window.kept = window.bytes if tensor.folded else tensor.bytes_of(min(kept, tensor.height))
        if not (self.resident and name in self.stored):
            self._count(window, 1)

    def _count(self, window: _Window, sign: int) -> None:
        if window.counted == (sign > 0):
            return
        window.counted = sign > 0
        self.persistent += sign * window.kept
        self.side_by_side += sign * window.bytes if window.kept else 0
        passing = sign * (window.bytes - window.kept)
        for at in range(window.birth - self.first, window.death - self.first + 1):
            self.transient[at] += passing

    @property
    def window_bytes(self) -> int:
        """Bytes of all windows at the fullest step; never less with more operators.

        Windows that keep rows lie side by side, but beside an input at home some may lie over rows of it."""
        fullest = self.persistent + max(self.transient)
        return fullest if self.resident else max(self.side_by_side, fullest)

    def fit(self, end: int, window_bytes: int) -> RollingFit:
        """The segment that ends before `end`, the operator added last being end - 1."""
        complete = (*self.stored, *self.streamed)
        bands = bands_until_complete(self.index, self.rolling.paces, complete) if complete else 1
        new = sum(self.stored.values())
        return RollingFit(end, window_bytes, new, self.loaded + new, bands)


def _tallest(window: _Window) -> tuple[int, int]:
    """Most rows of a window in any band of the steady state, and most that one band leaves to the next."""
    readers = [reader for reader in window.readers if reader.numerator]
    arrives = window.arrives
    if not readers:
        if arrives is None:
            return 1 << 30, 1 << 30  # wanted whole
        return -(-arrives.numerator // arrives.denominator), 0
    # Denominators are products of strides: one divides the other.
    period = max(reader.pace_denominator for reader in readers)
    if arrives is not None:
        period = max(period, arrives.denominator)
    most, kept, before = 0, 0, 0
    made = [0] * len(readers)  # rows of each reader's output before the band
    for band in range(1, min(2 * period, MOST_BANDS) + 2):
        first, end = 1 << 60, -(1 << 60) if arrives is None else arrives.rows(band)
        for place, (speed, slowness, offset, n, d, above, below) in enumerate(readers):
            after = (band * speed + offset) // slowness
            first = min(first, (made[place] * n + above) // d)
            end = max(end, ((after - 1) * n + below) // d + 1)
            made[place] = after
        most = max(most, end - first)
        kept = max(kept, before - first) if band > 1 else 0
        before = end
    return most, kept


class _Known(dict[tuple[int, bool, int], tuple[int, list[RollingFit]]]):
    """The fits of each first operator, kind of home and reach, and up to which room they are known."""


def rolling_fits(index: ProgramIndex, first: int, resident: bool, room: int, reach: int) -> Sequence[RollingFit]:
    """The rolling segments that start at `first`, shortest first, while their windows stay within `room`.

    `resident`: what outlives the segment is whole in fast memory, and so is what it reads from before.
    `reach`: most operators of a segment.
    """
    cache, key = index.cache(_Known), (first, resident, reach)
    known, fits = cache.get(key, (-1, []))
    if known < room:
        fits = list(_sweep(index, first, resident, room, reach))
        cache[key] = room, fits
    return [fit for fit in fits if fit.window_bytes <= room]


def _sweep(index: ProgramIndex, first: int, resident: bool, room: int, reach: int) -> Iterator[RollingFit]:
    sweep = _Sweep(index, first, resident)
    for step in range(first, min(first + reach, len(index.ops))):
        if not sweep.add(step):
            return
        window_bytes = sweep.window_bytes
        if window_bytes > room:
            return
        yield sweep.fit(step + 1, window_bytes)

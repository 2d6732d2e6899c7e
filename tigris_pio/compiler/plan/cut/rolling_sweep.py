"""Which rolling segments that start at a given cut fit the fast arena, one input row a band.

Operators are added in execution order. Each changes only the windows of the tensors it reads, so a
sweep visits every segment with that start at little more than the cost of the longest.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from tigris_pio.compiler.ir.pace import Pace
from tigris_pio.compiler.ir.program import ProgramTensor, RowMap
from tigris_pio.compiler.plan.band.paces import Rolling, bands_until_complete
from tigris_pio.compiler.plan.cost import op_costs
from tigris_pio.compiler.plan.cut.size import NO_SIZE, Size
from tigris_pio.compiler.plan.index import ProgramIndex

#: Bands looked at for the tallest a window gets: a whole period of the paces, or this many of a longer one.
MOST_BANDS = 64


class RollingFit(NamedTuple):
    """A segment that ends before `end`, at one input row a band."""

    end: int
    inner: Size  #: of windows of what is made and used up in it, at the fullest step
    all: Size  #: the same when nothing that it reads and leaves lies in fast memory
    outside: tuple[tuple[str, Size], ...]  #: what it reads from before
    leaving: tuple[tuple[str, Size], ...]  #: what it makes that outlives it
    bands: int
    calls: float  #: instructions of calling its kernels so often
    moved_bytes: float  #: kept rows that are moved to the start of their windows, all bands together


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
    size: Size = NO_SIZE  #: from its maker to its last reader, in every band
    kept: int = 0  #: bytes of these all the time
    moved: float = 0.0  #: bytes that move to its start in all bands


class _Sums:
    """The sizes of windows at each step of a segment.

    Only the kept rows of a window are live all the time.
    """

    def __init__(self, first: int) -> None:
        self._first = first
        self._kept = 0
        self._bytes: list[int] = []  # live at each step, next to those that are kept
        self._growth: list[float] = []
        self._credit: list[float] = []

    def step(self, scratch: int) -> None:
        """One operator more."""
        self._bytes.append(scratch)
        self._growth.append(0.0)
        self._credit.append(0.0)

    def count(self, window: _Window, sign: int) -> None:
        """Takes a window in, or out again."""
        size, growth, credit = (sign * each for each in window.size)
        steps = range(window.birth - self._first, window.death - self._first + 1)
        passing = int(size) - sign * window.kept
        self._kept += sign * window.kept
        for at in steps:
            self._bytes[at] += passing
            self._growth[at] += growth
            self._credit[at] += credit

    @property
    def most(self) -> Size:
        """At the fullest step."""
        most = max(self._bytes)
        at = self._bytes.index(most)
        return Size(self._kept + most, self._growth[at], self._credit[at])

    @property
    def least(self) -> int:
        """Bytes at the fullest step; no arrangement takes fewer."""
        return self._kept + max(self._bytes)


class _Sweep:
    """`resident`: what is from before and what stays lies in fast memory, and has no windows."""

    def __init__(self, index: ProgramIndex, first: int, resident: bool) -> None:
        self.index, self.first, self.resident = index, first, resident
        self.rolling = Rolling(index, 1)
        self.made: dict[str, int] = {}
        self.windows: dict[str, _Window] = {}
        self.outside: list[str] = []
        self.stored: dict[str, None] = {}  # tensors that outlive the segment so far
        self.streamed: list[str] = []
        self.inner, self.all = _Sums(first), _Sums(first)
        self.calls = self.moved = 0.0
        self.costs = op_costs(index)

    def add(self, step: int) -> bool:
        """Takes operator `step` in at the end; False when it cannot roll."""
        op = self.index.ops[step]
        if not self.index.bandable[step] or op.images != self.index.ops[self.first].images:
            return False
        pace = self.rolling.add(step, self.made)
        if pace is None:
            return False
        self.inner.step(op.scratch_bytes)
        self.all.step(op.scratch_bytes)
        for operand in op.operands:
            self._read(operand.tensor, operand.rows, pace, step)
        tensor = self.index.tensor(op.output)
        self.made[op.output] = step
        window = self.windows[op.output] = _Window(step, step, pace, [])
        if tensor.sequential:  # it reads its own row before
            window.readers.append(_Reader.of(pace, RowMap.shifted(-1)))
        if tensor.streamed:
            self.streamed.append(op.output)
        self.stored[op.output] = None
        self._measure(op.output)
        self._count(op.output, 1)
        for name in (*(operand.tensor for operand in op.operands), op.output):
            if name in self.stored and not self.index.outlives(name, step + 1):
                del self.stored[name]
                self.inner.count(self.windows[name], 1)
        rows = max(1.0, pace.numerator / pace.denominator)  # a call makes no fewer
        self.calls += self.costs.call[step] * math.ceil(tensor.height / rows)
        return True

    def _read(self, name: str, rows: RowMap, pace: Pace, step: int) -> None:
        if self.index.tensor(name).constant is not None:
            return
        if name in self.windows:
            self._count(name, -1)  # before it lives longer
        elif self.resident:
            return
        else:
            self.windows[name] = _Window(step, step, None, [])
            self.outside.append(name)
        window = self.windows[name]
        window.readers.append(_Reader.of(pace, rows))
        window.death = step
        self._measure(name)
        self._count(name, 1)

    def _count(self, name: str, sign: int) -> None:
        window = self.windows[name]
        self.moved += sign * window.moved
        if not self.resident:
            self.all.count(window, sign)
        if window.arrives is not None and name not in self.stored:
            self.inner.count(window, sign)

    def _measure(self, name: str) -> None:
        tensor, window = self.index.tensor(name), self.windows[name]
        rows, kept = _tallest(window)
        speed = max([_speed(reader) for reader in window.readers], default=0.0)
        if window.arrives is not None:
            speed = window.arrives.numerator / window.arrives.denominator
        window.size = Size(tensor.bytes_of(min(rows, tensor.height)))
        if rows < tensor.height:
            row = tensor.bytes_of(1)
            window.size = Size(window.size.bytes, speed * row, row * (1 - speed) if speed < 1 else 0.0)
        window.kept = window.size.bytes if tensor.folded else tensor.bytes_of(min(kept, tensor.height))
        bands = tensor.height / speed if speed and kept < tensor.height else 0.0
        window.moved = kept * bands * tensor.row_bytes

    @property
    def window_bytes(self) -> int:
        """Bytes of all inner windows at the fullest step; never less with more operators."""
        return self.inner.least

    def fit(self, end: int) -> RollingFit:
        """The segment that ends before `end`, the operator added last being end - 1."""
        complete = (*self.stored, *self.streamed)
        bands = bands_until_complete(self.index, self.rolling.paces, complete) if complete else 1
        inner = self.inner.most
        if self.resident:
            return RollingFit(end, inner, inner, (), (), bands, self.calls, self.moved)
        outside, leaving = self._sizes(self.outside), self._sizes(self.stored)
        return RollingFit(end, inner, self.all.most, outside, leaving, bands, self.calls, self.moved)

    def _sizes(self, names: Iterable[str]) -> tuple[tuple[str, Size], ...]:
        return tuple((name, self.windows[name].size) for name in names)


def _speed(reader: _Reader) -> float:
    """Rows of an input that a reader takes a band."""
    return reader.pace_numerator * reader.numerator / (reader.pace_denominator * reader.denominator)


def _tallest(window: _Window) -> tuple[int, int]:
    """Most rows of a window in any band of the steady state, and most of them that an earlier band made."""
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
    most = kept = before = 0
    made = [0] * len(readers)  # rows of each reader's output before the band
    for band in range(1, min(2 * period, MOST_BANDS) + 2):
        first, end = 1 << 60, -(1 << 60) if arrives is None else arrives.rows(band)
        for place, (speed, slowness, offset, n, d, above, below) in enumerate(readers):
            after = (band * speed + offset) // slowness
            first = min(first, (made[place] * n + above) // d)
            end = max(end, ((after - 1) * n + below) // d + 1)
            made[place] = after
        most = max(most, end - first)
        if band > 1:
            kept = max(kept, before - first)
        before = end
    return most, kept


class Rolled:
    """The segments that start at one operator, shortest first, as far as a caller has iterated."""

    def __init__(self, index: ProgramIndex, first: int, resident: bool, reach: int) -> None:
        self.fits: list[RollingFit] = []
        self._sweep: _Sweep | None = _Sweep(index, first, resident)
        self.paces: Mapping[str, Pace] = self._sweep.rolling.paces  #: of all that they make
        self._steps = range(first, min(first + reach, len(index.ops)))
        self._pending = -1  # bytes of the windows of one step more than there are fits, if it was taken in

    def extend(self, room: int) -> None:
        """By those whose windows may stay within `room`. More operators never take less, so each is taken in once."""
        while self._sweep is not None:
            at = len(self.fits)
            if self._pending < 0 and not (at < len(self._steps) and self._sweep.add(self._steps[at])):
                self._sweep = None
                return
            self._pending = self._sweep.window_bytes
            if self._pending > room:
                return
            self.fits.append(self._sweep.fit(self._steps[at] + 1))
            self._pending = -1


def rolling_fits(index: ProgramIndex, first: int, resident: bool, room: int, reach: int) -> Rolled:
    """The rolling segments that start at `first`, as far as the windows of what they make and use up may stay within
    `room`; some of these exceed it.

    `resident`: what is from before and what stays lies in fast memory, so their windows are not measured. `reach`
    limits the operators a segment may have.
    """
    rolled = index.once(Rolled, first, resident, reach)
    rolled.extend(room)
    return rolled


class WindowRows(NamedTuple):
    """Rows of a window in bands of one row, how many of them an earlier band made, and the steps that touch it."""

    most: int
    kept: int
    birth: int
    death: int


def window_rows(index: ProgramIndex, first: int, reach: int) -> Iterator[tuple[int, dict[str, WindowRows]]]:
    """The ends of the rolling segments that start at `first`, with the windows of all that each touches."""
    sweep = _Sweep(index, first, False)
    for step in range(first, min(first + reach, len(index.ops))):
        if not sweep.add(step):
            return
        yield step + 1, {name: _rows(index.tensor(name), window) for name, window in sweep.windows.items()}


def _rows(tensor: ProgramTensor, window: _Window) -> WindowRows:
    row = tensor.bytes_of(1)
    return WindowRows(window.size.bytes // row, window.kept // row, window.birth, window.death)

"""How fast a tensor's rows appear in a banded stage.

In a rolling stage every operator makes its rows as soon as its inputs allow, not when a later operator asks: then
each window holds little more than one kernel's height, however many strides lie below. A pace is that
schedule in closed form. (Waiting for the last operator to ask would make a band as tall as all strides
together: one row of an 8-row map needs four rows of the 32-row maps above it.)
"""

from __future__ import annotations

import dataclasses
import math

from tigris_pio.compiler.ir.program import RowMap


@dataclasses.dataclass(frozen=True)
class Pace:
    """After band b a tensor has at least floor(((b + 1) * numerator + offset) / denominator) rows,
    clipped to its height; numerator and denominator positive."""

    numerator: int
    denominator: int = 1
    offset: int = 0

    def rows(self, bands: int) -> int:
        """Rows after `bands` bands, not clipped; none before the first, whatever the offset."""
        return 0 if bands == 0 else (bands * self.numerator + self.offset) // self.denominator

    def bands_for(self, rows: int) -> int:
        """Bands until there are `rows` rows."""
        return max(1, -((self.offset - rows * self.denominator) // self.numerator))

    def same_rate(self, other: Pace) -> bool:
        """Whether both make the same number of rows a band in the long run."""
        return self.numerator * other.denominator == other.numerator * self.denominator

    def slower(self, other: Pace) -> Pace:
        """The one that lags, of two of the same rate."""
        return self if self.offset * other.denominator <= other.offset * self.denominator else other

    def faster(self, other: Pace) -> Pace:
        """The other one."""
        return other if self.slower(other) is self else self

    def through(self, rows: RowMap) -> Pace:
        """The pace of an operator's output that makes each row as soon as its input, at this pace, allows.

        Output rows before e need input rows up to ((e - 1) * n + last) // d; solved for e with this pace's
        floor. Exact for d = 1. Otherwise rows come d / n at a time and the pace spreads them: the earliest never
        too early, which follows from one cycle of both floors.
        """
        n, d = rows.numerator, rows.denominator
        if d == 1:
            offset = self.offset + self.denominator * (n - 1 - rows.last)
            return Pace(self.numerator, self.denominator * n, offset).reduced()
        cycle = self.denominator * n // math.gcd(self.numerator, self.denominator * n)
        allowed = min(self._largest_offset(rows, band) for band in range(cycle))
        return Pace(self.numerator * d, self.denominator * n, allowed).reduced()

    def _largest_offset(self, rows: RowMap, bands: int) -> int:
        """The largest offset of an output's pace that asks for no row too early after `bands` bands."""
        available = (bands * self.numerator + self.offset) // self.denominator
        possible = (available * rows.denominator - 1 - rows.last) // rows.numerator + 1
        return (possible + 1) * self.denominator * rows.numerator - 1 - bands * self.numerator * rows.denominator

    def wanted(self, rows: RowMap) -> Pace:
        """The slowest pace of an input that has the rows which an output of this pace takes; exact for d = 1."""
        n, d = rows.numerator, rows.denominator
        offset = self.offset * n + self.denominator * (rows.last - n + d)
        return Pace(self.numerator * n, self.denominator * d, offset).reduced()

    def beside(self, mine: RowMap, other: RowMap) -> Pace | None:
        """The slowest pace of another operator's output at which that one, after any band, needs no row of a common
        input any more that the operator of this pace is done with; None where that is no pace.

        With e rows made the first that is needed is e * n + first.
        """
        n = other.numerator
        if mine.denominator != 1 or other.denominator != 1 or not n or mine.numerator not in (1, n):
            return None
        behind = mine.first - other.first
        if mine.numerator == n:
            return Pace(self.numerator, self.denominator, self.offset - (-behind // n) * self.denominator)
        return Pace(self.numerator, self.denominator * n, self.offset + (behind + n - 1) * self.denominator).reduced()

    def reduced(self) -> Pace:
        """The same schedule in smallest terms."""
        common = math.gcd(self.numerator, self.denominator)
        return Pace(self.numerator // common, self.denominator // common, self.offset // common)


def output_pace(inputs: list[tuple[Pace, RowMap]]) -> Pace | None:
    """The pace of an operator's output from its paced inputs; None when their rates contradict each other
    or an input is needed whole."""
    pace: Pace | None = None
    for source, rows in inputs:
        if rows.numerator == 0:
            return None
        through = source.through(rows)
        if pace is not None and not pace.same_rate(through):
            return None
        pace = through if pace is None else pace.slower(through)
    return pace

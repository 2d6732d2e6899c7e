"""Paces: how many rows of a tensor exist after each band of a rolling stage, in closed form.

In a rolling stage every operator makes its rows as soon as its inputs allow, so each window holds little more than one
kernel's height, however many strides follow. If operators made rows only when the last operator needs them, a band
would be as tall as all strides together. For example, one row of an 8-row map needs four rows of a 32-row map above it.
"""

from __future__ import annotations

import dataclasses
import math

from tigris_pio.compiler.ir.program import RowMap


@dataclasses.dataclass(frozen=True)
class Pace:
    """After band b, counted from 0, a tensor has at least floor(((b + 1) * numerator + offset) / denominator) rows,
    clipped to its height. Numerator and denominator are positive."""

    numerator: int
    denominator: int = 1
    offset: int = 0

    def rows(self, bands: int) -> int:
        """Rows after `bands` bands, not clipped to the height; 0 before the first band, whatever the offset."""
        return 0 if bands == 0 else (bands * self.numerator + self.offset) // self.denominator

    def bands_for(self, rows: int) -> int:
        """The number of bands after which `rows` rows exist, at least 1."""
        return max(1, -((self.offset - rows * self.denominator) // self.numerator))

    def has_same_rate(self, other: Pace) -> bool:
        """Whether both paces make the same number of rows a band in the long run."""
        return self.numerator * other.denominator == other.numerator * self.denominator

    def slower(self, other: Pace) -> Pace:
        """The one with fewer rows, of two paces of the same rate."""
        return self if self.offset * other.denominator <= other.offset * self.denominator else other

    def faster(self, other: Pace) -> Pace:
        """The one with more rows, of two paces of the same rate."""
        return other if self.slower(other) is self else self

    def output_pace(self, rows: RowMap) -> Pace:
        """The pace of an operator's output if its input has this pace and each row is made as soon as possible.

        The first e output rows need input rows up to ((e - 1) * n + last) // d. Solving for e, with this pace's floor,
        gives the output's pace. It is exact for d = 1. For d > 1 rows come d / n at a time. The result is then
        the earliest pace at which no row is made too early; one cycle of both floors decides it.
        """
        n, d = rows.numerator, rows.denominator
        if d == 1:
            offset = self.offset + self.denominator * (n - 1 - rows.last)
            return Pace(self.numerator, self.denominator * n, offset).reduced()
        cycle = self.denominator * n // math.gcd(self.numerator, self.denominator * n)
        allowed = min(self._largest_offset(rows, band) for band in range(cycle))
        return Pace(self.numerator * d, self.denominator * n, allowed).reduced()

    def _largest_offset(self, rows: RowMap, bands: int) -> int:
        """The largest offset of the output's pace with which no row is made too early after `bands` bands."""
        available = (bands * self.numerator + self.offset) // self.denominator
        possible = (available * rows.denominator - 1 - rows.last) // rows.numerator + 1
        return (possible + 1) * self.denominator * rows.numerator - 1 - bands * self.numerator * rows.denominator

    def input_pace(self, rows: RowMap) -> Pace:
        """The slowest pace of an input whose rows suffice for an output of this pace; exact for d = 1."""
        n, d = rows.numerator, rows.denominator
        offset = self.offset * n + self.denominator * (rows.last - n + d)
        return Pace(self.numerator * n, self.denominator * d, offset).reduced()

    def sibling_pace(self, mine: RowMap, other: RowMap) -> Pace | None:
        """The slowest pace of the output of another reader of a common input that holds no input row any longer.

        An operator whose output has this pace reads the input by `mine`, the other reader by `other`. After each band
        the other reader needs no row that the operator has finished with. None if no pace describes that. After e
        output rows, the first input row that is still needed is e * n + first.
        """
        n = other.numerator
        if mine.denominator != 1 or other.denominator != 1 or not n or mine.numerator not in (1, n):
            return None
        behind = mine.first - other.first
        if mine.numerator == n:
            return Pace(self.numerator, self.denominator, self.offset - (-behind // n) * self.denominator)
        return Pace(self.numerator, self.denominator * n, self.offset + (behind + n - 1) * self.denominator).reduced()

    def reduced(self) -> Pace:
        """This pace in lowest terms."""
        common = math.gcd(self.numerator, self.denominator)
        return Pace(self.numerator // common, self.denominator // common, self.offset // common)


def output_pace(inputs: list[tuple[Pace, RowMap]]) -> Pace | None:
    """The pace of an operator's output from those of its inputs; None if their rates contradict each other or an input
    is needed whole."""
    pace: Pace | None = None
    for source, rows in inputs:
        if rows.numerator == 0:
            return None
        allowed = source.output_pace(rows)
        if pace is not None and not pace.has_same_rate(allowed):
            return None
        pace = allowed if pace is None else pace.slower(allowed)
    return pace

"""Chooses the rows of each sliding tensor that a run makes, and the rows that are kept for later runs.

The choice goes from the outputs back to the input. A run makes the *tail* of a tensor: the new inner rows, and the edge
rows below them. Earlier runs made the inner rows above the tail; these are kept, from the first row that is read on.
Edge rows at the top differ in each run, so each run makes them. If they alone are read at the top, every tensor before
them gets a *head*: the first rows, from which they are computed. If all rows are read, the head is the edge rows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from tigris_pio.compiler.ir.program import Program, RowMap
from tigris_pio.compiler.slide.motion import Motion

Rows = tuple[int, int]  #: rows [first, end)


@dataclasses.dataclass(frozen=True)
class Pieces:
    """The rows of a sliding tensor that are read, [0, end), by their source.

    head: each run makes rows [0, head)
    kept: earlier runs made rows [kept, tail); equal to `tail` if there are none
    tail: each run makes rows [tail, end); the run of an input tensor receives them
    inner_end: the first edge row at the bottom
    """

    head: int
    kept: int
    tail: int
    end: int
    inner_end: int
    motion: Motion

    @property
    def made(self) -> tuple[Rows, ...]:
        """The rows that each run makes: head and tail, without empty ones."""
        return tuple(rows for rows in ((0, self.head), (self.tail, self.end)) if rows[0] < rows[1])

    @property
    def ring_rows(self) -> int:
        """Rows of the state that keeps them, including those that a ring stride skips."""
        return (self.tail - self.kept) * self.motion.ring_stride


@dataclasses.dataclass
class _Demand:
    """Rows that are read: [0, head) for heads, [low, end) otherwise. padding: a reader sees padding only, and needs any
    row as its operand."""

    head: int = 0
    low: int | None = None
    end: int = 0
    padding: bool = False

    def add(self, rows: Rows, is_head: bool) -> None:
        if rows[0] >= rows[1]:
            self.padding = True
        elif is_head:
            self.head = max(self.head, rows[1])
        else:
            self.low = rows[0] if self.low is None else min(self.low, rows[0])
            self.end = max(self.end, rows[1])


def choose_pieces(program: Program, motions: Mapping[str, Motion]) -> dict[str, Pieces]:
    """The pieces of every sliding tensor."""
    demands = {name: _Demand() for name in motions}
    for io in program.outputs:
        if io.tensor in demands:
            demands[io.tensor].add((0, program.tensors[io.tensor].height), is_head=False)
    found: dict[str, Pieces] = {}
    for op in reversed(program.ops):
        if op.output not in motions:
            for operand in op.operands:
                if operand.tensor in demands:
                    demands[operand.tensor].add((0, program.tensors[operand.tensor].height), is_head=False)
            continue
        pieces = found[op.output] = _pieces(motions[op.output], demands[op.output])
        for rows in pieces.made:
            for operand in op.operands:
                if operand.tensor in demands:
                    needed = needed_rows(operand.rows, rows, program.tensors[operand.tensor].height)
                    demands[operand.tensor].add(needed, is_head=rows == (0, pieces.head))
    source = program.inputs[0].tensor
    found[source] = _input_pieces(motions[source], demands[source])
    return found


def needed_rows(rows: RowMap, made: Rows, height: int) -> Rows:
    """The input rows that the output rows `made`, at least one, read; an empty range if they read padding only."""
    first = (made[0] * rows.numerator + rows.first) // rows.denominator
    end = ((made[1] - 1) * rows.numerator + rows.last) // rows.denominator + 1
    return min(max(first, 0), height), min(max(end, 0), height)


def _pieces(motion: Motion, demand: _Demand) -> Pieces:
    if demand.low is None:  # only heads read it, or nothing does
        head = max(demand.head, int(demand.padding))
        return Pieces(head, head, head, head, head, motion)
    whole = demand.low < motion.first
    end = max(demand.end, demand.head) if whole else demand.end
    inner_end = min(motion.end, end)
    tail = inner_end - motion.new_rows
    head = motion.first if whole else demand.head
    if tail <= max(head, motion.first):
        end = max(end, demand.head)
        return Pieces(0, 0, 0, end, end, motion)
    return Pieces(head, motion.first if whole else min(demand.low, tail), tail, end, inner_end, motion)


def _input_pieces(motion: Motion, demand: _Demand) -> Pieces:
    tail = motion.end - motion.hop
    low = tail if demand.low is None else min(demand.low, tail)
    return Pieces(0, 0 if demand.head else low, tail, motion.end, motion.end, motion)

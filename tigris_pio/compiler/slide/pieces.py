"""Which rows of each sliding tensor a run makes, and which are kept for the runs after it.

Worked out from the outputs back. Of a tensor a run makes its *tail*: the new inner rows and the edge rows below them.
Inner rows above the tail were made by earlier runs and are kept, from the highest that anything reads. Edge rows at the
top are other rows each time: where only they are read up there, they are made anew from a *head* of what they are made
of, down to the window's first rows; where all rows are read the head is the edge rows alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from tigris_pio.compiler.ir.program import Program, RowMap
from tigris_pio.compiler.slide.motion import Motion

Rows = tuple[int, int]  #: first row and end


@dataclasses.dataclass(frozen=True)
class Pieces:
    """What a run has of a tensor of `end` rows, as far as they are read.

    head: rows [0, head) are made by each run
    kept: rows [kept, tail) are there from earlier runs; as many as `tail` where none are
    tail: rows [tail, end) are made by each run, for the input they are given to it
    inner_end: where edge rows begin
    """

    head: int
    kept: int
    tail: int
    end: int
    inner_end: int
    motion: Motion

    @property
    def made(self) -> tuple[Rows, ...]:
        """The rows that a run makes."""
        return tuple(rows for rows in ((0, self.head), (self.tail, self.end)) if rows[0] < rows[1])

    @property
    def ring_rows(self) -> int:
        """Rows that are kept from run to run; of long strides those between the rows that are read, too."""
        return (self.tail - self.kept) * self.motion.runs_apart


@dataclasses.dataclass
class _Demand:
    """Rows that are read: [0, head) for heads, [low, end) for all else. Who reads padding alone needs some row."""

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
    window = program.inputs[0].tensor
    found[window] = _input_pieces(motions[window], demands[window])
    return found


def needed_rows(rows: RowMap, made: Rows, height: int) -> Rows:
    """The input rows for output rows [first, end), which are not none; none where all are padding."""
    first = (made[0] * rows.numerator + rows.first) // rows.denominator
    end = ((made[1] - 1) * rows.numerator + rows.last) // rows.denominator + 1
    return min(max(first, 0), height), min(max(end, 0), height)


def _pieces(motion: Motion, demand: _Demand) -> Pieces:
    if demand.low is None:  # read by heads alone, if at all
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

"""The schedule of a stage: how many bands, and the pace of each tensor that has one."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping

from tigris_pio.compiler.ir.pace import Pace, output_pace
from tigris_pio.compiler.ir.program import Operand, RowMap
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.segment import Segment


@dataclasses.dataclass(frozen=True)
class StageSchedule:
    """`bands` bands of `band_rows` rows of the tensor the schedule counts in: the first input read of a rolling
    stage, the last output of any other."""

    bands: int
    band_rows: int
    paces: Mapping[str, Pace]


class Rolling:
    """The paces of a rolling stage, built up from its first operator to its last.

    Tensors from before the stage are available at any time. They count as arriving `band_rows` rows a band; a tensor
    whose height is a multiple of the first one's, as many times that. A tensor made of nothing but whole ones counts
    likewise.
    """

    def __init__(self, index: ProgramIndex, band_rows: int) -> None:
        self._index = index
        self._band_rows = band_rows
        self._base: int | None = None  # height of the first tensor from outside
        self.paces: dict[str, Pace] = {}

    def add(self, step: int, made: Mapping[str, int]) -> Pace | None:
        """The pace of the next operator's output, kept in `paces`; None when it cannot be paced.

        `made`: the tensors the stage's earlier operators make.
        """
        op = self._index.ops[step]
        if not op.operands:  # its rows are had at any time, as those from before the stage
            arrival = self._arrival(op.output)
            if arrival is not None:
                self.paces[op.output] = arrival
            return arrival
        inside, outside = [], []
        for operand in op.operands:
            if operand.tensor in made:
                inside.append((self.paces[operand.tensor], operand.rows))
            elif self._index.tensor(operand.tensor).constant is None and operand.rows.numerator:
                outside.append((self._arrival(operand.tensor), operand.rows))
        pace = output_pace(inside or outside) if inside or outside else self._arrival(op.output)
        if pace is not None:
            self.paces[op.output] = pace
        return pace

    def _arrival(self, tensor: str) -> Pace:
        height = self._index.tensor(tensor).height
        if self._base is None:
            self._base = height
        whole, rest = divmod(height, self._base)
        return Pace(self._band_rows * (1 if rest else whole))


def bands_until_complete(index: ProgramIndex, paces: Mapping[str, Pace], names: tuple[str, ...]) -> int:
    """Bands after which every tensor of `names` is complete."""
    return max(paces[name].bands_for(index.tensor(name).height) for name in names)


def stage_schedule(index: ProgramIndex, segment: Segment, band_rows: int) -> StageSchedule:
    """The schedule of `segment` in bands of `band_rows` rows; one band when it is not banded."""
    outputs = index.outputs(segment.first, segment.end)
    heights = {name: index.tensor(name).height for name in outputs}
    if not segment.banded:
        # Three kinds are made whole, even rows that no reader wants: batches, whose images lie a whole image apart,
        # rows that are made from the one before, and those that are streamed.
        made_whole = [tensor for op in index.ops[segment.first : segment.end]
                      if (tensor := index.tensor(op.output)).batch != op.images or tensor.sequential or tensor.streamed]
        heights = {item.name: item.height for item in made_whole} | heights
        return StageSchedule(1, max(heights.values()), {name: Pace(rows) for name, rows in heights.items()})
    if not segment.keep:
        bands = -(-index.tensor(index.ops[segment.end - 1].output).height // band_rows)
        return StageSchedule(bands, band_rows, {name: Pace(-(-rows // bands)) for name, rows in heights.items()})
    paces = rolling_paces(index, segment, band_rows)
    assert paces is not None, "only segments whose every operator can be paced roll"
    made = (op.output for op in index.ops[segment.first : segment.end])
    streamed = tuple(name for name in made if index.tensor(name).streamed)
    return StageSchedule(bands_until_complete(index, paces, outputs + streamed), band_rows, paces)


def rolling_paces(index: ProgramIndex, segment: Segment, band_rows: int) -> Mapping[str, Pace] | None:
    """The pace of each tensor that `segment` makes, rolling in bands of `band_rows` rows; None when one has none."""
    rolling = Rolling(index, band_rows)
    made: dict[str, int] = {}
    for step in range(segment.first, segment.end):
        if rolling.add(step, made) is None:
            return None
        made[index.ops[step].output] = step
    inner = (step for step in made.values() if not index.outlives(index.ops[step].output, segment.end))
    late = {index.ops[step].output: unhurried(index, step, segment, rolling.paces) for step in inner}
    return {**rolling.paces, **late}


def unhurried(index: ProgramIndex, step: int, segment: Segment, paces: Mapping[str, Pace]) -> Pace:
    """The latest pace without cost of an operator's output that nothing needs behind `segment`.

    `paces` has the earliest pace of all tensors that are made. A row made that early may have to wait for rows of
    another branch. If its operands are held for another reader anyway, it is made when that reader is done with them.
    It then waits less, and its operands wait no longer, so no window gets larger. It is never later than its readers
    need it, because rows made before their pace count as held until then.
    """
    op = index.ops[step]
    tensor, pace = index.tensor(op.output), paces[op.output]
    if tensor.folded or tensor.sequential or tensor.streamed:
        return pace
    held = [_held(index, operand, segment, paces) for operand in op.operands
            if index.tensor(operand.tensor).constant is None]
    wanted = [paces[output].input_pace(rows) for output, rows in _readers(index, op.output, segment)]
    known = [other for other in (*held, *wanted) if other is not None and other.has_same_rate(pace)]
    if not held or len(known) < len(held) + len(wanted):
        return pace
    return pace.slower(functools.reduce(Pace.faster, known))


def _held(index: ProgramIndex, operand: Operand, segment: Segment, paces: Mapping[str, Pace]) -> Pace | None:
    """The slowest pace of an operator's output at which each row of an operand is released as early as by its last
    reader. None if that is not known."""
    readers = _readers(index, operand.tensor, segment)
    found = [pace for output, rows in readers if (pace := paces[output].sibling_pace(rows, operand.rows)) is not None]
    return functools.reduce(Pace.slower, found) if found else None


def _readers(index: ProgramIndex, tensor: str, segment: Segment) -> Iterator[tuple[str, RowMap]]:
    """The outputs made of a tensor in a segment, and the rows of it that they read."""
    for reader in index.uses_within(tensor, segment.first, segment.end):
        op = index.ops[reader]
        yield from ((op.output, operand.rows) for operand in op.operands if operand.tensor == tensor)


def tallest_height(index: ProgramIndex, segment: Segment) -> int:
    """The most rows a band of `segment` can have."""
    names = [index.ops[segment.end - 1].output]
    if segment.keep:
        ops = index.ops[segment.first : segment.end]
        names += [name for name in index.inputs(segment.first, segment.end) if index.tensor(name).constant is None]
        names += [op.output for op in ops if not op.operands]
    return max(index.tensor(name).height for name in names)

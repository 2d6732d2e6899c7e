"""What a stage does, band by band, and the loops in it.

Each band is a list of actions: calls of kernels, and rows that move. The numbers in them (rows, padding, where rows
lie) come from the stage's geometry and are known here, so the C that is written computes none of them: bands that do
the same, each a fixed step further on, become a loop, and what comes before and behind it is written out.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator, Mapping, Sequence

from tigris_pio.compiler.ir.plan import ExecutionPlan, Stage, View
from tigris_pio.compiler.ir.program import Operand, ProgramOp, ProgramTensor, RowMap
from tigris_pio.compiler.plan.band.geometry import BandRows, stage_rows
from tigris_pio.format.enums import OpKind

#: Loops repeat this many bands at most: strides of two, five deep.
LONGEST_PERIOD = 32


@dataclasses.dataclass(frozen=True)
class Place:
    """A tensor at its home, or in its window of a stage. parked: where the rows lie that the window keeps."""

    tensor: str
    window: bool
    parked: bool = False


@dataclasses.dataclass(frozen=True)
class Rows:
    """Rows of a tensor that a call reads or writes. at: which row of the place the first is; first: of the tensor."""

    place: Place
    rows: int
    pad_top: int
    pad_bottom: int
    at: int
    first: int


class Moving(enum.Enum):
    """Why rows move."""

    KEEP = "kept for the next band"
    BACK = "back from where they were parked"
    LOAD = "loaded"
    STORE = "stored"


@dataclasses.dataclass(frozen=True)
class Move:
    """Rows move from row `source_at` of a place to row `target_at` of another, `bytes` of them."""

    why: Moving
    source: Place
    target: Place
    bytes: int
    source_at: int
    target_at: int


@dataclasses.dataclass(frozen=True)
class Call:
    """Operator `op` of the program makes rows of its output."""

    op: int
    output: Rows
    inputs: tuple[Rows, ...]

    @property
    def bands(self) -> tuple[Rows, ...]:
        """The output's rows, then the inputs'."""
        return (self.output, *self.inputs)


Action = Call | Move
Band = tuple[Action, ...]


@dataclasses.dataclass(frozen=True)
class Step:
    """An action that a loop repeats. values: its numbers that change, at first; each grows by `growth` per turn."""

    action: Action
    growth: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Loop:
    """`steps`, `turns` times; 1: bands that are written out. bands: from the first to before the last."""

    steps: tuple[Step, ...]
    turns: int
    bands: tuple[int, int]


def values_of(action: Action) -> tuple[int, ...]:
    """The numbers that may grow from band to band."""
    if isinstance(action, Move):
        return (action.source_at, action.target_at)
    return tuple(number for rows in action.bands for number in (rows.at, rows.first))


def with_values(action: Action, values: Sequence[int]) -> Action:
    """`action` with other numbers of values_of."""
    if isinstance(action, Move):
        return dataclasses.replace(action, source_at=values[0], target_at=values[1])
    bands = [
        dataclasses.replace(rows, at=values[2 * place], first=values[2 * place + 1])
        for place, rows in enumerate(action.bands)
    ]
    return Call(action.op, bands[0], tuple(bands[1:]))


def _kind(action: Action) -> Action:
    return with_values(action, (0,) * len(values_of(action)))


def operands_of(op: ProgramOp, tensors: Mapping[str, ProgramTensor]) -> tuple[Operand, ...]:
    """What an operator's kernel reads: one that makes rows in sequence reads its own output, a row late, too."""
    own = (Operand(op.output, RowMap.shifted(-1)),) if tensors[op.output].sequential else ()
    return (*op.operands, *own)


class _Stage:
    """The actions of one stage."""

    def __init__(self, plan: ExecutionPlan, stage: Stage) -> None:
        self.stage = stage
        self.ops = plan.program.ops[stage.first_op : stage.end_op]
        self.tensors = plan.program.tensors
        self.views = {view.tensor: view for view in stage.views}
        self.images = self.ops[0].images
        paces = {view.tensor: view.pace for view in stage.views if view.pace is not None}
        at_home = frozenset(view.tensor for view in stage.views if not view.window)
        keep = any(view.keep for view in stage.views)
        self.rows = stage_rows(self.ops, self.tensors, paces, stage.bands, keep, at_home)
        self.last_read = self._last_read()

    def bands(self) -> Iterator[Band]:
        for band in range(self.stage.bands):
            yield tuple(self._band(band))

    def _band(self, band: int) -> Iterator[Action]:
        loaded: set[str] = set()
        for place, op in enumerate(self.ops):
            yield from self._back(self.views[op.output], band)
            made, end = self._made(self.rows[op.output], band)
            if end > made:
                yield from self._made_by(place, op, band, loaded)
            for view in self.last_read[place]:
                yield from self._kept(view, band + 1)

    def _made_by(self, place: int, op: ProgramOp, band: int, loaded: set[str]) -> Iterator[Action]:
        """An operator's turn: rows that it is the first to read, its call, and where its own rows go."""
        for operand in operands_of(op, self.tensors):
            if operand.tensor not in loaded and self.views[operand.tensor].load:
                loaded.add(operand.tensor)
                yield from self._copied(operand.tensor, band, Moving.LOAD)
        yield self._call(place, op, band)
        if self.views[op.output].store:
            yield from self._copied(op.output, band, Moving.STORE)

    def _last_read(self) -> list[list[View]]:
        """Of each operator the windows that no later one reads: what they keep moves then."""
        last = {operand.tensor: place for place, op in enumerate(self.ops) for operand in operands_of(op, self.tensors)}
        kept = [view for view in self.stage.views if view.window and view.keep]
        return [[view for view in kept if last.get(view.tensor) == place] for place in range(len(self.ops))]

    @staticmethod
    def _made(rows: BandRows, band: int) -> tuple[int, int]:
        return int(rows.made[band]), int(rows.end[band])

    def _start(self, name: str, band: int) -> int:
        """The row at the start of a window."""
        return int(self.rows[name].first[band])

    def _kept(self, view: View, band: int) -> Iterator[Move]:
        """What of a window band `band` finds from the one before moves to its start, or to where it is parked."""
        size = self._kept_bytes(view, band)
        before, first = self._start(view.tensor, band - 1), self._start(view.tensor, min(band, self.stage.bands - 1))
        if size and (view.parked is not None or first > before):
            target = Place(view.tensor, True, view.parked is not None)
            yield Move(Moving.KEEP, Place(view.tensor, True), target, size, first - before, 0)

    def _back(self, view: View, band: int) -> Iterator[Move]:
        """What of a window was parked comes back."""
        size = self._kept_bytes(view, band) if view.parked is not None else 0
        if size:
            yield Move(Moving.BACK, Place(view.tensor, True, True), Place(view.tensor, True), size, 0, 0)

    def _kept_bytes(self, view: View, band: int) -> int:
        """Bytes of a window that band `band` finds from the one before."""
        tensor, rows = self.tensors[view.tensor], self.rows[view.tensor]
        if band in (0, self.stage.bands) or tensor.folded:
            return 0
        kept = max(0, int(rows.made[band]) - int(rows.first[band]))
        return kept * tensor.row_bytes * self._images_together(tensor)

    def _images_together(self, tensor: ProgramTensor) -> int:
        return tensor.batch if self.images == 1 else 1

    def _copied(self, name: str, band: int, why: Moving) -> Iterator[Move]:
        made, end = self._made(self.rows[name], band)
        tensor = self.tensors[name]
        if end <= made:
            return
        size = tensor.bytes_of(end - made) * self._images_together(tensor)
        at_home, in_window = (0, 0) if tensor.folded else (made, made - self._start(name, band))
        home, window = Place(name, False), Place(name, True)
        if why is Moving.LOAD:
            yield Move(why, home, window, size, at_home, in_window)
        else:
            yield Move(why, window, home, size, in_window, at_home)

    def _call(self, place: int, op: ProgramOp, band: int) -> Call:
        made, end = self._made(self.rows[op.output], band)
        inputs = tuple(self._input(operand, made, end, band) for operand in operands_of(op, self.tensors))
        output = self._rows_at(op.output, made, end, band, 0, 0)
        if op.kind is OpKind.SUM_MAP:  # which asks whether rows are the first, and else nothing of their numbers
            output = dataclasses.replace(output, first=min(made, 1))
            inputs = tuple(dataclasses.replace(rows, first=0) for rows in inputs)
        return Call(self.stage.first_op + place, output, inputs)

    def _input(self, operand: Operand, first: int, end: int, band: int) -> Rows:
        """SPEC.md section 3: the rows that output rows [first, end) read, clipped to the tensor."""
        rows, height = operand.rows, self.tensors[operand.tensor].height
        asked_first = (first * rows.numerator + rows.first) // rows.denominator
        asked_end = ((end - 1) * rows.numerator + rows.last) // rows.denominator + 1
        low, high = min(max(asked_first, 0), height), min(max(asked_end, 0), height)
        outside = asked_end - asked_first - (high - low)
        above = outside if high == low else low - asked_first
        return self._rows_at(operand.tensor, low, high, band, above, outside - above)

    def _rows_at(self, name: str, first: int, end: int, band: int, above: int, below: int) -> Rows:
        tensor, view = self.tensors[name], self.views[name]
        start = self._start(name, band) if view.window else 0
        at = 0 if tensor.folded or (end == first and view.window) else first - start
        rows = (end - first) * self._images_together(tensor)
        return Rows(Place(name, view.window), rows, above, below, at, first)


def stage_bands(plan: ExecutionPlan, stage: Stage) -> list[Band]:
    """The actions of each band."""
    return list(_Stage(plan, stage).bands())


def loops_of(bands: Sequence[Band]) -> list[Loop]:
    """`bands` as few actions, some of them repeated: the shortest text there is, by shortest paths over the bands."""
    kinds = [tuple(_kind(action) for action in band) for band in bands]
    values = [tuple(number for action in band for number in values_of(action)) for band in bands]
    count = len(bands)
    best: list[tuple[int, Loop | None, int]] = [(0, None, count)] * (count + 1)
    for first in reversed(range(count)):
        one = Loop(tuple(_still(action) for action in bands[first]), 1, (first, first + 1))
        best[first] = (len(bands[first]) + best[first + 1][0], one, first + 1)
        for period in range(1, min(LONGEST_PERIOD, (count - first) // 2) + 1):
            turns = _turns(kinds, values, first, period)
            cost = sum(len(band) for band in bands[first : first + period]) + 1
            end = first + period * turns
            if turns > 1 and cost + best[end][0] < best[first][0]:
                best[first] = (cost + best[end][0], _loop(bands, values, first, period, turns), end)
    return _chosen(best)


def _chosen(best: Sequence[tuple[int, Loop | None, int]]) -> list[Loop]:
    found: list[Loop] = []
    at = 0
    while (loop := best[at][1]) is not None:
        if loop.steps:
            found.append(loop)
        at = best[at][2]
    return found


def _still(action: Action) -> Step:
    return Step(action, (0,) * len(values_of(action)))


def _turns(
    kinds: Sequence[tuple[Action, ...]], values: Sequence[tuple[int, ...]], first: int, period: int
) -> int:
    """How often bands [first, first + period) come one behind the other, each time the same step further on."""
    turns = 1
    while first + period * (turns + 1) <= len(kinds):
        for band in range(first + period * turns, first + period * (turns + 1)):
            if kinds[band] != kinds[band - period]:
                return turns
            if turns > 1 and _apart(values, band, period) != _apart(values, band - period, period):
                return turns
        turns += 1
    return turns


def _apart(values: Sequence[tuple[int, ...]], band: int, period: int) -> tuple[int, ...]:
    return tuple(now - before for now, before in zip(values[band], values[band - period], strict=True))


def _loop(bands: Sequence[Band], values: Sequence[tuple[int, ...]], first: int, period: int, turns: int) -> Loop:
    steps = []
    for band in range(first, first + period):
        growth = list(_apart(values, band + period, period))
        for action in bands[band]:
            count = len(values_of(action))
            steps.append(Step(action, tuple(growth[:count])))
            del growth[:count]
    return Loop(tuple(steps), turns, (first, first + period * turns))


def schedule(plan: ExecutionPlan) -> list[list[Loop]]:
    """The loops of each stage. Of a stage that runs image by image, those of one image."""
    return [loops_of(stage_bands(plan, stage)) for stage in plan.stages]


def tensors_of(loops: Sequence[Loop]) -> Mapping[Place, None]:
    """The places that loops touch, in the order in which they first do."""
    places: dict[Place, None] = {}
    for loop in loops:
        for step in loop.steps:
            action = step.action
            touched = (action.source, action.target) if isinstance(action, Move) else [r.place for r in action.bands]
            places |= dict.fromkeys(touched)
    return places

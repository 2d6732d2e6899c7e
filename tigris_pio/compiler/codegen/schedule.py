"""Lists the actions of each band of a stage, and finds loops in them.

An action is a kernel call or a move of rows. Its numbers (rows, padding, addresses) come from the stage's geometry, so
the generated C computes none of them. Repeated bands whose numbers grow by constant steps become a loop; other bands
are written out.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from tigris_pio.compiler.ir.plan import ExecutionPlan, Stage, View
from tigris_pio.compiler.ir.program import Operand, ProgramOp, ProgramTensor, RowMap
from tigris_pio.compiler.plan.band.geometry import BandRows, stage_rows
from tigris_pio.format.enums import OpKind

#: Most bands in a loop's body: five strides of two in a row.
LONGEST_PERIOD = 32


@dataclasses.dataclass(frozen=True)
class Place:
    """A tensor at its home, or in its window of a stage. parked: the place of the window's parked rows."""

    tensor: str
    window: bool
    parked: bool = False


@dataclasses.dataclass(frozen=True)
class Rows:
    """Rows of a tensor that a call reads or writes. at: the first row, counted in the place; first: in the tensor."""

    place: Place
    rows: int
    pad_top: int
    pad_bottom: int
    at: int
    first: int


class MoveReason(enum.Enum):
    """Why rows move; the names are prefixes of C functions, and the values their comments."""

    KEEP = "Moves kept rows of {} to the start of their window."
    PARK = "Parks kept rows of {}, so that other tensors can use the window."
    BACK = "Moves parked rows of {} back to their window."
    LOAD = "Copies rows of {} from its home to the window."
    STORE = "Copies rows of {} from the window to its home."


@dataclasses.dataclass(frozen=True)
class Move:
    """Moves `bytes` bytes from row `source_at` of a place to row `target_at` of another."""

    reason: MoveReason
    source: Place
    target: Place
    bytes: int
    source_at: int
    target_at: int


@dataclasses.dataclass(frozen=True)
class Call:
    """Calls operator `op` of the program. bands: rows of its output, then of its inputs."""

    op: int
    bands: tuple[Rows, ...]


Action = Call | Move
Band = tuple[Action, ...]


@dataclasses.dataclass(frozen=True)
class Step:
    """An action of a loop. growth: increments per iteration of the numbers of `values_of`."""

    action: Action
    growth: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Loop:
    """Runs `steps` `iterations` times; 1: bands that are written out. bands: first, and one behind the last."""

    steps: tuple[Step, ...]
    iterations: int
    bands: tuple[int, int]


def values_of(action: Action) -> tuple[int, ...]:
    """The numbers of an action that may grow from band to band."""
    if isinstance(action, Move):
        return (action.source_at, action.target_at)
    return tuple(number for rows in action.bands for number in (rows.at, rows.first))


def with_values(action: Action, values: Sequence[int]) -> Action:
    """`action` with the numbers of `values_of` replaced."""
    if isinstance(action, Move):
        return dataclasses.replace(action, source_at=values[0], target_at=values[1])
    pairs = zip(action.bands, values[::2], values[1::2], strict=True)
    return Call(action.op, tuple(dataclasses.replace(rows, at=at, first=first) for rows, at, first in pairs))


def operands_of(op: ProgramOp, tensors: Mapping[str, ProgramTensor]) -> tuple[Operand, ...]:
    """An operator's operands; a sequential one also reads its own output, one row late."""
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

    def actions(self, band: int) -> Iterator[Action]:
        """Yields the actions of a band."""
        loaded: set[str] = set()
        for place, op in enumerate(self.ops):
            yield from self._back(self.views[op.output], band)
            made, end = self._made(self.rows[op.output], band)
            if end > made:
                yield from self._made_by(place, op, band, loaded)
            for view in self.last_read[place]:
                yield from self._kept(view, band + 1)

    def _made_by(self, place: int, op: ProgramOp, band: int, loaded: set[str]) -> Iterator[Action]:
        """An operator's actions: loads of rows that it reads first, its call, and the store of its rows."""
        for operand in operands_of(op, self.tensors):
            if operand.tensor not in loaded and self.views[operand.tensor].load:
                loaded.add(operand.tensor)
                yield from self._copied(operand.tensor, band, MoveReason.LOAD)
        yield self._call(place, op, band)
        if self.views[op.output].store:
            yield from self._copied(op.output, band, MoveReason.STORE)

    def _last_read(self) -> list[list[View]]:
        """For each operator the windows whose last reader it is; their kept rows move behind it."""
        last = {operand.tensor: place for place, op in enumerate(self.ops) for operand in operands_of(op, self.tensors)}
        kept = [view for view in self.stage.views if view.window and view.keep]
        return [[view for view in kept if last.get(view.tensor) == place] for place in range(len(self.ops))]

    @staticmethod
    def _made(rows: BandRows, band: int) -> tuple[int, int]:
        return int(rows.made[band]), int(rows.end[band])

    def _start(self, name: str, band: int) -> int:
        """The tensor's row at the start of its window."""
        return int(self.rows[name].first[band])

    def _kept(self, view: View, band: int) -> Iterator[Move]:
        """Moves the rows that band `band` needs from the band before to the window's start, or parks them."""
        size = self._kept_bytes(view, band)
        before, first = self._start(view.tensor, band - 1), self._start(view.tensor, min(band, self.stage.bands - 1))
        if size and (view.parked is not None or first > before):
            parks = view.parked is not None
            source, target = Place(view.tensor, True), Place(view.tensor, True, parks)
            yield Move(MoveReason.PARK if parks else MoveReason.KEEP, source, target, size, first - before, 0)

    def _back(self, view: View, band: int) -> Iterator[Move]:
        """Moves parked rows back to their window."""
        size = self._kept_bytes(view, band) if view.parked is not None else 0
        if size:
            yield Move(MoveReason.BACK, Place(view.tensor, True, True), Place(view.tensor, True), size, 0, 0)

    def _kept_bytes(self, view: View, band: int) -> int:
        """Bytes of a window that band `band` needs from the band before."""
        tensor, rows = self.tensors[view.tensor], self.rows[view.tensor]
        if band in (0, self.stage.bands) or tensor.folded:
            return 0
        kept = max(0, int(rows.made[band]) - int(rows.first[band]))
        return kept * tensor.row_bytes * self._images_together(tensor)

    def _images_together(self, tensor: ProgramTensor) -> int:
        return tensor.batch if self.images == 1 else 1

    def _copied(self, name: str, band: int, why: MoveReason) -> Iterator[Move]:
        made, end = self._made(self.rows[name], band)
        tensor = self.tensors[name]
        if end <= made:
            return
        size = tensor.bytes_of(end - made) * self._images_together(tensor)
        at_home, in_window = (0, 0) if tensor.folded else (made, made - self._start(name, band))
        home, window = Place(name, False), Place(name, True)
        if why is MoveReason.LOAD:
            yield Move(why, home, window, size, at_home, in_window)
        else:
            yield Move(why, window, home, size, in_window, at_home)

    def _call(self, place: int, op: ProgramOp, band: int) -> Call:
        made, end = self._made(self.rows[op.output], band)
        inputs = [self._input(operand, made, end, band) for operand in operands_of(op, self.tensors)]
        output = self._rows_at(op.output, made, end, band, 0, 0)
        if op.kind is OpKind.SUM_MAP:  # its kernel only reads whether the first row is row 0
            output = dataclasses.replace(output, first=min(made, 1))
            inputs = [dataclasses.replace(rows, first=0) for rows in inputs]
        return Call(self.stage.first_op + place, (output, *inputs))

    def _input(self, operand: Operand, first: int, end: int, band: int) -> Rows:
        """The input rows of output rows [first, end), clipped to the tensor (SPEC.md section 3)."""
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
    actions = _Stage(plan, stage).actions
    return [tuple(actions(band)) for band in range(stage.bands)]


def loops_of(bands: Sequence[Band]) -> list[Loop]:
    """Splits `bands` into loops with the fewest actions in all, by shortest paths over the bands."""
    kinds = [tuple(with_values(action, (0,) * len(values_of(action))) for action in band) for band in bands]
    values = [tuple(number for action in band for number in values_of(action)) for band in bands]
    count = len(bands)
    best = [(0, 0, 0)] * (count + 1)  # from each band on: actions, and the period and iterations of the first loop
    for first in reversed(range(count)):
        periods = range(1, min(LONGEST_PERIOD, (count - first) // 2) + 1)
        repeated = [(period, _iterations(kinds, values, first, period)) for period in periods]
        options = [(1, 1), *((period, iterations) for period, iterations in repeated if iterations > 1)]
        best[first] = min(
            ((sum(map(len, bands[first : first + period])) + (iterations > 1) + best[first + period * iterations][0],
              period, iterations) for period, iterations in options),
            key=lambda option: option[0],
        )  # fmt: skip
    found, at = [], 0
    while at < count:
        _, period, iterations = best[at]
        found.append(_loop(bands, values, at, period, iterations))
        at += period * iterations
    return [loop for loop in found if loop.steps]


def _iterations(
    kinds: Sequence[tuple[Action, ...]], values: Sequence[tuple[int, ...]], first: int, period: int
) -> int:
    """How often bands [first, first + period) repeat with constant increments of their numbers."""
    iterations = 1
    while first + period * (iterations + 1) <= len(kinds):
        for band in range(first + period * iterations, first + period * (iterations + 1)):
            if kinds[band] != kinds[band - period]:
                return iterations
            if iterations > 1 and _differences(values, band, period) != _differences(values, band - period, period):
                return iterations
        iterations += 1
    return iterations


def _differences(values: Sequence[tuple[int, ...]], band: int, period: int) -> tuple[int, ...]:
    return tuple(now - before for now, before in zip(values[band], values[band - period], strict=True))


def _loop(bands: Sequence[Band], values: Sequence[tuple[int, ...]], first: int, period: int, iterations: int) -> Loop:
    steps: list[Step] = []
    for band in range(first, first + period):
        growth = iter(_differences(values, band + period, period) if iterations > 1 else (0,) * len(values[band]))
        steps += (Step(action, tuple(islice(growth, len(values_of(action))))) for action in bands[band])
    return Loop(tuple(steps), iterations, (first, first + period * iterations))


def schedule(plan: ExecutionPlan) -> list[list[Loop]]:
    """The loops of each stage; for a stage that runs image by image, those of one image."""
    return [loops_of(stage_bands(plan, stage)) for stage in plan.stages]


def tensors_of(loops: Sequence[Loop]) -> Mapping[Place, None]:
    """The places that loops access, in order of first access."""
    places: dict[Place, None] = {}
    for loop in loops:
        for step in loop.steps:
            action = step.action
            touched = (action.source, action.target) if isinstance(action, Move) else [r.place for r in action.bands]
            places |= dict.fromkeys(touched)
    return places

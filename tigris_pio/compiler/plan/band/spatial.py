"""Bands. Turns a segment into a drafted stage and finds the tallest band that fits."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from tigris_pio.compiler.ir.pace import Pace
from tigris_pio.compiler.ir.plan import View
from tigris_pio.compiler.ir.program import ProgramTensor
from tigris_pio.compiler.plan.band.geometry import BandRows, input_end, input_first, stage_rows
from tigris_pio.compiler.plan.band.overlay import Overlay, find_overlays
from tigris_pio.compiler.plan.band.paces import stage_schedule
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.lifetimes import Lifetime
from tigris_pio.compiler.plan.memory.request import Part, Piece, Request
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.format.enums import Home, Strategy
from tigris_pio.sizes import round_up


@dataclasses.dataclass(frozen=True)
class Draft:
    """A stage without offsets: its views, and the windows and scratch it asks the arena for.

    overlays: outputs that grow over inputs. rows: that each band touches of each tensor.
    """

    segment: Segment
    bands: int
    band_rows: int
    strategy: Strategy
    views: tuple[View, ...]
    requests: tuple[Request, ...]
    slow_read: int
    slow_written: int
    recomputed_macs: int
    overlays: tuple[Overlay, ...] = ()
    rows: Mapping[str, BandRows] = dataclasses.field(default_factory=dict, repr=False, compare=False)


def window_name(segment: Segment, tensor: str) -> str:
    """The arena request of a tensor's window in one stage."""
    return f"window {segment.first} {tensor}"


def scratch_name(step: int) -> str:
    """The arena request of an operator's scratch."""
    return f"scratch {step}"


#: What is taken apart in a window begins on a multiple of this, whatever the arena's alignment.
COARSE = 64


def draft_stage(index: ProgramIndex, segment: Segment, band_rows: int, homes: Mapping[str, Home]) -> Draft:
    """The stage that runs `segment` in bands of `band_rows` rows; one that is not banded ignores `band_rows`.

    `homes`: where each tensor that outlives a stage lives. The draft has every overlay that saves memory.
    """
    first, end = segment.first, segment.end
    seen = tuple(homes.get(name) for name in (*index.inputs(first, end), *index.outputs(first, end)))
    return index.once(_draft, segment, band_rows if segment.banded else 1, seen)


def _draft(index: ProgramIndex, segment: Segment, band_rows: int, seen: tuple[Home | None, ...]) -> Draft:
    """`seen`: the homes of what the segment reads and leaves."""
    touched = (*index.inputs(segment.first, segment.end), *index.outputs(segment.first, segment.end))
    homes = {name: home for name, home in zip(touched, seen, strict=True) if home is not None}
    ops = index.ops[segment.first : segment.end]
    outputs = index.outputs(segment.first, segment.end)
    schedule = stage_schedule(index, segment, band_rows)
    at_home = frozenset(name for name in outputs if segment.direct or homes[name] is Home.FAST)
    rows = stage_rows(ops, index.program.tensors, schedule.paces, schedule.bands, segment.keep, at_home)
    views = [_input_view(index, segment, name, rows, homes) for name in index.inputs(segment.first, segment.end)]
    views += [_output_view(index, op.output, rows, schedule.paces, outputs, at_home) for op in ops]
    read, written = _traffic(index, views, rows, homes, ops[0].images)
    if segment.direct:
        read += _read_directly(index, segment.first, homes)
    return Draft(
        segment,
        schedule.bands,
        schedule.band_rows,
        _strategy(segment, schedule.bands, views),
        tuple(views),
        _requests(index, segment, views, rows, schedule.bands),
        read,
        written,
        sum(_recomputed(op.macs, rows[op.output], index.tensor(op.output)) for op in ops),
        _overlays(index, segment, rows, homes) if schedule.bands * ops[0].images > 1 else (),
        rows,
    )


def _overlays(
    index: ProgramIndex, segment: Segment, rows: Mapping[str, BandRows], homes: Mapping[str, Home]
) -> tuple[Overlay, ...]:
    outputs = [name for name in index.outputs(segment.first, segment.end) if homes[name] is Home.FAST]
    if not outputs:
        return ()
    inputs = [name for name in index.inputs(segment.first, segment.end) if homes.get(name) is Home.FAST]
    return find_overlays(index, segment, rows, inputs, outputs)


def _input_view(
    index: ProgramIndex, segment: Segment, name: str, rows: Mapping[str, BandRows], homes: Mapping[str, Home]
) -> View:
    tensor = index.tensor(name)
    if tensor.constant is not None or segment.direct or homes[name] is Home.FAST:
        return View(name, window=False, capacity_rows=tensor.height)
    capacity = rows[name].capacity if tensor.batch in (1, index.ops[segment.first].images) else tensor.height
    return View(name, window=True, capacity_rows=capacity, load=True, keep=rows[name].keeps)


def _output_view(
    index: ProgramIndex,
    name: str,
    rows: Mapping[str, BandRows],
    paces: Mapping[str, Pace],
    outputs: Sequence[str],
    at_home: frozenset[str],
) -> View:
    pace = paces.get(name)
    if name in at_home:
        return View(name, window=False, capacity_rows=index.tensor(name).height, pace=pace)
    band = rows[name]
    tensor = index.tensor(name)
    # What is added to must stay where it is from band to band, and streamed rows are had once.
    keep = band.keeps or (tensor.folded and len(band.first) > 1) or tensor.streamed
    return View(name, True, band.capacity, pace, store=name in outputs, keep=keep)


def _strategy(segment: Segment, bands: int, views: list[View]) -> Strategy:
    if bands == 1:
        return Strategy.NORMAL
    if segment.end - segment.first == 1:
        return Strategy.TILED
    return Strategy.ROLLING if any(view.keep for view in views) else Strategy.CHAIN


def _requests(
    index: ProgramIndex, segment: Segment, views: list[View], rows: Mapping[str, BandRows], bands: int
) -> tuple[Request, ...]:
    """A window is taken from the operator that fills it to the last that reads it, in every band. The rows that are
    kept lie at its start, and are taken as long as the stage runs."""
    requests = []
    for view in views:
        if not view.window:
            continue
        tensor = index.tensor(view.tensor)
        steps = index.uses_within(view.tensor, segment.first, segment.end)
        birth = steps[0] if view.load else index.lives[view.tensor].birth
        death = max([birth, *steps])
        whole = bands == index.ops[segment.first].images == 1
        size = tensor.bytes if whole else tensor.bytes_of(view.capacity_rows)
        kept = tensor.bytes_of(rows[view.tensor].kept_rows) if bands > 1 and view.keep else 0
        kept = size if tensor.folded and view.keep else kept
        name, life = window_name(segment, view.tensor), Lifetime(birth, death)
        requests.append(_window(name, size, kept, life, Lifetime(segment.first, segment.end - 1)))
    for step in range(segment.first, segment.end):
        if index.ops[step].scratch_bytes:
            requests.append(Request(scratch_name(step), index.ops[step].scratch_bytes, Lifetime(step, step)))
    return tuple(requests)


def _window(name: str, size: int, kept: int, life: Lifetime, stage: Lifetime) -> Request:
    """`size` bytes during `life`, the first `kept` of them during all of `stage`."""
    kept = min(size, round_up(kept, COARSE))
    if kept in (0, size):
        return Request(name, size, stage if kept else life)
    pieces = Piece(0, kept, stage), Piece(kept, size - kept, life)
    return Request(name, size, stage, (Part(name, 0, size, stage, pieces),))


def _traffic(
    index: ProgramIndex, views: list[View], rows: Mapping[str, BandRows], homes: Mapping[str, Home], images: int
) -> tuple[int, int]:
    """Slow bytes read and written by one run of the stage."""
    read = written = 0
    for view in views:
        tensor = index.tensor(view.tensor)
        if tensor.constant is not None:
            continue
        moved = rows[view.tensor].moved_bytes(tensor) * tensor.batch
        if view.load:
            read += moved * (images if tensor.batch == 1 else 1)  # what all images read is brought for each
        elif view.store or (view.pace and not view.window and homes[view.tensor] is Home.SLOW):
            written += moved
    return read, written


def _read_directly(index: ProgramIndex, step: int, homes: Mapping[str, Home]) -> int:
    """Slow bytes an operator that works in slow memory reads: the rows of each operand, once a use."""
    op = index.ops[step]
    height = np.array([index.tensor(op.output).height])
    total = 0
    for operand in op.operands:
        tensor = index.tensor(operand.tensor)
        if tensor.constant is None and homes[operand.tensor] is Home.SLOW:
            first = input_first(operand.rows, np.zeros(1, np.int64), tensor.height)
            rows = max(0, int((input_end(operand.rows, height, tensor.height) - first)[0]))
            total += tensor.bytes_of(rows) * (tensor.batch if tensor.batch > 1 else op.images)
    return total


def _recomputed(macs: int, rows: BandRows, tensor: ProgramTensor) -> int:
    return int(macs * max(0, rows.made_rows - tensor.height) // max(1, tensor.height))

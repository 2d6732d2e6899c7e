"""Windows of a rolling stage that keep their rows elsewhere between bands: pieces for the placement.

Between its last reader in a band and its maker in the next, only a window's kept rows are needed. If they lie at its
start, its other rows are free then. Two such windows still cannot share these, because one's kept rows would lie among
the other's. So kept rows may be *parked*: the last reader moves them to a place of their own, and the maker moves them
back. Windows then share memory as tensors that run whole do, and places for parking take only the kept rows. The price
is a second move of the rows in each band.

The rows that a window holds, and those that are parked, differ from band to band. The rest of an input and the first
part of an output differ too. All four are stairs (`stairs.py`), finer ones here.

Between two steps the step before parks the rows that it read last, and then rows come back for the next maker. For an
instant rows of both are parked. Instants are steps behind the program's last, at which nothing else is taken.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Collection, Iterator, Mapping

import numpy as np

from tigris_pio.compiler.ir.program import ProgramTensor
from tigris_pio.compiler.plan.band.geometry import Rows
from tigris_pio.compiler.plan.band.spatial import Draft, window_name
from tigris_pio.compiler.plan.band.stairs import Grain, eaten_rows, edges_of
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.lifetimes import Lifetime
from tigris_pio.compiler.plan.memory.request import Part, Piece, Request
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.format.enums import Home

#: At the fullest moment little is lost.
FINE = Grain(32, 16)


@dataclasses.dataclass(frozen=True)
class Parking:
    """The memory requests of a stage with its windows parked.

    draft: the draft with the views marked
    windows: the windows, the rows that are parked, and scratch
    homes: the pieces of inputs that end with the stage and of outputs that begin in it
    """

    draft: Draft
    windows: tuple[Request, ...]
    homes: Mapping[str, tuple[Piece, ...]]


def parked_name(segment: Segment, tensor: str) -> str:
    """The arena request of what a window of a stage keeps, while it is parked."""
    return f"kept rows {segment.first} {tensor}"


def find_parking(index: ProgramIndex, draft: Draft, homes: Mapping[str, Home]) -> Parking | None:
    """The parking of a stage in bands, of one image; None for any other."""
    segment = draft.segment
    if draft.bands == 1 or not segment.keep or index.ops[segment.first].images != 1:
        return None
    lives = dict(_parked_lives(index, draft))
    windows = {window_name(segment, view.tensor): view.tensor for view in draft.views if view.window}
    behind = {life.death for life in lives.values()}
    instants = behind & {_step_before(segment, life.birth) for life in lives.values()}
    requests: list[Request] = []
    parked = set()
    for request in draft.requests:
        name = windows.get(request.name)
        if name not in lives:
            requests.append(request)
            continue
        found = _window(index, draft, request, name, lives[name], instants)
        requests += found
        if len(found) > 1:
            parked.add(name)
    views = tuple(dataclasses.replace(view, parked=0) if view.tensor in parked else view for view in draft.views)
    return Parking(dataclasses.replace(draft, views=views), tuple(requests), dict(_homes(index, draft, homes)))


def _parked_lives(index: ProgramIndex, draft: Draft) -> Iterator[tuple[str, Lifetime]]:
    """The windows that may be parked, each with the steps of a band from its maker to its last reader."""
    segment = draft.segment
    for view in draft.views:
        tensor = index.tensor(view.tensor)
        if not view.window or not view.keep or view.load or tensor.folded or tensor.streamed or tensor.sequential:
            continue
        steps = index.uses_within(view.tensor, segment.first, segment.end)
        birth = index.lives[view.tensor].birth
        life = Lifetime(birth, max([birth, *steps]))
        rows = draft.rows[view.tensor]
        if (rows.made > rows.first)[1:].any() and life != Lifetime(segment.first, segment.end - 1):
            yield view.tensor, life


def _step_before(segment: Segment, step: int) -> int:
    """The step before: of the same band, or for the first step, of the band before."""
    return step - 1 if step > segment.first else segment.end - 1


def _window(
    index: ProgramIndex, draft: Draft, request: Request, name: str, life: Lifetime, instants: Collection[int]
) -> list[Request]:
    """A window, and what it keeps where that is parked. `instants`: steps behind which the parked rows of several meet.
    """
    segment, tensor, rows = draft.segment, index.tensor(name), draft.rows[name]
    kept = np.maximum(rows.made - rows.first, 0)
    later = np.append(kept[1:], 0)
    # Several that are parked behind one operator must not lie in one another's windows.
    behind = life.death + (0 if _parked_together(index, draft, life.death) else 1)
    size = tensor.bytes_of(rows.kept_rows)
    away = [
        *_stairs(tensor, size, kept, Lifetime(segment.first, life.birth - 1)),
        *_stairs(tensor, size, later, Lifetime(behind, segment.end - 1)),
    ]
    if not away:
        return [request]
    back = _step_before(segment, life.birth)
    for step, still in ((life.death, later), (back, later if life.birth == segment.first else kept)):
        if step in instants:
            instant = len(index.ops) + 2 + step
            away += _stairs(tensor, size, still, Lifetime(instant, instant))
    held = _stairs(tensor, request.bytes, np.maximum(rows.end - rows.first, 0), life)
    stage = Lifetime(segment.first, segment.end - 1)
    place = parked_name(segment, name)
    return [
        Request(request.name, request.bytes, life, (Part(request.name, 0, request.bytes, life, tuple(held)),)),
        # All of the window must fit behind where it is parked: so the runtime need not ask how many rows are.
        Request(place, request.bytes, stage, (Part(place, 0, size, stage, tuple(away)),)),
    ]


def _parked_together(index: ProgramIndex, draft: Draft, step: int) -> bool:
    """Whether an operator is the last reader of several windows that keep rows."""
    segment = draft.segment
    keeping = {view.tensor for view in draft.views if view.window and view.keep}
    read = {operand.tensor for operand in index.ops[step].operands} & keeping
    return sum(index.uses_within(name, segment.first, segment.end)[-1] == step for name in read) > 1


def _homes(
    index: ProgramIndex, draft: Draft, homes: Mapping[str, Home]
) -> Iterator[tuple[str, tuple[Piece, ...]]]:
    """Pieces of inputs until their last reader, and of outputs from their maker on."""
    segment = draft.segment
    stage = Lifetime(segment.first, segment.end - 1)
    made = {op.output for op in index.ops[segment.first : segment.end]}
    for view in draft.views:
        tensor = index.tensor(view.tensor)
        if (view.window or tensor.constant is not None or tensor.batch != 1 or tensor.folded
                or homes.get(view.tensor) is not Home.FAST or view.tensor not in index.lives):  # fmt: skip
            continue
        rows = draft.rows[view.tensor]
        if view.tensor in made:
            yield view.tensor, tuple(_stairs(tensor, tensor.bytes, rows.end, stage))
        elif not index.outlives(view.tensor, segment.end):
            yield view.tensor, eaten_rows(tensor, rows.first, stage, FINE)


def _stairs(tensor: ProgramTensor, size: int, held: Rows, life: Lifetime) -> list[Piece]:
    """The first `size` bytes of a tensor during `life`, each from the first band to the last of which `held` has it."""
    if life.death < life.birth or not size:
        return []
    pieces = []
    rows = -(-size // tensor.row_bytes)
    for start, end in itertools.pairwise((0, *edges_of(rows, tensor.row_bytes, size, FINE), size)):
        bands = np.nonzero(held * tensor.row_bytes > start)[0]
        if len(bands):
            pieces.append(Piece(start, end - start, life, Lifetime(int(bands[0]), int(bands[-1]))))
    return pieces

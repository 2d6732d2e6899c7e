"""When the rows of a rolling stage's windows and inputs are taken, band by band: pieces for the placement.

A window that grows takes its upper rows only from the band that first fills them to the last that does. An input that
ends with its stage takes each row until the last band that reads it. Both are stairs. The windows of the last operators
can lie over rows of the input that were already read.

Stairs make the search for placements slower, so they are used only if a stage without them does not fit.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tigris_pio.compiler.ir.program import ProgramTensor
from tigris_pio.compiler.plan.band.geometry import BandRows, Rows, stage_rows
from tigris_pio.compiler.plan.band.spatial import COARSE, Draft, window_name
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.lifetimes import Lifetime
from tigris_pio.compiler.plan.memory.request import Part, Piece, Request
from tigris_pio.format.enums import Home


class Grain(NamedTuple):
    """Most steps of one tensor's stairs, and what they are multiples of, in bytes."""

    stairs: int
    bytes: int


#: Whatever the arena's alignment.
STEPS = Grain(8, COARSE)


@dataclasses.dataclass(frozen=True)
class Stairs:
    """The windows of a stage, and inputs at home that end with it, in pieces."""

    windows: tuple[Request, ...]
    homes: Mapping[str, tuple[Piece, ...]]  #: of the inputs


def find_stairs(index: ProgramIndex, draft: Draft, homes: Mapping[str, Home]) -> Stairs | None:
    """The stairs of a stage in bands, of one image; None for any other."""
    segment = draft.segment
    ops = index.ops[segment.first : segment.end]
    if draft.bands == 1 or ops[0].images != 1:
        return None
    paces = {view.tensor: view.pace for view in draft.views if view.pace is not None}
    at_home = frozenset(view.tensor for view in draft.views if not view.window)
    rows = stage_rows(ops, index.program.tensors, paces, draft.bands, segment.keep, at_home)
    row_of = {window_name(segment, view.tensor): view.tensor for view in draft.views if view.window}
    windows = tuple(
        _window(index, request, rows[row_of[request.name]], row_of[request.name]) if request.name in row_of else request
        for request in draft.requests
    )
    inputs = [view.tensor for view in draft.views if not view.window and view.pace is None]
    life = Lifetime(segment.first, segment.end - 1)
    eaten = {
        name: eaten_rows(index.tensor(name), rows[name].first, life, STEPS)
        for name in inputs
        if homes.get(name) is Home.FAST and _ends_with(index, draft, name)
    }
    return Stairs(windows, {name: pieces for name, pieces in eaten.items() if pieces})  # some are not read at all


def _ends_with(index: ProgramIndex, draft: Draft, name: str) -> bool:
    tensor, segment = index.tensor(name), draft.segment
    made = any(op.output == name for op in index.ops[segment.first : segment.end])
    return (tensor.constant is None and tensor.batch == 1 and not tensor.folded and not made
            and name in index.lives and not index.outlives(name, segment.end))


def _window(index: ProgramIndex, request: Request, rows: BandRows, name: str) -> Request:
    """Each piece of a window, only in the bands that hold as many rows."""
    tensor = index.tensor(name)
    if tensor.folded or tensor.streamed:
        return request
    held = np.maximum(rows.end - rows.first, 0)
    edges = edges_of(int(held.max()), tensor.row_bytes, request.bytes, STEPS)
    pieces = []
    for piece in request.taken:
        ends = [edge for edge in edges if piece.offset < edge < piece.offset + piece.bytes]
        for start, end in itertools.pairwise((piece.offset, *ends, piece.offset + piece.bytes)):
            bands = np.nonzero(held > start // tensor.row_bytes)[0]
            if len(bands):
                taken = Lifetime(int(bands[0]), int(bands[-1]))
                pieces.append(Piece(start, end - start, piece.life, taken))
    return Request(request.name, request.bytes, request.life,
                   (Part(request.name, 0, request.bytes, request.life, tuple(pieces)),))


def eaten_rows(tensor: ProgramTensor, first: Rows, life: Lifetime, grain: Grain) -> tuple[Piece, ...]:
    """Rows of an input at its home, each until the last band that reads it or one above it; `first`: of each band the
    first row that it reads."""
    size, row_bytes = tensor.bytes, tensor.row_bytes
    needed = np.minimum.accumulate(first[::-1])[::-1]
    pieces = []
    for start, end in itertools.pairwise((0, *edges_of(-(-size // row_bytes), row_bytes, size, grain), size)):
        bands = np.nonzero(needed * row_bytes < end)[0]
        if len(bands):
            pieces.append(Piece(start, end - start, life, Lifetime(0, int(bands[-1]))))
    return tuple(pieces)


def edges_of(rows: int, row_bytes: int, size: int, grain: Grain) -> Sequence[int]:
    """Where the steps of `rows` rows begin, in bytes below `size`."""
    stairs = min(rows, grain.stairs)
    edges = {-(-(rows * stair // stairs) * row_bytes // grain.bytes) * grain.bytes for stair in range(1, stairs)}
    return sorted(edge for edge in edges if 0 < edge < size)

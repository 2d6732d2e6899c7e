"""When the rows of a rolling stage's windows and inputs are taken, band by band: pieces for the placement.

A window that holds more and more rows takes its upper ones only from the band that first fills them to the last that
does; an input that ends with its stage takes each row until the last band that reads it. Both are stairs, and what
one leaves free another may take: the windows of the last operators lie over rows of the input that the first ones have
eaten.

Stairs cost time where placements are searched for, so they are asked for only where one without them does not fit.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from tigris_pio.compiler.plan.band.geometry import BandRows, Rows, stage_rows
from tigris_pio.compiler.plan.band.spatial import COARSE, Draft, window_name
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.lifetimes import Lifetime
from tigris_pio.compiler.plan.memory.request import Part, Piece, Request
from tigris_pio.format.enums import Home

#: Most steps of one tensor's stairs.
MOST_STAIRS = 8


@dataclasses.dataclass(frozen=True)
class Stairs:
    """The windows of a stage, and inputs at home that end with it, in pieces."""

    windows: tuple[Request, ...]
    homes: Mapping[str, tuple[Piece, ...]]  #: of the inputs


def find_stairs(index: ProgramIndex, draft: Draft, homes: Mapping[str, Home]) -> Stairs | None:
    """Those of a stage in bands, of one image; None for any other."""
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
        name: _eaten(index.tensor(name).bytes, index.tensor(name).row_bytes, rows[name].first, life)
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
    edges = _edges(int(held.max()), tensor.row_bytes, request.bytes)
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


def _eaten(size: int, row_bytes: int, first: Rows, life: Lifetime) -> tuple[Piece, ...]:
    """Rows of an input at its home, each until the last band that reads it or one above it."""
    needed = np.minimum.accumulate(first[::-1])[::-1]
    pieces = []
    for start, end in itertools.pairwise((0, *_edges(-(-size // row_bytes), row_bytes, size), size)):
        bands = np.nonzero(needed * row_bytes < end)[0]
        if len(bands):
            pieces.append(Piece(start, end - start, life, Lifetime(0, int(bands[-1]))))
    return tuple(pieces)


def _edges(rows: int, row_bytes: int, size: int) -> Sequence[int]:
    """Where the steps of `rows` rows begin: multiples of COARSE below `size`, whatever the arena's alignment."""
    stairs = min(rows, MOST_STAIRS)
    edges = {-(-(rows * stair // stairs) * row_bytes // COARSE) * COARSE for stair in range(1, stairs)}
    return sorted(edge for edge in edges if 0 < edge < size)

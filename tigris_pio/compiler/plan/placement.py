"""From drafted stages to offsets in both arenas."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from tigris_pio.compiler.plan.band.parking import Parking
from tigris_pio.compiler.plan.band.spatial import Draft, window_name
from tigris_pio.compiler.plan.band.stairs import Stairs
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.lifetimes import Lifetime
from tigris_pio.compiler.plan.memory.request import Part, Piece, Placement, Request
from tigris_pio.compiler.plan.memory.sharing import Block, Kind, Link, links_of, share
from tigris_pio.compiler.plan.residency import home_lifetimes
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.format.enums import Home
from tigris_pio.format.records import VIEW_STATE_BYTES
from tigris_pio.sizes import round_up


@dataclasses.dataclass(frozen=True)
class Arrangement:
    """Drafted stages with homes, and offsets counted from the end of the run-time state."""

    drafts: tuple[Draft, ...]
    homes: Mapping[str, Home]
    requests: tuple[Request, ...]  #: of the fast arena
    fast: Placement
    slow: Placement
    state_bytes: int  #: aligned; the fast arena's first bytes

    @property
    def fast_bytes(self) -> int:
        """Bytes of fast arena, state included."""
        return self.state_bytes + self.fast.peak


def home_request(tensor: str) -> str:
    """The arena request of a tensor that outlives a stage."""
    return f"home {tensor}"


def state_bytes(index: ProgramIndex, segments: Sequence[Segment], alignment: int) -> int:
    """Bytes of run-time state of stages of `segments`: the executor keeps the views of one at a time."""
    return round_up(VIEW_STATE_BYTES * max(view_count(index, segment) for segment in segments), alignment)


def view_count(index: ProgramIndex, segment: Segment) -> int:
    """How many tensors a segment's stage touches, constants included."""
    return len(index.inputs(segment.first, segment.end)) + segment.end - segment.first


def fast_requests(
    index: ProgramIndex,
    drafts: Sequence[Draft],
    homes: Mapping[str, Home],
    alignment: int,
    stairs: Sequence[Stairs | Parking] = (),
) -> tuple[Request, ...]:
    """The stages' requests of the fast arena. `stairs` has the pieces of windows, and of inputs that end with their
    stage."""
    alone, blocks = _apart(index, drafts, homes, stairs)
    shared = share(blocks, _links(index, drafts, homes, blocks, stairs, alignment), alignment)
    together = {part.name for request in shared for part in request.parts}
    return (*(request for name, request in alone.items() if name not in together), *shared)


def _apart(
    index: ProgramIndex, drafts: Sequence[Draft], homes: Mapping[str, Home], stairs: Sequence[Stairs | Parking]
) -> tuple[Mapping[str, Request], Mapping[str, Block]]:
    """The stages' requests without sharing, and the blocks that may share memory."""
    segments = [draft.segment for draft in drafts]
    lives = home_lifetimes(index, segments, [name for name, home in homes.items() if home is Home.FAST])
    alone = {home_request(n): Request(home_request(n), index.tensor(n).bytes, life) for n, life in lives.items()}
    windows = {request.name: request for draft in drafts for request in draft.requests}
    windows |= {request.name: request for found in stairs for request in found.windows}
    taken: dict[str, list[Piece]] = {}
    for found in stairs:
        for name, pieces in found.homes.items():
            taken.setdefault(home_request(name), []).extend(pieces)
    alone = {**windows, **alone}
    alone |= {name: _in_pieces(alone[name], pieces) for name, pieces in taken.items()}
    blocks = {
        name: Block(request.bytes, request.life, request.taken if request.parts else ())
        for name, request in alone.items()
        if not request.parts or name in taken
    }
    return alone, blocks


def _links(
    index: ProgramIndex,
    drafts: Sequence[Draft],
    homes: Mapping[str, Home],
    blocks: Mapping[str, Block],
    stairs: Sequence[Stairs | Parking],
    alignment: int,
) -> Iterator[Link]:
    """The pairs that may share memory."""
    parked = {found.draft.segment for found in stairs if isinstance(found, Parking)}  # pieces say more than a link
    for overlay in (overlay for draft in drafts if draft.segment not in parked for overlay in draft.overlays):
        lead = -round_up(overlay.lead, alignment)
        yield Link(Kind.GROWS, home_request(overlay.eaten), home_request(overlay.grown), lead)
    for draft in drafts:
        yield from _links_in_place(index, draft, homes, blocks)


def _in_pieces(home: Request, pieces: Sequence[Piece]) -> Request:
    """A home that is whole but during the stages of `pieces`."""
    stages = sorted({(piece.life.birth, piece.life.death) for piece in pieces})
    whole, step = [], home.life.birth
    for first, last in stages:
        if step < first:
            whole.append(Piece(0, home.bytes, Lifetime(step, first - 1)))
        step = last + 1
    if step <= home.life.death:
        whole.append(Piece(0, home.bytes, Lifetime(step, home.life.death)))
    return Request(home.name, home.bytes, home.life, (Part(home.name, 0, home.bytes, home.life, (*whole, *pieces)),))


def _links_in_place(
    index: ProgramIndex, draft: Draft, homes: Mapping[str, Home], blocks: Mapping[str, Block]
) -> Iterator[Link]:
    """The pairs that the operators of a stage that runs whole may share."""
    segment = draft.segment
    if draft.bands > 1 or segment.direct:
        return
    # Where images run one by one, a home has them all and a window one: the two do not lie alike.
    windows = any(view.window for view in draft.views)
    together = index.ops[segment.first].images == 1 or (segment.end - segment.first == 1 and not windows)
    lies_in = {}
    for view in draft.views:
        # A window of fewer rows begins with the first that is needed, not with row 0.
        if view.window and view.capacity_rows == index.tensor(view.tensor).height:
            lies_in[view.tensor] = window_name(segment, view.tensor)
        elif not view.window and homes.get(view.tensor) is Home.FAST and together:
            lies_in[view.tensor] = home_request(view.tensor)
    lies_in = {tensor: name for tensor, name in lies_in.items() if name in blocks}
    sizes = {name: blocks[name].bytes for name in lies_in.values()}
    for op in index.ops[segment.first : segment.end]:
        yield from links_of(op, lies_in, sizes)


def slow_requests(
    index: ProgramIndex, drafts: Sequence[Draft], homes: Mapping[str, Home]
) -> tuple[Request, ...]:
    """A slow home is taken from the first step of the stage that writes it to the last of its last reader."""
    stage_of = {step: d.segment for d in drafts for step in range(d.segment.first, d.segment.end)}
    requests = []
    for name, home in homes.items():
        if home is Home.SLOW:
            life = index.lives[name]
            birth = stage_of[life.birth].first if life.birth in stage_of else life.birth
            death = stage_of[life.death].end - 1 if life.death in stage_of else life.death
            requests.append(Request(home_request(name), index.tensor(name).bytes, Lifetime(birth, death)))
    return tuple(requests)

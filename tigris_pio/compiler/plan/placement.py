"""From segments to an arrangement: drafts, homes and offsets in both arenas."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from tigris_pio.compiler.plan.aim import Aim, Windows
from tigris_pio.compiler.plan.band.parking import Parking, find_parking
from tigris_pio.compiler.plan.band.spatial import Draft, window_name
from tigris_pio.compiler.plan.band.stairs import Stairs, find_stairs
from tigris_pio.compiler.plan.heights import cheapest_band
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.lifetimes import Lifetime
from tigris_pio.compiler.plan.memory.allocate import Allocation, allocate
from tigris_pio.compiler.plan.memory.request import Part, Piece, Placement, Request, lower_bound
from tigris_pio.compiler.plan.memory.sharing import Block, Kind, Link, links_of, share
from tigris_pio.compiler.plan.residency import crossing_tensors, home_lifetimes
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.compiler.plan.timeline import sweep
from tigris_pio.format.enums import Home
from tigris_pio.format.records import VIEW_STATE_BYTES
from tigris_pio.sizes import round_up

#: Programs of more operators are placed without stairs, whose many pieces cost time.
STAIRS_REACH = 300
#: Pairs that may share memory of which every choice is tried; of more, all but one.
FEW_LINKS = 5
#: Heights at which a placement with parked windows is searched for, the nodes of each search, and how many in turn may
#: find nothing before it ends.
PARKED_HEIGHTS, PARKED_NODES, PARKED_MISSES = 12, 5000, 1


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

    def taken(self, step: int) -> int:
        """Bytes of it that are taken while an operator runs, in any band."""
        return self.state_bytes + int(self._taken[step + 1])

    @cached_property
    def _taken(self) -> np.ndarray:
        steps = max((draft.segment.end for draft in self.drafts), default=0)
        pieces = (piece for request in self.requests for piece in request.taken)
        return sweep(((p.life, p.bytes) for p in pieces if p.life.birth <= steps), steps).live  # instants lie beyond


def home_request(tensor: str) -> str:
    """The arena request of a tensor that outlives a stage."""
    return f"home {tensor}"


def arrange(
    index: ProgramIndex,
    segments: Sequence[Segment],
    aim: Aim,
    homes: Mapping[str, Home] | None = None,
    spared: Mapping[Segment, int] | None = None,
) -> Arrangement:
    """Drafts for `segments`, each banded one with the tallest bands that fit `aim.room`, then homes and offsets.

    `homes`: where what crosses a cut lives; fast memory unless it says otherwise. `spared`: bytes that segments leave
    to others.
    """
    spares = spared or {}
    lives = {name: (homes or {}).get(name, Home.FAST) for name in crossing_tensors(index, segments)}
    state = state_bytes(index, segments, aim.alignment)
    resident = _resident(index, segments, lives, aim.alignment)
    drafts = tuple(
        cheapest_band(index, each, lives, aim.room_of(each.first, each.end) - state - beside - spares.get(each, 0), aim)
        for each, beside in zip(segments, resident, strict=True)
    )
    return placed(index, drafts, lives, aim)


def placed(index: ProgramIndex, drafts: tuple[Draft, ...], lives: Mapping[str, Home], aim: Aim) -> Arrangement:
    """Offsets for drafted stages and what crosses between them."""
    state = state_bytes(index, [draft.segment for draft in drafts], aim.alignment)
    slow = allocate(_slow_requests(index, drafts, lives), aim.alignment)
    requests, fast = _allocate_fast(index, drafts, lives, aim.alignment)
    if state + fast.peak > aim.limit and _may_have_stairs(index, aim):
        found: Sequence[Stairs | Parking | None]
        if aim.windows is Windows.PARKED:
            found = parking = [find_parking(index, draft, lives) for draft in drafts]
            drafts = tuple(each.draft if each else draft for each, draft in zip(parking, drafts, strict=True))
        else:
            found = [find_stairs(index, draft, lives) for draft in drafts]
        stairs = [each for each in found if each is not None]
        requests, fast = _with_stairs(index, drafts, lives, aim, state, stairs) or (requests, fast)
    return Arrangement(drafts, lives, requests, fast, slow, state)


def fitted(index: ProgramIndex, drafts: tuple[Draft, ...], lives: Mapping[str, Home], aim: Aim) -> Arrangement | None:
    """The same where it stays within both limits, be it that fewer pairs share memory; None where it does not."""
    found = placed(index, drafts, lives, aim)
    if found.slow.peak > aim.slow:
        return None
    if found.fast_bytes <= aim.limit:
        return found
    room = aim.limit - found.state_bytes
    for fewer in _less_shared(index, drafts, lives, aim.alignment):
        if fewer.bound <= room:
            fast = fewer.lowest(enough=room)
            if fast.peak <= room:
                return dataclasses.replace(found, requests=tuple(fewer.requests), fast=fast)
    return None


#: A plan's stages, by how many rows their bands have.
_Stages = tuple[tuple[Segment, int], ...]


def _stages(drafts: Sequence[Draft]) -> _Stages:
    return tuple((draft.segment, draft.band_rows) for draft in drafts)


class _LessShared(dict[tuple[_Stages, tuple[tuple[str, Home], ...], int], list[Allocation]]):
    """Of whole plans what is to be placed when fewer pairs share memory, by stages, homes and alignment: searches for
    the smallest budget ask for the same plans again and again."""


def _less_shared(
    index: ProgramIndex, drafts: Sequence[Draft], lives: Mapping[str, Home], alignment: int
) -> list[Allocation]:
    known, key = index.cache(_LessShared), (_stages(drafts), tuple(lives.items()), alignment)
    if key not in known:
        links = list(_links(index, drafts, lives, _apart(index, drafts, lives, ())[1], (), alignment))
        most = len(links) if len(links) <= FEW_LINKS else 1
        sizes = range(1, most + 1)
        chosen = itertools.chain.from_iterable(itertools.combinations(links, size) for size in sizes)
        known[key] = [
            Allocation(
                _fast_requests(index, drafts, lives, alignment, in_place=True, apart=apart), alignment, index.work
            )
            for apart in chosen
        ]
    return known[key]


def _may_have_stairs(index: ProgramIndex, aim: Aim) -> bool:
    return not aim.slow and len(index.ops) <= STAIRS_REACH


def least_bytes(index: ProgramIndex, drafts: Sequence[Draft], lives: Mapping[str, Home], aim: Aim) -> int:
    """Bytes of fast memory that no placement of these stages does without."""
    stairs = [find_stairs(index, draft, lives) for draft in drafts] if _may_have_stairs(index, aim) else []
    kept = [each for each in stairs if each is not None]
    requests = _fast_requests(index, drafts, lives, aim.alignment, in_place=True, stairs=kept)
    state = state_bytes(index, [draft.segment for draft in drafts], aim.alignment)
    return state + lower_bound(requests, aim.alignment)


class _Eaten(dict[tuple[_Stages, int], Allocation]):
    """What is to be placed where rows of inputs that are eaten are free, by the stages and alignment."""


class _Parked(_Eaten):
    """The same with parked windows."""


class _KnownHeights(dict[Hashable, "_Heights"]):
    """The placements that were searched for with parked windows, by what is the same of those that are alike: bands of
    other heights are often taken at the same moments, be these others."""


def _with_stairs(
    index: ProgramIndex,
    drafts: Sequence[Draft],
    homes: Mapping[str, Home],
    aim: Aim,
    state: int,
    stairs: Sequence[Stairs | Parking],
) -> tuple[tuple[Request, ...], Placement] | None:
    """Offsets that fit, where rows of inputs that are eaten and rows that windows do not hold yet are free for others;
    None when there are none."""
    if not stairs:
        return None
    parked, key = aim.windows is Windows.PARKED, (_stages(drafts), aim.alignment)
    eaten = index.cache(_Parked if parked else _Eaten)
    if key not in eaten:
        requests = _fast_requests(index, drafts, homes, aim.alignment, in_place=True, stairs=stairs)
        eaten[key] = Allocation(requests, aim.alignment, index.work)
    room, allocation = aim.limit - state, eaten[key]
    if allocation.bound > room:
        return None
    fast = _heights(index, allocation).lowest(room) if parked else allocation.lowest(enough=room)
    return (tuple(allocation.requests), fast) if fast.peak <= room else None


def _heights(index: ProgramIndex, allocation: Allocation) -> _Heights:
    known, key = index.cache(_KnownHeights), allocation.alike
    if key not in known:
        known[key] = _Heights(allocation)
    return known[key]


class _Heights:
    """Searches for placements of the same requests at heights between the lowest found at once and their bound, the
    highest first: one finds more when it is told what is enough. Where several in turn find nothing, lower ones would
    not either."""

    def __init__(self, allocation: Allocation) -> None:
        self._allocation = allocation
        self._best = first = allocation.lowest()
        span = first.peak - first.lower_bound
        self._enough = [first.lower_bound + span * height // PARKED_HEIGHTS for height in range(PARKED_HEIGHTS)]
        self._missed = 0

    def lowest(self, room: int) -> Placement:
        """The first found that fits `room`, or the lowest. What is asked for does not depend on the room, so more fits
        what less does."""
        while self._best.peak > room and self._enough and self._missed < PARKED_MISSES:
            enough = self._enough.pop()
            if self._best.peak > enough:
                found = self._allocation.lowest(PARKED_NODES, enough)
                self._missed = 0 if found.peak <= enough else self._missed + 1
                self._best = min(self._best, found, key=lambda placement: placement.peak)
        return self._best


def _allocate_fast(
    index: ProgramIndex, drafts: Sequence[Draft], homes: Mapping[str, Home], alignment: int
) -> tuple[tuple[Request, ...], Placement]:
    """Offsets in the fast arena. What shares memory cannot be moved alone, so sharing may cost more than it saves."""
    requests = _fast_requests(index, drafts, homes, alignment, in_place=True)
    fast = _placed(index, requests, alignment)
    apart = _fast_requests(index, drafts, homes, alignment, in_place=False) if fast.peak > fast.lower_bound else ()
    if len(apart) > len(requests) and lower_bound(apart, alignment) < fast.peak:
        other = _placed(index, apart, alignment)
        if other.peak < fast.peak:
            return apart, other
    return requests, fast


class _Placed(dict[tuple[tuple[Request, ...], int], Placement]):
    """Placements by requests and alignment: attempts and budgets often ask for the same."""


def _placed(index: ProgramIndex, requests: tuple[Request, ...], alignment: int) -> Placement:
    known = index.cache(_Placed)
    if (requests, alignment) not in known:
        known[requests, alignment] = Allocation(requests, alignment, index.work).lowest()
    return known[requests, alignment]


def state_bytes(index: ProgramIndex, segments: Sequence[Segment], alignment: int) -> int:
    """Bytes of run-time state of stages of `segments`: the executor keeps the views of one at a time."""
    return round_up(VIEW_STATE_BYTES * max(view_count(index, segment) for segment in segments), alignment)


def view_count(index: ProgramIndex, segment: Segment) -> int:
    """How many tensors a segment's stage touches, constants included."""
    return len(index.inputs(segment.first, segment.end)) + segment.end - segment.first


def _resident(
    index: ProgramIndex, segments: Sequence[Segment], homes: Mapping[str, Home], alignment: int
) -> list[int]:
    """Bytes of the tensors in fast memory that live at some step of each segment."""
    born = np.zeros(len(index.ops) + 3, dtype=np.int64)  # entry 0 is step -1
    died = born.copy()
    for name, home in homes.items():
        if home is Home.FAST:
            size = round_up(index.tensor(name).bytes, alignment)
            born[index.lives[name].birth + 1] += size
            died[index.lives[name].death + 1] += size
    born, died = np.cumsum(born), np.cumsum(died)
    return [int(born[segment.end] - died[segment.first]) for segment in segments]


def _fast_requests(
    index: ProgramIndex,
    drafts: Sequence[Draft],
    homes: Mapping[str, Home],
    alignment: int,
    in_place: bool,
    stairs: Sequence[Stairs | Parking] = (),
    apart: Collection[Link] = (),
) -> tuple[Request, ...]:
    """What the stages ask the fast arena for. `in_place`: operators that run whole share memory with their operands.
    `stairs`: of windows and of what is eaten. `apart`: pairs that do not share."""
    alone, blocks = _apart(index, drafts, homes, stairs)
    links = [link for link in _links(index, drafts, homes, blocks, stairs, alignment)
             if in_place or link.kind is Kind.GROWS]
    shared = share(blocks, [link for link in links if link not in apart], alignment)
    together = {part.name for request in shared for part in request.parts}
    return (*(request for name, request in alone.items() if name not in together), *shared)


def _apart(
    index: ProgramIndex, drafts: Sequence[Draft], homes: Mapping[str, Home], stairs: Sequence[Stairs | Parking]
) -> tuple[Mapping[str, Request], Mapping[str, Block]]:
    """What the stages ask for when nothing shares memory, and what of it may."""
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
    """What the operators of a stage that runs whole may share."""
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


def _slow_requests(
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

"""Whether stages with chosen homes fit a budget, by exact placement: what they ask of both arenas, and offsets."""

import itertools
from collections.abc import Iterator, Mapping, Sequence

from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.plan.band.spatial import Draft, window_name
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.lifetimes import Lifetime
from tigris_pio.compiler.plan.memory.allocate import allocate
from tigris_pio.compiler.plan.memory.request import Request, lower_bound
from tigris_pio.compiler.plan.memory.sharing import Block, Kind, Link, links_of, share
from tigris_pio.compiler.plan.placement import Arrangement, home_request
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.format.enums import Home
from tigris_pio.format.records import VIEW_STATE_BYTES
from tigris_pio.sizes import round_up

#: Nodes of the exact search, and pairs that may share memory of which every choice is tried.
NODES, CHOICES = 20_000, 5


def state_bytes(views: int, alignment: int) -> int:
    """Run-time state of a plan whose stages have at most so many views."""
    return round_up(VIEW_STATE_BYTES * views, alignment)


def fitting(
    index: ProgramIndex, drafts: Sequence[Draft], homes: Mapping[str, Home], budget: Budget, alignment: int
) -> Arrangement | None:
    """The arrangement of these stages within `budget`; None when none was found."""
    state = state_bytes(max(len(draft.views) for draft in drafts), alignment)
    assert budget.fast is not None
    slow = allocate(_slow_requests(index, drafts, homes), alignment, NODES, budget.slow)
    if slow.peak > budget.slow:
        return None
    for requests in _choices(index, drafts, homes, alignment):
        tallest = max((request.bytes for request in requests), default=0)
        if tallest <= budget.fast - state and lower_bound(requests, alignment) - alignment < budget.fast - state:
            fast = allocate(requests, alignment, NODES, budget.fast - state)
            if fast.peak <= budget.fast - state:
                return Arrangement(tuple(drafts), homes, requests, fast, slow, state)
    return None


def _choices(
    index: ProgramIndex, drafts: Sequence[Draft], homes: Mapping[str, Home], alignment: int
) -> Iterator[tuple[Request, ...]]:
    """What is asked of the fast arena, for every choice of the pairs that share memory; where those are many, for all
    and none of each kind."""
    lives = _home_lives(index, drafts, homes)
    alone = [request for draft in drafts for request in draft.requests]
    alone += [Request(home_request(name), index.tensor(name).bytes, life) for name, life in lives.items()]
    blocks = {request.name: Block(request.bytes, request.life) for request in alone if not request.parts}
    grows = [
        Link(Kind.GROWS, home_request(overlay.eaten), home_request(overlay.grown), -round_up(overlay.lead, alignment))
        for draft in drafts
        for overlay in draft.overlays
    ]
    in_place = [link for draft in drafts for link in _in_place(index, draft, homes, blocks)]
    links = [*grows, *in_place]
    every: Iterator[Sequence[Link]] = iter((links, grows, in_place, ()))
    if len(links) <= CHOICES:
        sizes = range(len(links), -1, -1)
        every = itertools.chain.from_iterable(itertools.combinations(links, size) for size in sizes)
    seen = set()
    for chosen in every:
        shared = share(blocks, chosen, alignment)
        together = {part.name for request in shared for part in request.parts}
        requests = (*(request for request in alone if request.name not in together), *shared)
        if requests not in seen:
            seen.add(requests)
            yield requests


def _in_place(
    index: ProgramIndex, draft: Draft, homes: Mapping[str, Home], blocks: Mapping[str, Block]
) -> Iterator[Link]:
    """What the operators of a stage that runs whole may share. Where images run one by one a home has all of them and
    a window one, which do not lie alike."""
    segment = draft.segment
    if draft.bands > 1 or segment.direct:
        return
    one_image = index.ops[segment.first].images == 1
    alike = one_image or (segment.end - segment.first == 1 and not any(view.window for view in draft.views))
    lies_in = {}
    for view in draft.views:
        if view.window and view.capacity_rows == index.tensor(view.tensor).height:
            lies_in[view.tensor] = window_name(segment, view.tensor)
        elif not view.window and homes.get(view.tensor) is Home.FAST and alike:
            lies_in[view.tensor] = home_request(view.tensor)
    lies_in = {tensor: name for tensor, name in lies_in.items() if name in blocks}
    sizes = {name: blocks[name].bytes for name in lies_in.values()}
    for op in index.ops[segment.first : segment.end]:
        yield from links_of(op, lies_in, sizes)


def _home_lives(index: ProgramIndex, drafts: Sequence[Draft], homes: Mapping[str, Home]) -> dict[str, Lifetime]:
    """Of the homes in the fast arena: in a stage of bands or images they are taken throughout."""
    again = [d.segment for d in drafts if d.segment.banded or index.ops[d.segment.first].images > 1]
    stage_of = {step: segment for segment in again for step in range(segment.first, segment.end)}
    return {name: _widened(index.lives[name], stage_of) for name, home in homes.items() if home is Home.FAST}


def _slow_requests(index: ProgramIndex, drafts: Sequence[Draft], homes: Mapping[str, Home]) -> tuple[Request, ...]:
    """Homes in slow memory are taken throughout every stage that writes or reads them."""
    stage_of = {step: d.segment for d in drafts for step in range(d.segment.first, d.segment.end)}
    slow = (name for name, home in homes.items() if home is Home.SLOW)
    return tuple(
        Request(home_request(name), index.tensor(name).bytes, _widened(index.lives[name], stage_of)) for name in slow
    )


def _widened(life: Lifetime, stage_of: Mapping[int, Segment]) -> Lifetime:
    birth, death = stage_of.get(life.birth), stage_of.get(life.death)
    return Lifetime(birth.first if birth else life.birth, death.end - 1 if death else life.death)

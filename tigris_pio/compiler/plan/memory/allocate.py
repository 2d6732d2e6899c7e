"""Runs the strategies, searches further when none reaches the bound, checks every answer and keeps the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tigris_pio.compiler.plan.memory.exact import FIRST_NODES, place_exactly
from tigris_pio.compiler.plan.memory.request import Placement, Request, check, lower_bound
from tigris_pio.compiler.plan.memory.strategies import STRATEGIES
from tigris_pio.sizes import round_up

#: Nodes of the exact search in a placement of the planner, which asks for many: some 20 ms.
NODES = 2000
EXACT = "exact"


def allocate(requests: Sequence[Request], alignment: int, nodes: int = NODES, enough: int = 0) -> Placement:
    """Offsets for all requests with the lowest peak found.

    Stops early at the lower bound. The peak is not rounded up: it is the highest byte used. `nodes`: the budget of
    the exact search, which runs when no strategy reaches the bound and the budget is enough for one try. `enough`: a
    peak at which it stops.
    """
    bound = lower_bound(requests, alignment)
    best: Placement | None = None
    peaks: dict[str, int] = {}
    for name, strategy in STRATEGIES.items():
        offsets = strategy(requests, alignment)
        check(requests, offsets, alignment)
        peak = highest_byte(requests, offsets)
        peaks[name] = peak
        if best is None or peak < best.peak:
            best = Placement(offsets, peak, bound, name)
        if peak <= bound:
            break
    assert best is not None
    if best.peak > max(bound, enough) and nodes >= FIRST_NODES * len(requests):
        answer = place_exactly(requests, alignment, bound, round_up(best.peak, alignment), nodes, enough)
        bound = answer.lower_bound
        if answer.offsets is not None:
            check(requests, answer.offsets, alignment)
            peaks[EXACT] = highest_byte(requests, answer.offsets)
            if peaks[EXACT] < best.peak:
                best = Placement(answer.offsets, peaks[EXACT], bound, EXACT)
    offsets = {part.name: best.offsets[r.name] + part.offset for r in requests for part in r.contents}
    proved = round_up(best.peak, alignment) <= bound
    return Placement({**best.offsets, **offsets}, best.peak, bound, best.strategy, peaks, proved)


def highest_byte(requests: Sequence[Request], offsets: Mapping[str, int]) -> int:
    """The peak of a placement."""
    return max((offsets[request.name] + request.bytes for request in requests), default=0)

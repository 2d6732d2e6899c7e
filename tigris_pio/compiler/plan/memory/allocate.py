"""Runs the strategies, searches further when none reaches the bound, checks every answer and keeps the best."""

from __future__ import annotations

import dataclasses
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

    The peak is not rounded up: it is the highest byte used.

    nodes: the budget of the exact search, which runs if no strategy suffices and the budget is enough for one try
    enough: a peak that suffices; 0: only the lower bound does. If the lower bound exceeds it, the first strategy's
        placement is returned, for nothing suffices.
    """
    bound = lower_bound(requests, alignment)
    hopeless = 0 < enough < bound
    best = _quick(requests, alignment, bound, 1 << 60 if hopeless else enough)
    if best.peak > max(bound, enough) and nodes >= FIRST_NODES * len(requests) and not hopeless:
        answer = place_exactly(requests, alignment, bound, round_up(best.peak, alignment), nodes, enough)
        bound, peaks = answer.lower_bound, dict(best.peaks)
        if answer.offsets is not None:
            peaks[EXACT] = highest_byte(requests, answer.offsets)
            if peaks[EXACT] < best.peak:
                best = Placement(answer.offsets, peaks[EXACT], bound, EXACT)
        best = dataclasses.replace(best, peaks=peaks)
    check(requests, best.offsets, alignment)
    offsets = {part.name: best.offsets[r.name] + part.offset for r in requests for part in r.contents}
    proved = round_up(best.peak, alignment) <= bound
    return Placement({**best.offsets, **offsets}, best.peak, bound, best.strategy, best.peaks, proved)


def _quick(requests: Sequence[Request], alignment: int, bound: int, enough: int) -> Placement:
    """The lowest of the strategies', up to the first that reaches the bound or what is enough."""
    best: Placement | None = None
    peaks: dict[str, int] = {}
    for name, strategy in STRATEGIES.items():
        offsets = strategy(requests, alignment)
        peaks[name] = peak = highest_byte(requests, offsets)
        if best is None or peak < best.peak:
            best = Placement(offsets, peak, bound, name)
        if peak <= max(bound, enough):
            break
    assert best is not None
    return dataclasses.replace(best, peaks=peaks)


def highest_byte(requests: Sequence[Request], offsets: Mapping[str, int]) -> int:
    """The peak of a placement."""
    return max((offsets[request.name] + request.bytes for request in requests), default=0)

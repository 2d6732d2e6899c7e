"""Runs the strategies, checks every answer and keeps the best."""

from __future__ import annotations

from collections.abc import Sequence

from tigris_pio.compiler.plan.memory.request import Placement, Request, check, lower_bound
from tigris_pio.compiler.plan.memory.strategies import STRATEGIES


def allocate(requests: Sequence[Request], alignment: int) -> Placement:
    """Offsets for all requests with the lowest peak found.

    Stops early at the lower bound. The peak is not rounded up: it is the highest byte used.
    """
    bound = lower_bound(requests, alignment)
    best: Placement | None = None
    peaks: dict[str, int] = {}
    for name, strategy in STRATEGIES.items():
        offsets = strategy(requests, alignment)
        check(requests, offsets, alignment)
        peak = max((offsets[r.name] + r.bytes for r in requests), default=0)
        peaks[name] = peak
        if best is None or peak < best.peak:
            best = Placement(offsets, peak, bound, name)
        if peak <= bound:
            break
    assert best is not None
    offsets = {part.name: best.offsets[r.name] + part.offset for r in requests for part in r.contents}
    return Placement({**best.offsets, **offsets}, best.peak, bound, best.strategy, peaks)

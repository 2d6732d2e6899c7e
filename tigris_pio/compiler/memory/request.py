"""What an allocator is asked for, what it answers, and the check that no answer escapes."""

from __future__ import annotations

import bisect
import dataclasses
from collections.abc import Mapping, Sequence

from tigris_pio.compiler.lifetimes import Lifetime


@dataclasses.dataclass(frozen=True)
class Request:
    """`bytes` of arena during `life`, on a multiple of the arena's alignment."""

    name: str
    bytes: int
    life: Lifetime


@dataclasses.dataclass(frozen=True)
class Placement:
    """Offsets by request name, the highest byte used and which strategy found it."""

    offsets: Mapping[str, int]
    peak: int
    lower_bound: int
    strategy: str
    peaks: Mapping[str, int] = dataclasses.field(default_factory=dict)  #: of every strategy tried


def round_up(value: int, alignment: int) -> int:
    """The smallest multiple of `alignment` that is not below `value`."""
    return -(-value // alignment) * alignment


def lower_bound(requests: Sequence[Request], alignment: int) -> int:
    """Most aligned bytes live at one step: no placement has a lower peak."""
    events: dict[int, int] = {}
    for request in requests:
        size = round_up(request.bytes, alignment)
        events[request.life.birth] = events.get(request.life.birth, 0) + size
        events[request.life.death + 1] = events.get(request.life.death + 1, 0) - size
    live = peak = 0
    for step in sorted(events):
        live += events[step]
        peak = max(peak, live)
    return peak


def check(requests: Sequence[Request], offsets: Mapping[str, int], alignment: int) -> None:
    """Raises AssertionError when two requests that live together overlap, or one is misaligned.

    A sweep over births and deaths that keeps the live requests sorted by offset, so only
    neighbours need comparing.
    """
    by_name = {request.name: request for request in requests}
    events = [(r.life.birth, 1, r.name) for r in requests] + [(r.life.death + 1, 0, r.name) for r in requests]
    live: list[tuple[int, int, str]] = []
    for _, born, name in sorted(events):
        request = by_name[name]
        if request.bytes == 0:
            continue
        item = (offsets[name], offsets[name] + request.bytes, name)
        place = bisect.bisect_left(live, item)
        if not born:
            del live[place]
            continue
        assert item[0] >= 0 and item[0] % alignment == 0, f"{name} at {item[0]} is misaligned"
        assert place == 0 or live[place - 1][1] <= item[0], f"{name} overlaps {live[place - 1][2]}"
        assert place == len(live) or item[1] <= live[place][0], f"{name} overlaps {live[place][2]}"
        live.insert(place, item)

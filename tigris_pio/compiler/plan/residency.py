"""Which of the tensors that cross a cut stay in fast memory instead of being spilled.

Greedy by traffic saved per byte and step held, against the live bytes of the drafted stages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from tigris_pio.compiler.plan.band.spatial import Draft
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.lifetimes import Lifetime
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.format.enums import Home
from tigris_pio.sizes import round_up


def crossing_tensors(index: ProgramIndex, segments: Sequence[Segment]) -> tuple[str, ...]:
    """Every tensor that outlives a stage: model inputs and outputs, and what one stage makes for another."""
    names = [io.tensor for io in index.program.inputs if not index.tensor(io.tensor).streamed]
    for segment in segments:
        names += index.outputs(segment.first, segment.end)
    return tuple(dict.fromkeys(names))


def home_lifetimes(index: ProgramIndex, segments: Sequence[Segment], names: Iterable[str]) -> dict[str, Lifetime]:
    """From when to when each home in the fast arena is taken: in a stage of several bands or images, for all of its
    steps."""
    again = (segment for segment in segments if segment.banded or index.ops[segment.first].images > 1)
    banded = {step: segment for segment in again for step in range(segment.first, segment.end)}
    lives = {}
    for name in names:
        life = index.lives[name]
        first, last = banded.get(life.birth), banded.get(life.death)
        lives[name] = Lifetime(first.first if first else life.birth, last.end - 1 if last else life.death)
    return lives


def promote(
    index: ProgramIndex, drafts: Sequence[Draft], homes: Mapping[str, Home], room: int, alignment: int
) -> dict[str, Home]:
    """`homes` with as many slow tensors moved to fast memory as the live bytes of all stages allow."""
    steps = len(index.ops)
    segments = [draft.segment for draft in drafts]
    live = np.zeros(steps + 2, dtype=np.int64)  # entry 0 is step -1
    for draft in drafts:
        for request in draft.requests:
            live[request.life.birth + 1 : request.life.death + 2] += round_up(request.bytes, alignment)
    chosen = dict(homes)
    slow = sorted((name for name, home in homes.items() if home is Home.SLOW), key=lambda name: _worth(index, name))
    lives = home_lifetimes(index, segments, slow)
    for name in slow:
        life = lives[name]
        span = slice(life.birth + 1, life.death + 2)
        size = round_up(index.tensor(name).bytes, alignment)
        if int(live[span].max()) + size <= room:
            live[span] += size
            chosen[name] = Home.FAST
    return chosen


def _worth(index: ProgramIndex, name: str) -> tuple[float, str]:
    """Sort key: tensors whose residence saves most per byte held come first."""
    life = index.lives[name]
    return (life.death - life.birth) / max(1, len(index.uses[name])), name

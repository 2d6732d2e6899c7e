"""The tensors that cross the cuts of a plan, and the steps at which their homes in fast memory are taken."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.lifetimes import Lifetime
from tigris_pio.compiler.plan.segment import Segment


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

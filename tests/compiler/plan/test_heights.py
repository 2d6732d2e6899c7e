"""Bands are as tall as is cheapest, not as fits: by looking at every height there is."""

from __future__ import annotations

import math

import pytest

from tests.compiler.plan.oracle.networks import random_network
from tests.compiler.plan.oracle.ways import repeats, rolls
from tests.compiler.synthetic import random_program
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.plan.aim import Aim
from tigris_pio.compiler.plan.band.paces import tallest_height
from tigris_pio.compiler.plan.band.spatial import draft_stage
from tigris_pio.compiler.plan.cost import stage_cost
from tigris_pio.compiler.plan.heights import cheapest_band
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.format.enums import Home

PROGRAMS = [random_network(seed, 5) for seed in range(12)] + [random_program(seed, 4) for seed in range(12)]


def _segments(index: ProgramIndex) -> list[Segment]:
    found = []
    for first in range(len(index.ops)):
        for end in range(first + 1, len(index.ops) + 1):
            if all(index.bandable[first:end]):
                found += [Segment(first, end, True, True)] if rolls(index, first, end) else []
                found += [Segment(first, end, True, False)] if repeats(index, first, end) else []
    return found


def _homes(index: ProgramIndex, segment: Segment, slow: bool) -> dict[str, Home]:
    names = (*index.inputs(segment.first, segment.end), *index.outputs(segment.first, segment.end))
    return dict.fromkeys(names, Home.SLOW if slow else Home.FAST)


@pytest.mark.parametrize("slow", [False, True], ids=["in fast memory", "in slow memory"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: f"{len(program.ops)} operators")
def test_the_cheapest_height_of_those_that_fit_is_taken(program: Program, slow: bool) -> None:
    """Outputs do not grow over inputs here, so what a height needs is its draft's windows."""
    index = ProgramIndex.of(program)
    seen = 0
    for segment in _segments(index):
        homes = _homes(index, segment, slow)
        drafts = [draft_stage(index, segment, rows, homes) for rows in range(1, tallest_height(index, segment) + 1)]
        if any(draft.overlays for draft in drafts):
            continue
        needs = sorted({draft.need(index, 4) for draft in drafts})
        before = math.inf
        for room in needs:
            aim = Aim(room, 1 << 20, 4, room=room)
            cost = stage_cost(index, cheapest_band(index, segment, homes, room, aim))
            fitting = min(stage_cost(index, draft) for draft in drafts if draft.need(index, 4) <= room)
            assert cost == pytest.approx(fitting), f"{segment} in {room} bytes"
            assert cost <= before, "more room made it dearer"
            before, seen = cost, seen + 1
    assert seen or not slow

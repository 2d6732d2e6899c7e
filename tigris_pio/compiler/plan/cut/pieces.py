"""Operators that run whole one after the other, put together to stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.placement import view_count
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.format.enums import Home

#: Operators a stage run whole may have, so that the run-time state stays near 1 KB.
OPS_PER_STAGE = 64


def joined(
    index: ProgramIndex, segments: Sequence[Segment], homes: Mapping[str, Home], most_views: int
) -> list[Segment]:
    """`segments` with neighbours joined that run whole, not image by image, and touch nothing in slow memory: a cut
    between them does nothing. A stage gets at most OPS_PER_STAGE operators and `most_views` tensors, which run-time
    state is for."""
    found: list[Segment] = []
    before = False
    for segment in segments:
        now = index.ops[segment.first].images == 1 and _plain(index, segment, homes)
        longer = Segment(found[-1].first, segment.end) if before and now else segment
        if before and now and longer.end - longer.first <= OPS_PER_STAGE and view_count(index, longer) <= most_views:
            found[-1] = longer
        else:
            found.append(segment)
        before = now
    return found


def _plain(index: ProgramIndex, segment: Segment, homes: Mapping[str, Home]) -> bool:
    if segment.banded or segment.direct:
        return False
    touched = (*index.inputs(segment.first, segment.end), *index.outputs(segment.first, segment.end))
    return all(homes.get(name, Home.FAST) is Home.FAST for name in touched)

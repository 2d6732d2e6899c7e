"""Which height the bands of a segment get: the cheapest of those that fit."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Hashable, Iterator, Mapping

from tigris_pio.compiler.instructions.predict import executor_instructions
from tigris_pio.compiler.plan.aim import Aim
from tigris_pio.compiler.plan.alike import Alike
from tigris_pio.compiler.plan.band.paces import tallest_height
from tigris_pio.compiler.plan.band.spatial import Draft, draft_stage, tallest_band
from tigris_pio.compiler.plan.cost import SLOW_BYTE, op_costs, stage_cost
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.format.enums import Home

#: Of what starting bands takes this share is sure: not every band calls every operator.
SURE = 0.5


#: All heights up to this are looked at; above, those up to half as tall again as the tallest that bisection found.
LOW = 32
#: Heights at which bands may leave out rows that nobody reads.
LOWEST = 4


class _Costs(dict[tuple[Segment, int, tuple[Home | None, ...]], float]):
    """What drafted stages cost, by segment, rows of a band and the homes of what the segment reads and leaves."""


class _Chosen(dict[Hashable, tuple[int, bool]]):
    """Rows of a band, and whether outputs grow over inputs, by what is the same of segments that are alike and how they
    are drafted."""


def cheapest_band(index: ProgramIndex, segment: Segment, homes: Mapping[str, Home], room: int, aim: Aim) -> Draft:
    """The cheapest draft whose windows can fit `room` bytes; one-row bands when none does.

    The tallest bands are the fewest, but not always the cheapest: kernels take some numbers of rows and pixels better
    than others, and in a stage that rolls, bands of another height may end where a tensor ends. Low bands leave out
    what an operator whose stride exceeds its kernel skips, where a window holds all rows from the first to the last
    that a band reads. So every height is looked at while what is sure of it costs less than the best: more room never
    makes a stage cost more. Of segments that are alike one is looked at.
    """
    known, key = index.cache(_Chosen), drafted_alike(index, segment, homes, room, aim)
    if key in known:
        rows, grows = known[key]
        found = draft_stage(index, segment, rows, homes)
        return found if grows or not found.overlays else dataclasses.replace(found, overlays=())
    found = _cheapest(index, segment, homes, room, aim)
    known[key] = found.band_rows, bool(found.overlays)
    return found


def drafted_alike(
    index: ProgramIndex, segment: Segment, homes: Mapping[str, Home], room: int, aim: Aim
) -> Hashable:
    """The same of segments that are alike and are drafted alike."""
    how = room, aim.alignment, aim.windows, aim.frugal, aim.lowest, aim.overlays(segment.first, segment.end)
    return Alike.of(index).segment(segment, homes), how


def _cheapest(index: ProgramIndex, segment: Segment, homes: Mapping[str, Home], room: int, aim: Aim) -> Draft:
    best = tallest_band(index, segment, homes, room, aim)
    if aim.lowest or (best.bands == 1 and not best.slow_read):
        return best
    fits = best.need(index, aim.alignment, aim.windows) <= room
    grows, least = bool(best.overlays), draft_cost(index, best, homes) if fits else math.inf
    for rows in itertools.chain(_taller(index, best), _lower(index, best, least) if fits else ()):
        index.work.charge(2 * len(best.views))
        draft = draft_stage(index, segment, rows, homes)
        if draft.overlays and not grows:
            draft = dataclasses.replace(draft, overlays=())
        cost = draft_cost(index, draft, homes)
        if cost < least and draft.need(index, aim.alignment, aim.windows) <= room:
            best, least = draft, cost
    return best


def _taller(index: ProgramIndex, found: Draft) -> Iterator[int]:
    """Heights above that of `found` which may fit nevertheless: how a stage that rolls begins and ends differs from
    height to height, and what its windows hold at most with it."""
    most = tallest_height(index, found.segment)
    near = min(most, max(LOW, found.band_rows * 3 // 2))
    yield from range(found.band_rows + 1, near + 1)
    if near < most:
        yield most


def _lower(index: ProgramIndex, tallest: Draft, least: float) -> Iterator[int]:
    """Heights below that of `tallest`, the taller first, whose bands alone do not cost more than the least cost less
    what any height takes; and the lowest, which may bring less from slow memory."""
    steps = range(tallest.segment.first, tallest.segment.end)
    costs, views = op_costs(index), len(tallest.views)
    each = executor_instructions({"band": 1, "band view": views, "band operator": len(steps)}, index.processor)
    each += sum(costs.call[step] for step in steps)
    beyond = least - sum(costs.whole[step] for step in steps) - SLOW_BYTE * (tallest.slow_read + tallest.slow_written)
    for rows in range(tallest.band_rows - 1, 0, -1):
        if SURE * each * tallest.bands * tallest.band_rows / rows > beyond:
            if tallest.slow_read:
                yield from range(min(rows, LOWEST), 0, -1)
            return
        yield rows


def draft_cost(index: ProgramIndex, draft: Draft, homes: Mapping[str, Home]) -> float:
    """What a drafted stage costs, with overlays or without; kept."""
    first, end = draft.segment.first, draft.segment.end
    seen = tuple(homes.get(name) for name in (*index.inputs(first, end), *index.outputs(first, end)))
    known, key = index.cache(_Costs), (draft.segment, draft.band_rows, seen)
    if key not in known:
        known[key] = stage_cost(index, draft)
    return known[key]

"""Which height the bands of a segment get: the tallest that fit, or one row where those need not bring rows that no
operator reads."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from tigris_pio.compiler.plan.aim import Aim
from tigris_pio.compiler.plan.band.spatial import Draft, draft_stage, tallest_band
from tigris_pio.compiler.plan.cost import stage_cost
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.format.enums import Home


def cheapest_band(index: ProgramIndex, segment: Segment, homes: Mapping[str, Home], room: int, aim: Aim) -> Draft:
    """The cheaper draft of the tallest bands that fit `room` bytes and of bands of one row.

    A window holds all rows from the first to the last that a band reads. Bands of one row leave out what an operator
    whose stride exceeds its kernel skips.
    """
    tallest = tallest_band(index, segment, homes, room, aim)
    if tallest.bands == 1 or not tallest.slow_read:
        return tallest
    lowest = draft_stage(index, segment, 1, homes)
    if not tallest.overlays and lowest.overlays:
        lowest = dataclasses.replace(lowest, overlays=())
    cheaper = lowest.slow_read < tallest.slow_read and stage_cost(index, lowest) < stage_cost(index, tallest)
    return lowest if cheaper else tallest

"""The points of the frontier that a search arranges: around a limit, with estimates corrected by drafts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tigris_pio.compiler.plan.arrange import Height, Kind, Stages
from tigris_pio.compiler.plan.cost import op_costs
from tigris_pio.compiler.plan.frontier.frontier import Corrections, Frontier, Point, find_frontier
from tigris_pio.compiler.plan.frontier.levels import ample, levels
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.format.enums import Home

#: Levels that are looked at, as shares of the limit. Parked windows take up to so much less than live bytes tell.
LOWEST, HIGHEST = 0.5, 1.3
#: Estimates are corrected so often; a difference of this share of the cost is as good as none.
ROUNDS, CLOSE = 3, 2e-4


def frontier_near(
    stages: Stages, limit: int, slow: int, most: float, views: int | None = None, corrections: Corrections | None = None
) -> Frontier:
    """The frontier at levels around a limit beside `slow` bytes of slow memory, without schedules that cost `most`.

    views: tensors that a stage touches at most
    """
    top = ample(stages.index)
    low, high = (top, top) if limit >= top else (int(LOWEST * limit), int(HIGHEST * limit))
    grid = levels(low, min(top, high), min(limit, top))
    return find_frontier(stages.index.body, slow, stages.alignment, grid, corrections or {}, views, most)


def frontier_corrected(stages: Stages, limit: int, slow: int, most: float) -> Frontier:
    """The same; in a small program with estimates of the cheapest schedule at the limit corrected by drafts."""
    corrections: dict[tuple[Segment, int], dict[int, float]] = {}
    for _ in range(ROUNDS):
        frontier = frontier_near(stages, limit, slow, most, corrections=corrections)
        place = int(np.searchsorted(frontier.levels, limit, "right")) - 1
        if not stages.index.is_small or place < 0 or not np.isfinite(frontier.curve[place]):
            break
        if not _correct(stages, frontier.point(place), corrections):
            break
    return frontier


def by_cost(frontier: Frontier) -> Iterator[Point]:
    """The points of a frontier by rising cost, each at the lowest of its levels."""
    return _points(frontier, np.argsort(frontier.curve, kind="stable"))


def by_level(frontier: Frontier) -> Iterator[Point]:
    """The same points by rising memory."""
    return _points(frontier, np.arange(len(frontier.curve)))


def by_falling_level(frontier: Frontier, limit: int) -> Iterator[Point]:
    """Those at levels up to a limit, by falling memory: the further below, the more room offsets have."""
    return _points(frontier, np.flatnonzero(frontier.levels <= limit)[::-1])


def _points(frontier: Frontier, places: np.ndarray) -> Iterator[Point]:
    curve = frontier.curve
    for place in places.tolist():
        if np.isfinite(curve[place]) and (place == 0 or curve[place] != curve[place - 1]):
            yield frontier.point(place)


def _correct(stages: Stages, point: Point, corrections: dict[tuple[Segment, int], dict[int, float]]) -> bool:
    """Notes how much more drafts cost than estimated. Returns whether the difference matters."""
    index = stages.index
    whole, wrong = op_costs(index).whole, 0.0
    for one in point.stretches:
        if one.rows is None:
            continue
        homes = {name: point.homes.get(name, Home.FAST) for name in index.lives}
        found = stages.option(one.segment, Height(one.rows, one.grows), homes, Kind.WHOLE)
        assert found is not None
        known = corrections.setdefault((one.segment, one.slow), {})
        more = found.cost - sum(whole[one.segment.first : one.segment.end]) - one.cost
        if abs(more) > CLOSE * sum(whole) and one.rows not in known:
            known[one.rows] = more
            wrong += abs(more)
    return wrong > CLOSE * sum(whole)

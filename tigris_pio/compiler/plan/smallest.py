"""The arrangement of least memory.

A refusal names its bytes as the smallest budget. A plan falls back to it where nothing else fits, so every budget from
there on has one.
"""

from __future__ import annotations

import math

import numpy as np

from tigris_pio.compiler.plan.arrange import Arranger, Stages
from tigris_pio.compiler.plan.attempt import Attempt
from tigris_pio.compiler.plan.frontier.frontier import Point, find_frontier
from tigris_pio.compiler.plan.frontier.levels import ample, levels
from tigris_pio.compiler.plan.placement import Arrangement
from tigris_pio.compiler.plan.points import HIGHEST, LOWEST, by_level, frontier_near

#: Levels from a size to its double where only the lowest is looked for, and shares of ample memory that are looked at.
COARSE, PARTS = 16, (1 / 16, 1 / 4, 1)
#: The least memory is looked for to the alignment, or to this share of it where that is more, and until so many
#: placements did not lower it.
GRAIN, FUTILE = 1 / 1024, 12
#: Stages share the run-time state that the largest takes. So at last schedules are tried whose stages touch at most so
#: many tensors.
FEW_VIEWS = 4


def smallest(stages: Stages, slow: int, enough: int = 0) -> Arrangement | None:
    """The arrangement of least fast memory that is found beside so much slow memory; None if none is.

    enough: the first on the way there that takes no more is returned
    """
    key = slow, enough
    if key not in stages.smallest:
        search = _Smallest(stages, slow, enough)
        search.run()
        stages.smallest[key] = search.best
        if search.best is not None and search.best.fast_bytes > enough:  # it went all the way
            stages.smallest[slow, 0] = search.best
    return stages.smallest[key]


class _Smallest:
    def __init__(self, stages: Stages, slow: int, enough: int) -> None:
        self.stages, self.slow, self.enough = stages, slow, enough
        self.best: Arrangement | None = None
        self.placed: list[Attempt] = []
        self.since = 0  #: how many were placed when the best was

    @property
    def least(self) -> float:
        """Bytes of the best."""
        return math.inf if self.best is None else self.best.fast_bytes

    @property
    def grain(self) -> int:
        """Bytes by which another must take less."""
        return max(self.stages.alignment, int(GRAIN * min(self.least, 1 << 40)))

    @property
    def done(self) -> bool:
        """Whether the best is enough, or the last placements did not lower it."""
        return self.least <= self.enough or len(self.placed) - self.since >= FUTILE

    def run(self) -> None:
        """Tries the points around the lowest level, then those around the best, as long as that helps."""
        lowest = self._lowest()
        if lowest is None or 0 < self.enough < LOWEST * lowest:
            return
        for views in (None, FEW_VIEWS):
            around, before = lowest, math.inf
            while self.least < before or before == math.inf:
                before = self.least
                for point in by_level(frontier_near(self.stages, around, self.slow, math.inf, views)):
                    if point.level >= HIGHEST * self.least or self.done:
                        break
                    self.lower(point)
                if self.best is None:
                    break
                around = self.best.fast_bytes - self.grain
            self.since = len(self.placed)

    def _lowest(self) -> int | None:
        """The lowest level in which live bytes tell of a schedule. Looking at few levels first saves time."""
        top = ample(self.stages.index)
        for share in PARTS:
            grid = levels(1, int(share * top), steps=COARSE)
            curve = find_frontier(self.stages.index.body, self.slow, self.stages.alignment, grid, {}).curve
            if np.isfinite(curve).any():
                return int(grid[int(np.argmax(np.isfinite(curve)))])
        return None

    def lower(self, point: Point) -> None:
        """Arranges a point in less and less. Steps double as long as it works, and then halve."""
        step, grows = self.grain, True
        limit = min(point.level, self.least - step)
        while limit > 0 and not self.done:
            arranger = Arranger(self.stages, int(limit), self.slow, math.inf, 0.0, self.placed, hasty=True)
            arranger.run([point])
            lower = arranger.lowest is not None and arranger.lowest.fast_bytes < self.least
            if lower:
                self.best, self.since = arranger.lowest, len(self.placed)
            grows = grows and lower
            step = 2 * step if grows else step // 2
            if step < self.grain:
                return
            limit = self.least - step

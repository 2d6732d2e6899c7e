"""What a plan is made for: the memory there is, and what one attempt of the search makes of it."""

from __future__ import annotations

import dataclasses

from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.format.enums import Home, WeightMode


@dataclasses.dataclass(frozen=True)
class WeightOptions:
    """How weights are stored and read. `xip` promises that they are never copied."""

    xip: bool = False
    mode: WeightMode = WeightMode.IN_PLACE


@dataclasses.dataclass(frozen=True)
class Aim:
    """The memory that a plan may take, in bytes, and how one attempt uses it.

    limit: bytes of fast memory that the finished plan may take, run-time state included
    slow: bytes of slow memory that it may take
    alignment: of every buffer in both
    weights: how weights are stored and read
    room: bytes of fast memory that this attempt cuts and drafts for; at most `limit`
    home: FAST: all that crosses a cut stays in fast memory; SLOW: as much of it as fits does
    overlay: outputs may grow over inputs
    recompute: bands may make halo rows again
    """

    limit: int
    slow: int
    alignment: int
    weights: WeightOptions = WeightOptions()
    room: int = 0
    home: Home = Home.FAST
    overlay: bool = True
    recompute: bool = False

    @staticmethod
    def of(budget: Budget, ample: int, alignment: int, weights: WeightOptions) -> Aim:
        """The aim at a whole budget; `ample`: fast memory that never limits a plan, for a budget without limit."""
        limit = ample if budget.fast is None else budget.fast
        return Aim(limit, budget.slow, alignment, weights, limit)

    def at(self, room: int) -> Aim:
        """The same for another room."""
        return dataclasses.replace(self, room=room)

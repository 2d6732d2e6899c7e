"""Instructions of what a stage does beside the work of its operators, and bytes at its fullest step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tigris_pio.compiler.cost.model import CostModel
from tigris_pio.compiler.plan.cost import SLOW_BYTE


class Prices(NamedTuple):
    """Instructions of what a stage does beside the work of its operators."""

    stage: float
    view: float
    moved_byte: float  #: within a window
    copy: float  #: of starting to bring a tensor's rows or to take them away
    slow_byte: float  #: moved to or from slow memory

    @staticmethod
    def of(processor: str) -> Prices:
        """The prices on a processor."""
        names = ("stage", "view", "moved byte", "copy", "copied byte")
        stage, view, moved, copy, copied = (CostModel.of(processor).executor({name: 1}) for name in names)
        return Prices(stage, view, moved, copy, copied + SLOW_BYTE)


def setup(prices: Prices, views: int) -> float:
    """Instructions of starting a stage that touches so many tensors."""
    return prices.stage + prices.view * views


def fullest(sizes: Sequence[int], more: Sequence[tuple[int, int, int]]) -> int:
    """Most bytes at a step when `more` is taken too: bytes from one step to another, both included."""
    if not more:
        return max(sizes)
    longer = list(sizes)
    for size, first, last in more:
        for at in range(first, last + 1):
            longer[at] += size
    return max(longer)

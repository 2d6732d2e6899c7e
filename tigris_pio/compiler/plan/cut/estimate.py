"""Estimates the cost of a segment from a sweep at one row a band instead of a draft.

Each further row of a band takes a constant number of bytes. Calls, moved rows and rows made again fall in proportion.
So the tallest band and the cost follow from the sweep by a division. The estimate is low; drafts correct it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tigris_pio.compiler.cost.model import CostModel
from tigris_pio.compiler.plan.cost import SLOW_BYTE
from tigris_pio.compiler.plan.cut.size import Size


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


class Banded(NamedTuple):
    """A segment at one row a band: what the sweeps measure of it."""

    bands: int
    calls: float
    moved_bytes: float
    again: float = 0.0  #: instructions of rows made again


def rows_that_fit(windows: Size, free: int, bands: int) -> int:
    """Rows of a band that `free` bytes have room for, about; they have for one."""
    if windows.growth <= 0:
        return bands
    return min(bands, 1 + int((free - windows.bytes + windows.credit) / windows.growth))


def banded_cost(prices: Prices, banded: Banded, rows: int, once: float, views: int, copies: int) -> float:
    """Instructions more than running whole of a segment in bands of `rows` rows, but for the bytes it moves to and
    from slow memory.

    once: instructions of calling its kernels once. copies: tensors it brings and takes away each band.
    """
    bands = -(-banded.bands // rows)
    share = bands / banded.bands
    calls = max(once, banded.calls * share) - once
    moved = prices.moved_byte * banded.moved_bytes + banded.again
    return setup(prices, views) + calls + moved * share + prices.copy * copies * bands


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

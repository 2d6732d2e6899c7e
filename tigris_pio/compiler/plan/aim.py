"""What a plan is made for: the memory there is, and what one attempt of the search makes of it."""

from __future__ import annotations

import dataclasses
import enum
import math

from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.format.enums import WeightMode


@dataclasses.dataclass(frozen=True)
class WeightOptions:
    """How weights are stored and read. `xip` promises that they are never copied."""

    xip: bool = False
    mode: WeightMode = WeightMode.IN_PLACE


class Windows(enum.IntEnum):
    """How much of windows is counted as free for others while they do not need it: the more, the likelier it is that
    offsets fail.

    APART: nothing. SHARED: the rows that a window does not keep, for windows that keep none. STAIRS: those, and for any
    window the rows of an input that its stage has read for the last time. PARKED: as STAIRS, and the rows that windows
    keep lie elsewhere while the windows are for others (`band/parking.py`).
    """

    APART = 0
    SHARED = 1
    STAIRS = 2
    PARKED = 3


@dataclasses.dataclass(frozen=True)
class Aim:
    """The memory that a plan may take, in bytes, and how one attempt uses it.

    limit: bytes of fast memory that the finished plan may take, run-time state included
    slow: bytes of slow memory that it may take
    alignment: of every buffer in both
    weights: how weights are stored and read
    room: bytes of fast memory that this attempt cuts and drafts for; more than `limit` where windows are parked, whose
        fullest moments are not all in one band
    most: instructions beyond running whole that a cut must cost less than
    state: bytes of run-time state that its stages are expected to take
    overlay: outputs may grow over inputs; frugal: only where bands do not fit otherwise
    descents: what lies above outputs that grew over inputs is for windows alone; otherwise it is not looked at
    windows: how much of windows is free for others while they do not need it
    lowest: bands have one row
    less: steps (first, end) where an attempt must do with so many bytes less, for offsets there exceeded the limit
    apart: operators that may not share memory with their operands, and in whose stages outputs may not grow over
        inputs, for the same reason
    """

    limit: int
    slow: int
    alignment: int
    weights: WeightOptions = WeightOptions()
    room: int = 0
    most: float = math.inf
    state: int = 0
    overlay: bool = True
    frugal: bool = False
    descents: bool = True
    windows: Windows = Windows.SHARED
    lowest: bool = False
    less: tuple[tuple[int, int, int], ...] = ()
    apart: frozenset[int] = frozenset()

    @staticmethod
    def of(budget: Budget, ample: int, alignment: int, weights: WeightOptions) -> Aim:
        """The aim that takes a whole budget; `ample`: fast memory that limits no plan, for a budget without limit."""
        limit = ample if budget.fast is None else budget.fast
        return Aim(limit, budget.slow, alignment, weights, limit)

    def room_of(self, first: int, end: int) -> int:
        """Bytes of fast memory for steps [first, end)."""
        return self.room - max((size for low, high, size in self.less if low < end and first < high), default=0)

    def overlays(self, first: int, end: int) -> bool:
        """Whether outputs of a stage may grow over its inputs."""
        return self.overlay and self.apart.isdisjoint(range(first, end))

    def within(self, other: Aim) -> bool:
        """Whether what is cut for this aim could be cut for the other too, which gives as much in everything and asks
        for no more."""
        return (
            self.room <= other.room and self.slow <= other.slow and self.most <= other.most
            and self.overlay <= other.overlay and self.frugal >= other.frugal and self.descents >= other.descents
            and self.windows <= other.windows and self.lowest >= other.lowest and self.apart >= other.apart
            and set(self.less) >= set(other.less)
            and (self.alignment, self.weights) == (other.alignment, other.weights)
        )  # fmt: skip

    def at(self, room: int) -> Aim:
        """The same for another room."""
        return dataclasses.replace(self, room=room)

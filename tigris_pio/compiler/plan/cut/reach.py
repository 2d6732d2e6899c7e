"""How long segments are looked at: less in large programs."""

from __future__ import annotations

from typing import NamedTuple

#: Longest segments tried in bands without and with slow memory, and whole, in operators: most, least, and the sum over
#: all cuts above which large programs get shorter ones, so that the search stays linear in the number of operators.
BANDED_REACH, SLOW_REACH, WHOLE_REACH = (200, 20, 20_000), (200, 12, 6_000), (256, 12, 6_000)
#: The same of segments that make rows again, where there is slow memory.
AGAIN_REACH = (200, 6, 400)


class Reach(NamedTuple):
    """Most operators of a segment that rolls, makes rows again, or runs whole."""

    rolling: int
    again: int
    whole: int

    @staticmethod
    def of(steps: int, slow: bool) -> Reach:
        """In a program of so many operators, with slow memory or without."""
        rolling = _within(steps, SLOW_REACH if slow else BANDED_REACH)
        return Reach(rolling, _within(steps, AGAIN_REACH) if slow else rolling, _within(steps, WHOLE_REACH))


def _within(steps: int, limits: tuple[int, int, int]) -> int:
    most, least, work = limits
    return min(most, max(least, work // max(1, steps)))

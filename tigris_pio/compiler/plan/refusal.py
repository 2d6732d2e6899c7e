"""Why a program does not fit a budget, and the smallest budgets that it fits."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence

from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.plan.placement import Arrangement
from tigris_pio.sizes import format_size, parse_size, round_up, size_option
from tigris_pio.spelling import memory

#: A slow memory no plan exceeds, for finding out how much one would take.
AMPLE_SLOW = 1 << 40
#: Sizes tried up from where live bytes tell of a schedule grow by this share of it, and by twice as much each time.
STEP = 1 / 64
#: The smallest memory is told to the alignment, or to this share where that is more.
CLOSE = 1 / 1024


@dataclasses.dataclass(frozen=True)
class Candidate:
    """One of the programs that compute the same.

    find: the arrangement found within so many bytes of fast and of slow memory, or None
    least: bytes of fast memory in which live bytes tell of a schedule beside so much slow memory
    """

    find: Callable[[int, int], Arrangement | None]
    least: Callable[[int], int]


def refusal(name: str, budget: Budget, alignment: int, ample: int, candidates: Sequence[Candidate]) -> str:
    """Why nothing fits `budget`, and the smallest that does.

    `ample`: fast memory that is always enough. `candidates`: any may be the one that runs.
    """
    fast = budget.fast
    assert fast is not None
    given = format_size(fast) + (f" fast + {format_size(budget.slow)} slow" if budget.slow else " fast")
    smallest = _Smallest(candidates, fast, alignment, ample)
    alone = smallest.fast(slow=0)
    text = f"{name} does not fit {given} memory"
    # Nobody means a budget of less than a kilobyte: the unit was forgotten.
    forgotten = fast < 1 << 10 and alone <= fast << 10
    if forgotten:
        text += f" ({fast} is bytes: did you mean {memory(f'{fast}K')}?)"
    text += f"; the smallest fast memory that works is {alone} bytes ({memory(smallest.option(alone, 0))})"
    if forgotten:
        return text
    with_slow = smallest.find(fast, AMPLE_SLOW)
    if with_slow is not None:
        same = size_option(fast) if fast % (1 << 10) == 0 else str(fast)
        return f"{text}, or add slow memory: {memory(same, smallest.slow(fast, with_slow))}"
    least = smallest.fast(AMPLE_SLOW)
    found = smallest.find(least, AMPLE_SLOW)
    if least < alone and found is not None:
        option = smallest.option(least, AMPLE_SLOW)
        text += f", with slow memory {least} bytes ({memory(option, size_option(found.slow.peak))})"
    return text


class _Smallest:
    """Looks for the smallest fast memory of any program, of which none fits `refused` bytes without slow memory. Each
    answer is one that was tried, none is tried twice."""

    def __init__(self, candidates: Sequence[Candidate], refused: int, alignment: int, ample: int) -> None:
        self.refused, self.alignment, self.ample = refused, alignment, ample
        self._candidates = [dataclasses.replace(one, find=functools.cache(one.find)) for one in candidates]

    def find(self, fast: int, slow: int) -> Arrangement | None:
        """That of the first program that fits."""
        return next((found for one in self._candidates if (found := one.find(fast, slow)) is not None), None)

    def fast(self, slow: int) -> int:
        """The least fast memory found, beside so much slow memory: of the program whose live bytes tell of least, and
        then of each other that works in less."""
        low = 0 if slow else self.refused
        told = [one.least(slow) for one in self._candidates]
        order = sorted(range(len(told)), key=told.__getitem__)
        self._candidates = [self._candidates[place] for place in order]
        least = self._up(self._candidates[0], max(low, told[order[0]]), slow)
        for one in list(self._candidates):
            less = self._down(one, low, least, slow)
            if less < least:
                least = less
                self._candidates = [one, *(other for other in self._candidates if other is not one)]
        return least

    def _up(self, one: Candidate, first: int, slow: int) -> int:
        """Bytes that work, from those in which live bytes tell of a schedule: parked windows need less."""
        size, step = round_up(first, self.alignment), max(self.alignment, int(STEP * first))
        while one.find(min(size, self.ample), slow) is None:
            assert size < self.ample, "ample memory always fits"
            size, step = size + round_up(step, self.alignment), 2 * step
        return min(size, self.ample)

    def _down(self, one: Candidate, low: int, least: int, slow: int) -> int:
        """The least size found for this program, at most `least`, in which some program works.

        Steps double after each success and halve after each failure, down to CLOSE. A plan that took less is tried at
        its own size.
        """
        grain = max(self.alignment, int(CLOSE * least) // self.alignment * self.alignment)
        step, found = grain, one.find(least, slow)
        while step >= grain:
            taken = least if found is None else round_up(found.fast_bytes, self.alignment)
            jumps = low < taken < least
            size = taken if jumps else (least - step) // self.alignment * self.alignment
            other = one.find(size, slow) if size > low else None
            if other is not None:
                found, least, step = other, size, 2 * step
            else:
                low, found = max(low, size), None
                step = step if jumps else step // 2
        return least

    def slow(self, fast: int, found: Arrangement) -> str:
        """Slow memory that works beside so much fast memory, as an option's text: the first that was found may take
        more than others need."""
        size = round_up(found.slow.peak, 1 << 10)
        less = self.find(fast, size // 2) if size > 1 << 10 else None
        return size_option(size) if less is None else self.slow(fast, less)

    def option(self, smallest: int, slow: int) -> str:
        """A round value that works, as an option's text."""
        option = size_option(smallest)
        while self.find(parse_size(option), slow) is None:
            option = size_option(parse_size(option) + (1 << 10))
        return option

"""Why a program does not fit a budget, and the smallest budgets that it fits."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.plan.placement import Arrangement
from tigris_pio.sizes import format_size, parse_size, round_up, size_option
from tigris_pio.spelling import memory

#: A slow memory no plan exceeds, for finding out how much one would take.
AMPLE_SLOW = 1 << 40

#: The arrangement of one program found within so many bytes of fast and of slow memory, or None.
Find = Callable[[int, int], Arrangement | None]


def refusal(name: str, budget: Budget, alignment: int, ample: int, finds: Sequence[Find]) -> str:
    """Why nothing fits `budget`, and the smallest that does.

    `ample`: fast memory that is always enough. `finds`: of each program that computes the same, any of which may be
    the one that runs.
    """
    assert budget.fast is not None
    given = format_size(budget.fast) + (f" fast + {format_size(budget.slow)} slow" if budget.slow else " fast")
    smallest = _Smallest(finds, budget.fast, alignment, ample)
    alone = smallest.fast(slow=0)
    text = f"{name} does not fit {given} memory"
    # Nobody means a budget of less than a kilobyte: the unit was forgotten.
    forgotten = budget.fast < 1 << 10 and alone <= budget.fast << 10
    if forgotten:
        text += f" ({budget.fast} is bytes: did you mean {memory(f'{budget.fast}K')}?)"
    text += f"; the smallest fast memory that works is {alone} bytes"
    text += f" ({memory(smallest.option(alone, 0))})"
    if forgotten:
        return text
    with_slow = smallest.find(budget.fast, AMPLE_SLOW)
    if with_slow is not None:
        same = size_option(budget.fast) if budget.fast % (1 << 10) == 0 else str(budget.fast)
        return f"{text}, or add slow memory: {memory(same, size_option(with_slow.slow.peak))}"
    least = smallest.fast(AMPLE_SLOW)
    found = smallest.find(least, AMPLE_SLOW)
    if least < alone and found is not None:
        fast = smallest.option(least, AMPLE_SLOW)
        text += f", with slow memory {least} bytes ({memory(fast, size_option(found.slow.peak))})"
    return text


class _Smallest:
    """Looks for the smallest fast memory of any program, of which none fits `refused` bytes without slow memory. Each
    answer is one that was tried, none is tried twice."""

    def __init__(self, finds: Sequence[Find], refused: int, alignment: int, ample: int) -> None:
        self.refused, self.alignment, self.ample = refused, alignment, ample
        self._finds = [functools.cache(find) for find in finds]
        self._first = 0  # which program is asked first: the one that took least

    def find(self, fast: int, slow: int) -> Arrangement | None:
        """That of the first program that fits."""
        finds = [self._finds[self._first], *self._finds[: self._first], *self._finds[self._first + 1 :]]
        return next((found for find in finds if (found := find(fast, slow)) is not None), None)

    def fast(self, slow: int) -> int:
        """By bisection, first to within 1 % and only of programs that better those before by more than that.

        Then exactly: nothing was found in an alignment less.
        """
        best = high = self.ample
        for place, find in enumerate(self._finds):
            if find(high, slow) is not None:
                low = 0 if slow else self.refused
                best, self._first = self._bisect(find, slow, low, high, self._tolerance), place
                high = best - self._tolerance(best)
        assert best < self.ample, "ample memory always fits"
        return self._exactly(best, slow)

    def _exactly(self, best: int, slow: int) -> int:
        """From bytes that work to a multiple of the alignment that does, and of which one alignment less does not."""
        if self.find(best - self.alignment, slow) is not None:  # seldom: what was found last took no byte more
            low = best - self._tolerance(best)
            best = self._bisect(self.find, slow, low, best - self.alignment, lambda _: self.alignment)
        aligned = round_up(best, self.alignment)
        if self.find(aligned, slow) is None:
            return best
        while aligned > self.alignment and self.find(aligned - self.alignment, slow) is not None:
            aligned -= self.alignment
        return aligned

    def _bisect(self, find: Find, slow: int, low: int, high: int, tolerance: Callable[[int], int]) -> int:
        """Between `low`, in which nothing is found, and `high`, in which something is: where it still is, in what was
        taken if that was found again."""
        high = self._taken(find, high, slow)
        while high - low > tolerance(high):
            middle = (low + high) // 2
            if find(middle, slow) is None:
                low = middle
            else:
                high = self._taken(find, middle, slow)
        return high

    def _taken(self, find: Find, fast: int, slow: int) -> int:
        found = find(fast, slow)
        assert found is not None
        return found.fast_bytes if find(found.fast_bytes, slow) is not None else fast

    def _tolerance(self, smallest: int) -> int:
        return max(self.alignment, smallest // 100)

    def option(self, smallest: int, slow: int) -> str:
        """A round value that works, as an option's text."""
        option = size_option(smallest)
        while self.find(parse_size(option), slow) is None:
            option = size_option(parse_size(option) + (1 << 10))
        return option

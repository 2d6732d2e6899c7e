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

#: Programs of more operators are tried in one order; and of more, to 1 % only. Each try takes longer there.
ONE_ORDER, ROUGHLY = 36, 100

_Find = Callable[[int, int], Arrangement | None]


@dataclasses.dataclass(frozen=True)
class Candidate:
    """One of the programs that compute the same.

    find: the arrangement found within so many bytes of fast and of slow memory, or None
    cut: whether the live bytes of some cut fit them, which is known much sooner; offsets may need more, and parked
        windows less
    """

    find: _Find
    cut: Callable[[int, int], bool]


def refusal(
    name: str, budget: Budget, alignment: int, ample: int, candidates: Sequence[Candidate], operators: int
) -> str:
    """Why nothing fits `budget`, and the smallest that does.

    `ample`: fast memory that is always enough. `candidates`: any may be the one that runs. `operators`: of a program.
    """
    assert budget.fast is not None
    given = format_size(budget.fast) + (f" fast + {format_size(budget.slow)} slow" if budget.slow else " fast")
    smallest = _Smallest(candidates, budget.fast, alignment, ample, operators)
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

    def __init__(
        self, candidates: Sequence[Candidate], refused: int, alignment: int, ample: int, operators: int
    ) -> None:
        self.refused, self.alignment, self.ample, self.operators = refused, alignment, ample, operators
        self._candidates = [dataclasses.replace(one, find=functools.cache(one.find)) for one in candidates]

    def find(self, fast: int, slow: int) -> Arrangement | None:
        """That of the first program that fits."""
        return next((found for one in self._candidates if (found := one.find(fast, slow)) is not None), None)

    def fast(self, slow: int) -> int:
        """The least fast memory found, beside so much slow memory."""
        low = 0 if slow else self.refused
        if self.operators <= ONE_ORDER:
            return self._exactly(self.find, self._of_all(low, slow), slow)
        best = self._of_one(low, slow)
        return best if self.operators > ROUGHLY else self._exactly(self._candidates[0].find, best, slow)

    def _of_all(self, low: int, slow: int) -> int:
        """By bisection to within 1 %, and only of programs that better those before by more than that."""
        best = high = self.ample
        for one in tuple(self._candidates):
            if one.find(high, slow) is not None:
                best = self._bisect(one.find, slow, low, high)
                high = best - self._tolerance(best)
                self._ask_first(one)
        assert best < self.ample, "ample memory always fits"
        return best

    def _of_one(self, low: int, slow: int) -> int:
        """Of the program that is cut in least live bytes as much more, or less, as is found within 1 %."""
        best, chosen = self.ample, self._candidates[0]
        for one in self._candidates:
            below = best - self._tolerance(best)
            if one.cut(below, slow):
                best, chosen = self._least_cut(one, slow, low, below), one
        self._ask_first(chosen)
        find, step = chosen.find, self._tolerance(best)
        if find(best, slow) is not None:
            return self._aligned(self._down(find, slow, best, step), slow)
        while find(best + step, slow) is None:
            assert best < self.ample, "ample memory always fits"
            best, step = best + step, 2 * step
        return self._aligned(self._bisect(find, slow, best, best + step), slow)

    def _least_cut(self, one: Candidate, slow: int, low: int, high: int) -> int:
        """Between bytes of which nothing is known and bytes that have a cut, to 1 %."""
        while high - low > self._tolerance(high):
            middle = (low + high) // 2 if 4 * low > high else max(2 * low, high // 16)
            low, high = (low, middle) if one.cut(middle, slow) else (middle, high)
        return high

    def _ask_first(self, one: Candidate) -> None:
        self._candidates = [one, *(other for other in self._candidates if other is not one)]

    def _exactly(self, find: _Find, best: int, slow: int) -> int:
        """From bytes that work to a multiple of the alignment that does, and of which one alignment less does not."""
        best = self._down(find, slow, best, self.alignment)
        aligned = self._aligned(best, slow)
        while aligned > self.alignment and find(aligned - self.alignment, slow) is not None:
            aligned -= self.alignment
        return aligned

    def _aligned(self, best: int, slow: int) -> int:
        """Bytes that work, rounded up to the alignment if that works too."""
        aligned = round_up(best, self.alignment)
        return best if self.find(aligned, slow) is None else aligned

    def _down(self, find: _Find, slow: int, best: int, close: int) -> int:
        """From bytes that work to such that nothing was found in `close` less, by steps that double."""
        best, step = self._taken(find, best, slow), close
        while step < best and find(best - step, slow) is not None:
            best, step = self._taken(find, best - step, slow), 2 * step
        return best if step == close else self._bisect(find, slow, max(0, best - step), best, close)

    def _bisect(self, find: _Find, slow: int, low: int, high: int, close: int | None = None) -> int:
        """Between `low`, in which nothing is found, and `high`, in which something is: where it still is, in what was
        taken if that was found again; to `close` bytes, or to 1 %."""
        high = self._taken(find, high, slow)
        while high - low > (close or self._tolerance(high)):
            middle = (low + high) // 2
            if find(middle, slow) is None:
                low = middle
            else:
                high = self._taken(find, middle, slow)
        return high

    def _taken(self, find: _Find, fast: int, slow: int) -> int:
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

"""Why a program does not fit a budget, and the smallest budgets that it fits."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.plan.placement import Arrangement
from tigris_pio.compiler.plan.work import Exhausted, Work
from tigris_pio.sizes import format_size, parse_size, round_up, size_option
from tigris_pio.spelling import memory

#: A slow memory no plan exceeds, for finding out how much one would take.
AMPLE_SLOW = 1 << 40

#: Programs of more operators are looked at only briefly in other orders than the one cut in least; of more, tried in
#: one order; and of more, to 1 % only. Each try takes longer there.
ALL_ORDERS, ONE_ORDER, ROUGHLY = 8, 36, 100

#: Work that the search for the smallest memory may take at least: two seconds or so. The networks of `networks/` and
#: most of `bench/zoo.py` need less. It may also take what the refused plan took.
LEAST_WORK = 60_000

T = TypeVar("T")
_Find = Callable[[int, int], Arrangement | None]


@dataclasses.dataclass(frozen=True)
class Candidate:
    """One of the programs that compute the same.

    find: the arrangement found within so many bytes of fast and of slow memory, or None
    cut: whether the live bytes of some cut are estimated to fit them, which is known much sooner; offsets may need
        more, and parked windows less
    glance: as `find`, without what is tried only when all else failed, which takes most of the time
    """

    find: _Find
    cut: Callable[[int, int], bool]
    glance: _Find


def refusal(
    name: str,
    budget: Budget,
    alignment: int,
    ample: int,
    candidates: Sequence[Candidate],
    operators: int,
    work: Work | None = None,
) -> str:
    """Why nothing fits `budget`, and the smallest that does.

    `ample`: fast memory that is always enough. `candidates`: any may be the one that runs. `operators`: of a program.
    `work`: what candidates charge, and so far the refused plan.
    """
    fast = budget.fast
    assert fast is not None
    given = format_size(fast) + (f" fast + {format_size(budget.slow)} slow" if budget.slow else " fast")
    smallest = _Smallest(candidates, fast, alignment, ample, operators, work or Work())
    alone, of_those = smallest.fast(slow=0)
    text = f"{name} does not fit {given} memory"
    # Nobody means a budget of less than a kilobyte: the unit was forgotten.
    forgotten = fast < 1 << 10 and alone <= fast << 10
    if forgotten:
        text += f" ({fast} is bytes: did you mean {memory(f'{fast}K')}?)"
    text += f"; the smallest fast memory that works is {alone} bytes{of_those}"
    text += f" ({memory(smallest.option(alone, 0))})"
    if forgotten:
        return text
    with_slow = smallest.bounded(lambda: smallest.find(fast, AMPLE_SLOW))
    if with_slow is not None:
        same = size_option(fast) if fast % (1 << 10) == 0 else str(fast)
        return f"{text}, or add slow memory: {memory(same, size_option(with_slow.slow.peak))}"
    if smallest.exhausted:
        return text
    least, of_those = smallest.fast(AMPLE_SLOW)
    found = smallest.find(least, AMPLE_SLOW)
    if least < alone and found is not None:
        option = smallest.option(least, AMPLE_SLOW)
        text += f", with slow memory {least} bytes{of_those} ({memory(option, size_option(found.slow.peak))})"
    return text


class _Smallest:
    """Looks for the smallest fast memory of any program, of which none fits `refused` bytes without slow memory. Each
    answer is one that was tried, none is tried twice."""

    def __init__(
        self, candidates: Sequence[Candidate], refused: int, alignment: int, ample: int, operators: int, work: Work
    ) -> None:
        self.refused, self.alignment, self.ample, self.operators = refused, alignment, ample, operators
        self._work, self._allowance = work, max(LEAST_WORK, work.spent)
        self.exhausted = False  #: a search needed more work than one may take
        self._works: dict[int, int] = {}  # the least fast memory found, by slow memory
        self._candidates = [
            dataclasses.replace(one, find=self._noting(one.find), glance=self._noting(one.glance)) for one in candidates
        ]

    def _noting(self, find: _Find) -> _Find:
        """What finds the same, each once, and notes what works."""

        @functools.cache
        def noting(fast: int, slow: int) -> Arrangement | None:
            found = find(fast, slow)
            if found is not None:
                self._works[slow] = min(fast, self._works.get(slow, fast))
            return found

        return noting

    def bounded(self, search: Callable[[], T]) -> T | None:
        """What a search finds; None if it needs more work than one may take."""
        self._work.most = self._work.spent + self._allowance
        try:
            return search()
        except Exhausted:
            self.exhausted = True
            return None
        finally:
            self._work.most = math.inf

    def find(self, fast: int, slow: int) -> Arrangement | None:
        """That of the first program that fits."""
        return next((found for one in self._candidates if (found := one.find(fast, slow)) is not None), None)

    def _glance(self, fast: int, slow: int) -> Arrangement | None:
        """The same, of all but the first at a glance: they compute the same, and what fails in one mostly does in
        others."""
        first, *others = self._candidates
        found = first.find(fast, slow)
        return found or next((found for one in others if (found := one.glance(fast, slow)) is not None), None)

    def fast(self, slow: int) -> tuple[int, str]:
        """The least fast memory found, beside so much slow memory, and what to say of it."""
        hopeless = self.operators > ROUGHLY and self._allowance == LEAST_WORK
        found = self.bounded(lambda: self._soon(slow) if hopeless else self._fast(slow))
        if found is not None:
            return found, ""
        if slow not in self._works:
            self.find(self._taken(self._candidates[0].find, self.ample, slow), slow)
        return self._works[slow], ", of the sizes tried"

    def _soon(self, slow: int) -> int | None:
        """The same if that may be soon found. Else tries one budget that is half as large again as the live bytes of a
        cut: near the smallest it takes long to find any plan of many operators."""
        first, before = self._candidates[0], self._work.spent
        cut = self._least_cut(first, slow, max(self.refused, 1), self.ample, 2)
        if self._work.spent - before < self._allowance // 16:
            return self._fast(slow)
        self.exhausted = True
        first.find(cut + cut // 2, slow)
        return None

    def _fast(self, slow: int) -> int:
        low = 0 if slow else self.refused
        chosen, cut = self._cut_in_least(low, slow)
        roughly = self.operators > ROUGHLY
        close = self._tolerance(cut) if roughly else self.alignment
        best = self._near(chosen.find, slow, low, cut, close)
        if roughly:
            return self._aligned(best, slow)
        find = self.find if self.operators <= ALL_ORDERS else self._glance
        return self._exactly(find if self.operators <= ONE_ORDER else chosen.find, low, best, slow)

    def _cut_in_least(self, low: int, slow: int) -> tuple[Candidate, int]:
        """The program that is cut in least live bytes, within 1 %, and how many these are."""
        best, chosen = self.ample, self._candidates[0]
        for one in self._candidates:
            below = best - self._tolerance(best)
            if below > low and one.cut(below, slow):
                best, chosen = self._least_cut(one, slow, low, below), one
        self._candidates = [chosen, *(other for other in self._candidates if other is not chosen)]
        return chosen, best

    def _least_cut(self, one: Candidate, slow: int, low: int, high: int, share: int = 100) -> int:
        """Between bytes of which nothing is known and bytes that have a cut, to one in `share`."""
        while high - low > self._tolerance(high, share):
            middle = (low + high) // 2 if 4 * low > high else max(2 * low, high // 16)
            low, high = (low, middle) if one.cut(middle, slow) else (middle, high)
        return high

    def _near(self, find: _Find, slow: int, low: int, cut: int, close: int) -> int:
        """Bytes that work, of which nothing was found in `close` less, from those in which live bytes are cut."""
        step = self._tolerance(cut)
        rounded = parse_size(size_option(cut))  # likely to be asked for in the end
        works = min(self.ample, rounded if rounded - cut <= 2 * step else cut)
        while find(works, slow) is None:
            assert works < self.ample, "ample memory always fits"
            low, works, step = works, min(self.ample, works + step), 2 * step
        return self._down(find, slow, low, works, close)

    def _exactly(self, find: _Find, low: int, best: int, slow: int) -> int:
        """From bytes that work to a multiple of the alignment that does, and of which one alignment less does not."""
        aligned = self._aligned(self._down(find, slow, low, best, self.alignment), slow)
        while aligned - self.alignment > low and find(aligned - self.alignment, slow) is not None:
            aligned -= self.alignment
        return aligned

    def _aligned(self, best: int, slow: int) -> int:
        """Bytes that work, rounded up to the alignment if that works too."""
        aligned = round_up(best, self.alignment)
        return best if self.find(aligned, slow) is None else aligned

    def _down(self, find: _Find, slow: int, low: int, works: int, close: int) -> int:
        """From bytes that work to such that nothing was found in `close` less, by steps that double, then by bisection.
        In `low` nothing is found; in what was taken of more, something mostly is. What is tried are multiples of the
        alignment: what fits between two of them is said to need the upper one."""
        least, step = self._taken(find, works, slow), close
        while least - low > close:
            middle = max(least - step, (low + least) // 2)
            middle -= middle % self.alignment
            if middle <= low:
                middle = low - low % self.alignment + self.alignment
            if middle >= least:
                break
            if find(middle, slow) is None:
                low = middle
            else:
                works, least, step = middle, self._taken(find, middle, slow), 2 * step
        aligned = round_up(least, self.alignment)
        return aligned if aligned < works and find(aligned, slow) is not None else works

    def _taken(self, find: _Find, fast: int, slow: int) -> int:
        found = find(fast, slow)
        assert found is not None
        return found.fast_bytes

    def _tolerance(self, smallest: int, share: int = 100) -> int:
        return max(self.alignment, smallest // share)

    def option(self, smallest: int, slow: int) -> str:
        """A round value that works, as an option's text; the bytes themselves where searches take long."""
        if self.exhausted:
            return str(smallest)
        option = size_option(smallest)
        while self.find(parse_size(option), slow) is None:
            option = size_option(parse_size(option) + (1 << 10))
        return option

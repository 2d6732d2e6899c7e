"""Why a program does not fit a budget, and the smallest budgets that it fits."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.plan.placement import Arrangement
from tigris_pio.sizes import format_size, parse_size, size_option
from tigris_pio.spelling import memory

#: A slow memory no plan exceeds, for finding out how much one would take.
AMPLE_SLOW = 1 << 40

#: The arrangement found within so many bytes of fast and of slow memory, or None.
Find = Callable[[int, int], Arrangement | None]


def refusal(name: str, budget: Budget, alignment: int, ample: int, find: Find) -> str:
    """Why nothing fits `budget`, and the smallest that does. `ample`: fast memory that is always enough."""
    assert budget.fast is not None
    given = format_size(budget.fast) + (f" fast + {format_size(budget.slow)} slow" if budget.slow else " fast")
    smallest = _Smallest(find, alignment, ample)
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
    with_slow = find(budget.fast, AMPLE_SLOW)
    if with_slow is not None:
        return f"{text}, or add slow memory: {memory(size_option(budget.fast), size_option(with_slow.slow.peak))}"
    least = smallest.fast(AMPLE_SLOW)
    found = find(least, AMPLE_SLOW)
    if least < alone and found is not None:
        fast = smallest.option(least, AMPLE_SLOW)
        text += f", with slow memory {least} bytes ({memory(fast, size_option(found.slow.peak))})"
    return text


@dataclasses.dataclass(frozen=True)
class _Smallest:
    """Looks for the smallest fast memory. Each answer is one that was tried."""

    find: Find
    alignment: int
    ample: int

    def fast(self, slow: int) -> int:
        """By bisection, to within 1 %."""
        high = self.ample
        found = self.find(high, slow)
        assert found is not None, "ample memory always fits"
        if self.find(found.fast_bytes, slow) is not None:
            high = found.fast_bytes
        low = 0
        while high - low > max(self.alignment, high // 100):
            middle = (low + high) // 2
            if self.find(middle, slow) is None:
                low = middle
            else:
                high = middle
        return high

    def option(self, smallest: int, slow: int) -> str:
        """A round value that works, as an option's text."""
        option = size_option(smallest)
        while self.find(parse_size(option), slow) is None:
            option = size_option(parse_size(option) + (1 << 10))
        return option

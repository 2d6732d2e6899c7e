"""Why a program does not fit a budget, and the smallest budgets that it fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.plan.placement import Arrangement
from tigris_pio.sizes import format_size, round_up, size_option
from tigris_pio.spelling import memory

#: A slow memory no plan exceeds, for finding out how much one would take.
AMPLE_SLOW = 1 << 40
#: Finds the arrangement that takes least fast memory beside so much slow memory, or the first on the way there that
#: takes at most so much.
Smallest = Callable[[int, int], Arrangement | None]


def refusal(name: str, budget: Budget, alignment: int, candidates: Sequence[Smallest]) -> str:
    """Why nothing fits `budget`, and the smallest that does. `candidates`: any may be the program that runs."""
    fast = budget.fast
    assert fast is not None

    def least(slow: int, enough: int = 0) -> Arrangement | None:
        best: Arrangement | None = None
        for one in candidates:
            found = one(slow, enough)
            if found is not None and (best is None or found.fast_bytes < best.fast_bytes):
                best = found
            if best is not None and best.fast_bytes <= enough:
                break
        return best

    given = format_size(fast) + (f" fast + {format_size(budget.slow)} slow" if budget.slow else " fast")
    whole = least(0)
    assert whole is not None, "ample memory always fits"
    alone = max(round_up(whole.fast_bytes, alignment), fast + 1)
    text = f"{name} does not fit {given} memory"
    # Nobody means a budget of less than a kilobyte: the unit was forgotten.
    forgotten = fast < 1 << 10 and alone <= fast << 10
    if forgotten:
        text += f" ({fast} is bytes: did you mean {memory(f'{fast}K')}?)"
    text += f"; the smallest fast memory that works is {alone} bytes ({memory(size_option(alone))})"
    if forgotten:
        return text
    beside = least(AMPLE_SLOW, fast)
    if beside is not None and beside.fast_bytes <= fast:
        same = size_option(fast) if fast % (1 << 10) == 0 else str(fast)
        return f"{text}, or add slow memory: {memory(same, _slow(least, fast, beside))}"
    beside = least(AMPLE_SLOW)
    if beside is not None and beside.fast_bytes < alone:
        size = round_up(beside.fast_bytes, alignment)
        text += f", with slow memory {size} bytes ({memory(size_option(size), size_option(beside.slow.peak))})"
    return text


def _slow(least: Smallest, fast: int, found: Arrangement) -> str:
    """Slow memory that works beside so much fast memory, as an option's text: the first that was found may take more
    than others need."""
    size = round_up(found.slow.peak, 1 << 10)
    less = least(size // 2, fast) if size > 1 << 10 else None
    return size_option(size) if less is None or less.fast_bytes > fast else _slow(least, fast, less)

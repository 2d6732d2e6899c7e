"""Which operators are hot: whole, with all that is alive, they do not fit fast memory."""

from __future__ import annotations

from collections.abc import Callable

from tigris_pio.compiler.plan.cut.crossings import Crossings

#: A step after all others.
NEVER = 1 << 60


def following_hot(sets: Crossings, free: Callable[[int, int], int], shared: Callable[[int], int]) -> list[int]:
    """For each cut the first hot step at or after it; NEVER if there is none.

    free: bytes for the tensors and the scratch of a step, from it and the views that its stage has. shared: bytes that
    a step's output has in common with its operands.
    """
    steps = len(sets.makes)
    following = [NEVER] * (steps + 1)
    for step in range(steps - 1, -1, -1):
        views = sets.reads[step].bit_count() + sets.constants[step] + 1
        need = sets.size(sets.across[step]) + sets.size(sets.makes[step]) + sets.scratch[step] - shared(step)
        following[step] = step if need > free(step, views) else following[step + 1]
    return following

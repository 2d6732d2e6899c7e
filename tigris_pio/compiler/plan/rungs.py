"""Sizes that are the same whatever limit they are tried for, so that a larger limit tries what a smaller one led to."""

from __future__ import annotations

import math
from collections.abc import Iterator


def below(size: float, steps: int) -> Iterator[int]:
    """Those less than `size`, the largest first: of each size and its double so many, as far apart as each other."""
    for step in range(math.ceil(steps * math.log2(size)) - 1, 0, -1):
        yield int(2 ** (step / steps))

"""How far tensors that grow over one another move through memory, and how stages share what that leaves.

Each output starts some bytes, its lead, before the input it grows over, so a row of tensors that do so takes the bytes
of one and all leads, if they are as long. While a stage of it runs, what lies above its input, and what lies below its
output until the stages after it need that, is free for the windows of the stage.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tigris_pio.compiler.plan.cut.estimate import rows_that_fit
from tigris_pio.compiler.plan.cut.growth import Pair
from tigris_pio.compiler.plan.cut.size import Size
from tigris_pio.sizes import round_up

#: Shares of what bands of one row leave over that a stage may use: the more it uses, the less the next stages have.
GREED = (1.0, 0.4, 0.1, 0.0)


class Descent(NamedTuple):
    """A row of tensors that grew over one another."""

    member: int = 0  #: the last of them, as a set; empty: none of them is left
    drift: int = 0  #: bytes that the last ends before the first; below zero where it ends behind it
    top: int = 0  #: bytes beyond the end of the first that windows of stages on the way took
    slack: int = 1 << 60  #: bytes by which that may grow before a stage on the way does not fit
    since: int = 0  #: the cut after which the first was eaten

    def leaves_less(self, other: Descent) -> bool:
        """Whether it may leave less than another to what comes."""
        if not self.member:
            return False
        if self.member != other.member or self.since > other.since:
            return True
        return self.drift > other.drift or self.top > other.top or self.slack < other.slack


NO_DESCENT = Descent()


class Way(NamedTuple):
    """A way to run a segment whose outputs grow over inputs."""

    spared: int  #: bytes that it leaves free
    rows: int  #: of a band, about
    descent: Descent  #: after it


@functools.lru_cache(maxsize=1 << 16)
def ways_to_grow(
    pairs: tuple[Pair, ...], descent: Descent, windows: Size, left: int, above: int, bands: int, alignment: int
) -> tuple[Way, ...]:
    """Ways to run a segment in `bands` bands or fewer. `left`: bytes left over by bands of one row, whose windows are
    `windows`. `above`: how many of them lie above the last tensor that descended, where only windows can lie."""
    return tuple(_ways(pairs, descent, windows, left, above, bands, alignment))


def _ways(
    pairs: Sequence[Pair], descent: Descent, windows: Size, left: int, above: int, bands: int, alignment: int
) -> Iterator[Way]:
    grown = next((pair for pair in pairs if pair.eaten == descent.member), pairs[0])
    above = max(0, above + min(0, grown.drift))
    leads = Size(0, sum(pair.growth for pair in pairs))
    known: set[tuple[int, int]] = set()
    for below in (True, False) if above or windows.bytes else (True,):
        beyond = above if below else max(0, above - windows.bytes)
        for share in GREED if left >= beyond else ():
            used = int(share * (left - beyond))
            rows = rows_that_fit(windows + leads, windows.bytes + used, bands)
            if beyond and not below:  # windows up to what is free above take nothing
                within = min(rows_that_fit(leads, used, bands), rows_that_fit(windows, above, bands))
                beyond_it = rows_that_fit(windows + leads, above + used, bands)
                rows = beyond_it if _taken(windows, beyond_it) >= above else within
            taken, lead = _taken(windows, rows), round_up(math.ceil(leads.growth * (rows - 1)), alignment)
            drift = descent.drift + grown.drift + round_up(math.ceil(grown.growth * (rows - 1)), alignment)
            top = descent.top if below else max(descent.top, taken - descent.drift)
            if (rows, top) not in known and top - descent.top <= descent.slack:
                known.add((rows, top))
                unused = left - lead + windows.bytes - (taken + above if below else max(taken, above))
                slack = max(0, min(descent.slack - (top - descent.top), unused))
                # One row more would not fit.
                over = left - math.ceil((windows + leads).growth * rows - windows.credit) + 1
                after = Descent(grown.grown, drift, top, slack, descent.since)
                yield Way(max(0, over) if beyond or share < 1 else 0, rows, after)


def _taken(windows: Size, rows: int) -> int:
    """Bytes of windows in bands of so many rows."""
    return max(windows.bytes, math.ceil(windows.bytes + windows.growth * (rows - 1) - windows.credit))

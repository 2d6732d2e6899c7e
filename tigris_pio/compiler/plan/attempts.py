"""What the search tried, for those who want to know why a plan is as it is."""

from __future__ import annotations

import dataclasses

from tigris_pio.compiler.plan.aim import Aim, Windows
from tigris_pio.text import counted


@dataclasses.dataclass(frozen=True)
class Attempt:
    """A cut that was looked for and, where there was one, arranged. Bytes; cost in instructions beyond running whole.

    order: of the operators, from 1 on, in which they were tried. folded: with layers behind maps as sums that grow row
    by row. columns: with operators in tiles of columns. smaller: within so much fast memory, less than there is; None:
    within all of it. slow_limit: slow memory that it might take. how: what it did
    otherwise than the first. outcome: "no cut", "exceeds" (offsets are beyond the limit), "fits", or "best so far".
    stages and what follows: None where there was no cut.
    """

    how: str
    slow_limit: int
    outcome: str
    stages: int | None = None
    fast: int | None = None
    slow: int | None = None
    cost: float | None = None
    order: int = 1
    folded: bool = False
    columns: bool = False
    smaller: int | None = None


class Attempts(list[Attempt]):
    """All of one program, in turn; kept in its index."""


def how(aim: Aim, attempt: Aim) -> str:
    """What an attempt does otherwise than `aim` says."""
    said = []
    if attempt.room != aim.limit:
        said.append(f"aims for {attempt.room:,} bytes")
    if attempt.windows is Windows.APART:
        said.append("windows share nothing")
    if attempt.windows is Windows.STAIRS:
        said.append("windows over rows of inputs that were read")
    if attempt.windows is Windows.PARKED:
        said.append("what windows keep lies elsewhere meanwhile")
    if attempt.frugal:
        said.append("outputs over inputs only where bands do not fit otherwise")
    if not attempt.descents:
        said.append("what lies above such outputs is free")
    if attempt.lowest:
        said.append("bands of one row")
    if attempt.less:
        bytes_less = max(size for _, _, size in attempt.less)
        said.append(f"up to {bytes_less:,} bytes less in {counted(len({step[:2] for step in attempt.less}), 'stage')}")
    if not attempt.overlay:
        said.append("nothing shares memory")
    elif attempt.apart:
        said.append(f"{counted(len(attempt.apart), 'operator')} without shared memory")
    if aim.slow and attempt.slow != aim.slow:
        said.append(f"{attempt.slow:,} bytes of slow memory")
    return "; ".join(said) or "first"

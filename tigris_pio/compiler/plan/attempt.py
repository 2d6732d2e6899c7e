"""What the search tried, for those who want to know why a plan is as it is."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Attempt:
    """A schedule that was arranged. Bytes; cost in instructions beyond running whole.

    how: what it tells apart of windows. level: bytes of fast memory that live bytes told it for. slow_limit: slow
    memory that it might take. outcome: "exceeds" (offsets are beyond the limit) or "best so far".
    order: of the operators, from 1 on, in which it was tried. folded: with layers behind maps as sums that grow row by
    row. columns: with operators in tiles of columns.
    """

    how: str
    slow_limit: int
    outcome: str
    stages: int
    fast: int
    slow: int
    cost: float
    order: int = 1
    folded: bool = False
    columns: bool = False

"""The schedules that the search placed, which explain why a plan is as it is."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Attempt:
    """A schedule that was placed. Sizes are in bytes.

    how: how its stages hold their windows
    slow_limit: slow memory that it may take
    outcome: "exceeds" (offsets are beyond the limit) or "best so far"
    cost: instructions beyond running whole
    order: the operators' order in which it was tried, from 1 on
    folded: layers behind maps are sums that grow row by row
    columns: some operators run in tiles of columns
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

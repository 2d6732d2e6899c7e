"""The levels of memory at which the frontier has a cost. They do not depend on the limit."""

from __future__ import annotations

import math

import numpy as np

from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.settings import WeightOptions
from tigris_pio.compiler.weights.block import block_bytes
from tigris_pio.format.enums import WeightMode

#: Levels from a size to its double. Twice as many find the same plans; half as many miss 1 % of cost at small sizes.
STEPS = 64
IN_PLACE = WeightOptions()
#: Bytes that a stage's views and rounding up may take beside tensors, for each operator.
BESIDE = 32


def ample(index: ProgramIndex, weights: WeightOptions = IN_PLACE) -> int:
    """Bytes of fast memory in which all runs whole, no tensor over another, with blocks of weights if they are brought
    there."""
    blocks = 0 if weights.mode is WeightMode.IN_PLACE else block_bytes(index.ops)
    return int((index.live + index.shared).max(initial=0)) + BESIDE * len(index.ops) + 4096 + blocks


def levels(low: int, high: int, limit: int | None = None, steps: int | None = None) -> np.ndarray:
    """Those from `low` to `high` and one beyond, ascending; `limit` is one of them in any case.

    steps: instead of STEPS
    """
    steps = steps or STEPS
    first, last = math.floor(steps * math.log2(max(32, low))), math.ceil(steps * math.log2(max(33, high)))
    found = np.rint(2.0 ** (np.arange(first, last + 1) / steps)).astype(np.int64)
    return np.unique(found if limit is None else np.append(found, limit))

"""The cost of code and weights in flash, where the cache before it does not hold all that a stage needs.

A stage needs its weights and some code for each call of a kernel. If they exceed the cache, each band fetches their
lines again. The share of them rises from 0 to 1 between half the cache and all of it, for other data lies there too.
`python -m bench.cycles` counts lines in a model of such a cache.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from tigris_pio.compiler.ir.program import ProgramOp
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.packing import packed_bytes

#: Bytes of code that a call of a kernel reads, the executor's around it included: one that multiplies, and another.
CODE, SHORT_CODE = 2200, 800
#: Parts of the cache at which a stage begins to fetch lines again, and at which it fetches all.
FIRST, ALL = 0.5, 1.0
#: Cycles that an instruction takes on average in memory without waiting, and in kernels that load more.
PACE, PACES = 1.08, {OpKind.DEPTHWISE_CONV_2D: 1.2}


@dataclasses.dataclass(frozen=True)
class Flash:
    """Flash behind a cache of code and weights.

    cache, line: bytes
    miss: cycles to fetch a line
    """

    cache: int
    line: int
    miss: int

    def share(self, needed: np.ndarray | float) -> np.ndarray:
        """The share of its lines that a band fetches again in a stage whose bands need so many bytes."""
        return np.clip((needed / self.cache - FIRST) / (ALL - FIRST), 0.0, 1.0)

    def again(self, ops: Sequence[ProgramOp], calls: Sequence[int], bands: int, *, weights: bool = True) -> float:
        """The lines that a stage of `bands` bands fetches again, with so many calls of each operator's kernel."""
        needed = [needed_bytes(op, weights=weights) for op in ops]
        share = self.share(sum(size * count for size, count in zip(needed, calls, strict=True)) / bands)
        return float(share * sum(size * (count - 1) for size, count in zip(needed, calls, strict=True)) / self.line)

    def in_steps(self, op: ProgramOp, calls: int) -> float:
        """The lines that the time steps of a recurrent layer fetch again beside the first of each call.

        A step reads the weights in the other direction than the one before, and finds what the cache still holds.
        Weights of inputs serve many steps of an int8 layer at once.
        """
        if op.kind is not OpKind.RECURRENT:
            return 0.0
        of_inputs, recurrent = op.blobs["input_weights"], op.blobs["recurrent_weights"]
        read = CODE + recurrent.nbytes + (of_inputs.nbytes if op.dtype is DType.FLOAT32 else 0)
        steps = op.macs / (of_inputs.size + recurrent.size)
        return max(0.0, read - FIRST * self.cache) * max(0.0, steps - calls) / self.line

    @property
    def price(self) -> float:
        """Instructions that fetching a line counts for."""
        return self.miss / PACE


#: By processor of the cost model: an ESP32-C3 at 160 MHz with quad flash at 80 MHz, an ESP32-S3 at 240 MHz with its
#: cache of data.
FLASHES = {"rv32imc": Flash(16384, 32, 160), "esp32s3": Flash(32768, 32, 110)}


def needed_bytes(op: ProgramOp, *, weights: bool = True) -> int:
    """Bytes of flash that each call of an operator reads; without its weights if these lie elsewhere."""
    code = CODE if op.macs else SHORT_CODE
    if op.kind is OpKind.SUM_PRODUCTS:  # a call reads the weights of its rows
        return code
    arrays = op.blobs.items() if weights else ()
    return code + sum(packed_bytes(op.kind, op.params, field, array) for field, array in arrays)

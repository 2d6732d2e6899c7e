"""Streamed inputs and outputs: rows that come from the caller during a run, or go there."""

from __future__ import annotations

import dataclasses

from tigris_pio.format.record import Record, u32


@dataclasses.dataclass(frozen=True)
class RowsParams(Record):
    """The input whose rows FETCH asks the caller for, or the output whose rows TAKE gives to the caller.

    The operator's output view has a pace that completes it in the stage's bands, and no window or one that keeps rows.
    Each row is therefore made once, in order, up to the last.
    """

    C_NAME = "tigris_rows_params"

    port: int = u32("index of the input or of the output, which the session's hooks receive")

"""Streamed inputs and outputs: rows that come from the caller during a run, or go there."""

from __future__ import annotations

from tigris_pio.format.record import Params, u32


class RowsParams(Params):
    """The input whose rows FETCH asks the caller for, or the output whose rows TAKE gives to the caller.

    The operator's output view has a pace that completes it in the stage's bands, and no window or one that keeps rows.
    Each row is therefore made once, in order, up to the last.
    """

    port: int = u32("index of the input or of the output, which the session's hooks receive")

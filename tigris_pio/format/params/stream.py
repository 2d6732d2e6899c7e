"""What is streamed: rows that come from the caller during a run, or go there."""

from __future__ import annotations

import dataclasses

from tigris_pio.format.record import Record, u32


@dataclasses.dataclass(frozen=True)
class RowsParams(Record):
    """The input whose rows FETCH asks the caller for, or the output whose rows TAKE gives to the caller.

    The view of the operator's output makes each row once, in order, up to the last: it has a pace that completes it in
    the stage's bands, and no window or one that keeps rows.
    """

    C_NAME = "tigris_rows_params"

    port: int = u32("index of the input or of the output, as the session's hooks are told")

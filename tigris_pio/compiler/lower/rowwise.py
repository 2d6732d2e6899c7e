"""Parameters of row-wise operators that compute a part of their rows."""

from __future__ import annotations

import dataclasses

from tigris_pio.format.params import TransposeParams
from tigris_pio.format.record import Record


def params_of_part(params: Record, part: int, whole: int) -> Record:
    """`params` for `part` of `whole` rows. Only records that count rows change."""
    if isinstance(params, TransposeParams):
        return dataclasses.replace(params, output_shape=(params.output_shape[0] * part // whole,
                                                         *params.output_shape[1:]))
    if not hasattr(params, "rows"):
        return params
    changed: Record = dataclasses.replace(params, rows=params.rows * part // whole)
    return changed

"""Operators that go row by row, called for a part of their rows."""

from __future__ import annotations

import dataclasses

from tigris_pio.format.record import Record


def of_fewer_rows(params: Record, part: int, whole: int) -> Record:
    """`params` of a call for `part` of every `whole` rows; those of most kinds do not count rows."""
    if not hasattr(params, "rows"):
        return params
    changed: Record = dataclasses.replace(params, rows=params.rows * part // whole)  # type: ignore[type-var]
    return changed

"""Selections: the input index of each output index along one axis, and the row maps of such selections.

Contracts of Slice, Gather, Resize and their like call `select_params` for a SELECT.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.format.enums import DType
from tigris_pio.format.params import SelectParams

#: The offset in SelectParams of an axis without table.
NO_TABLE = 0xFFFFFFFF
#: An index that selects the fill value.
OUTSIDE = -1
#: The largest numerator and denominator of a row map, which have 16 bits in a plan.
_LARGEST_TERM = 65535
#: A row map with a denominator above the first must save as many rows as the second says to be preferred.
_SIMPLE_DENOMINATOR, _COMPLEX_COST = 4, 4


def is_slice(params: SelectParams) -> bool:
    """Whether a selection takes contiguous indices of every axis, from `params.first` on."""
    tables = {params.row_table, params.column_table, params.channel_table}
    return tables == {NO_TABLE} and set(params.numerator) | set(params.denominator) == {1}


@dataclasses.dataclass(frozen=True)
class Progression:
    """Output index i takes input index floor((i * numerator + first) / denominator)."""

    numerator: int
    denominator: int
    first: int

    def indices(self, count: int) -> np.ndarray:
        """The first `count` input indices."""
        taken: np.ndarray = (np.arange(count) * self.numerator + self.first) // self.denominator
        return taken


def progression(indices: np.ndarray, size: int) -> Progression | None:
    """A progression with the same indices as a table over `size` inputs; None if there is none."""
    wanted = _inside(indices, size)
    for candidate in _candidates(wanted):
        if np.array_equal(_inside(candidate.indices(len(indices)), size), wanted):
            return candidate
    return None


def _inside(indices: np.ndarray, size: int) -> np.ndarray:
    return np.where((indices >= 0) & (indices < size), indices, OUTSIDE)


def _candidates(indices: np.ndarray) -> Iterator[Progression]:
    valid = np.flatnonzero(indices != OUTSIDE)
    if not len(valid):
        yield Progression(0, 1, OUTSIDE)
        return
    first, last = int(valid[0]), int(valid[-1])
    low, high = int(indices[first]), int(indices[last])
    if first == last or low == high:
        yield Progression(1, 1, low - first) if len(valid) == 1 else Progression(0, 1, low)
        return
    step = int(indices[valid[1]]) - low if valid[1] == first + 1 else 0
    if step:
        yield Progression(step, 1, low - step * first)
    runs = np.diff(np.flatnonzero(np.diff(indices[valid])))
    if len(runs):
        factor = int(runs[0])  # nearest-neighbour upsampling by an integer factor
        for phase in range(factor):
            yield Progression(1, factor, low * factor - first + phase)


def identity(size: int) -> np.ndarray:
    """The table that selects all indices in order."""
    return np.arange(size)


def needed_rows(low: np.ndarray, high: np.ndarray, height: int) -> RowMap | None:
    """The tightest row map under which output row r reads input rows [low[r], high[r]], inclusive.

    Rows with low > high read nothing. None if every map would read all rows.
    """
    reading = np.flatnonzero(low <= high)
    if not len(reading):
        return RowMap(0, 1, 0, 0)
    low, high = low[reading].astype(np.int64), high[reading].astype(np.int64)
    best: RowMap | None = None
    for slope in _slopes(reading, low, height):
        numerator, denominator = slope.numerator, slope.denominator
        first = int((low * denominator + denominator - 1 - reading * numerator).min())
        last = int((high * denominator - reading * numerator).max())
        candidate = RowMap(numerator, denominator, min(first, last), last)
        if best is None or _preference(candidate) < _preference(best):
            best = candidate
    if best is None or _spread(best) >= height - 1:
        return None
    return best


def _spread(rows: RowMap) -> float:
    """The input rows of an output row, minus one."""
    return (rows.last - rows.first) / rows.denominator


def _preference(rows: RowMap) -> tuple[int, int, float]:
    """The sort key: few rows first, then simple maps, because they give other operators even paces."""
    cost = math.ceil(_spread(rows)) + (_COMPLEX_COST if rows.denominator > _SIMPLE_DENOMINATOR else 0)
    return cost, rows.denominator, _spread(rows)


def _slopes(rows: np.ndarray, low: np.ndarray, height: int) -> set[Fraction]:
    """Candidate slopes of the row map."""
    slopes = {Fraction(1)}
    if len(rows) > 1:
        rate = Fraction(int(low[-1] - low[0]), int(rows[-1] - rows[0]))
        counted = Fraction(int(low[-1] - low[0] + 1), int(rows[-1] - rows[0] + 1))
        slopes |= {rate, counted, Fraction(round(rate)), Fraction(int(low[1] - low[0]), int(rows[1] - rows[0]))}
        slopes |= {item.limit_denominator(8) for item in (rate, counted)}
        if rate > 0:
            slopes.add(Fraction(1, max(1, round(1 / rate))))
    return {item for item in slopes if 0 <= item.numerator <= _LARGEST_TERM and item.denominator <= _LARGEST_TERM
            and (item > 0 or height == 1)}


def selected_rows(indices: np.ndarray, height: int) -> RowMap | None:
    """The row map of a selection along rows; None if it needs all rows."""
    inside = (indices >= 0) & (indices < height)
    return needed_rows(np.where(inside, indices, 1), np.where(inside, indices, 0), height)


def select_params(tables: tuple[np.ndarray, np.ndarray, np.ndarray], extents: tuple[int, int, int], fill: float | int,
                  dtype: DType) -> tuple[SelectParams, dict[str, np.ndarray]]:
    """Parameters and tables of a SELECT.

    tables: the input index of each output row, column and channel; OUTSIDE, or any index outside, takes `fill`
    extents: input rows, columns and channels
    """
    names = ("row_table", "column_table", "channel_table")
    blobs: dict[str, np.ndarray] = {}
    places: dict[str, int] = dict.fromkeys(names, NO_TABLE)
    progressions = []
    for name, indices, size in zip(names, tables, extents, strict=True):
        found = progression(indices, size)
        if found is None:
            blobs[name] = indices.astype(np.int32)
            places[name] = 0
        progressions.append(found or Progression(1, 1, 0))
    mask = 0xFFFF if dtype is DType.INT16 else 0xFF
    bits = np.float32(fill).view(np.uint32) if dtype == DType.FLOAT32 else np.uint32(int(fill) & mask)
    params = SelectParams(
        **places, numerator=tuple(item.numerator for item in progressions),
        denominator=tuple(item.denominator for item in progressions),
        first=tuple(item.first for item in progressions), fill=int(bits),
    )
    return params, blobs

"""Band geometry written a second time, plainly, to size windows in tests and to compare the runtime with."""

import dataclasses
import math
from collections.abc import Sequence

from tigris_pio.compiler.ir.program import RowMap


@dataclasses.dataclass
class View:
    """A view of a stage: `window` False means direct. `highest` collects the rows its window must hold.

    `pace` (numerator, denominator, offset) has numerator 0 for a view that only follows its readers.
    """

    height: int
    window: bool = False
    load: bool = False
    store: bool = False
    keep: bool = False
    pace: tuple[int, int, int] = (0, 0, 0)
    need: tuple[int, int] = (0, 0)
    held: tuple[int, int] = (0, 0)
    highest: int = 0

    def rows_after(self, bands: int) -> int:
        """Rows a paced view has after so many bands."""
        numerator, denominator, offset = self.pace
        if bands == 0:
            return 0
        return min(max(math.floor((bands * numerator + offset) / denominator), 0), self.height)


@dataclasses.dataclass(frozen=True)
class Op:
    """An operator: (input view, row map) pairs and its output view."""

    operands: tuple[tuple[int, RowMap], ...]
    output: int


class Impossible(Exception):
    """A band needs rows that are gone or not there yet."""


def input_rows(rows: RowMap, height: int, first: int, end: int) -> tuple[int, int]:
    """Rows of an input of `height` rows that output rows [first, end) read."""
    low = math.floor((first * rows.numerator + rows.first) / rows.denominator)
    high = math.floor(((end - 1) * rows.numerator + rows.last) / rows.denominator) + 1
    return min(max(low, 0), height), min(max(high, 0), height)


def _needs(views: Sequence[View], ops: Sequence[Op], band: int) -> None:
    for view in views:
        paced = view.pace[0] > 0
        view.need = (view.rows_after(band), view.rows_after(band + 1)) if paced else (view.height, 0)
    for op in reversed(ops):
        out = views[op.output]
        first = out.held[1] if not out.window else max(out.need[0], out.held[1] if out.keep else 0)
        end = out.need[1]
        if first >= out.height:
            continue
        for index, rows in op.operands:
            view = views[index]
            low, high = input_rows(rows, view.height, first, max(end, first + 1))
            view.need = (min(view.need[0], low), max(view.need[1], high) if end > first else view.need[1])


def _begin(views: Sequence[View]) -> None:
    for view in views:
        if not view.window:
            continue
        first, end = view.need[0], view.need[0]
        if view.keep:
            if view.need[0] < view.held[0]:
                raise Impossible("rows that a later band needs were dropped")
            end = max(view.held[1], first)
        view.held = (first, end)
        view.highest = max(view.highest, view.need[1] - first)


def walk(views: Sequence[View], ops: Sequence[Op], band_count: int) -> int:
    """Runs all bands and returns the rows computed in total; Impossible when a row is missing."""
    outputs = {op.output for op in ops}
    computed = 0
    for index, view in enumerate(views):
        view.held = (0, view.height if not view.window and index not in outputs else 0)
    for band in range(band_count):
        _needs(views, ops, band)
        _begin(views)
        for op in ops:
            out = views[op.output]
            first, end = out.held[1], out.need[1]
            if end <= first:
                continue
            for index, rows in op.operands:
                view = views[index]
                if view.load:
                    view.held = (view.held[0], max(view.held[1], view.need[1]))
                low, high = input_rows(rows, view.height, first, end)
                if low < high and not view.held[0] <= low <= high <= view.held[1]:
                    raise Impossible("an operator reads rows that are not held")
            out.held = (out.held[0], end)
            computed += end - first
    for index, view in enumerate(views):
        at_home = view.store or not view.window
        if index in outputs and view.pace[0] and at_home and view.held[1] != view.height:
            raise Impossible("an output is not complete")
    return computed

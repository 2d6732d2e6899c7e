"""Band geometry: which rows of which tensor each band of a stage needs, makes and keeps.

The one place that turns an interval of output rows into intervals of input rows. Whole stages, tiles, chains and
rolling chains are the same computation with other arguments. `runtime/src/band.c` does the same sums on the device; a
test holds the two together.

All results are arrays over the bands of a stage. In band b a tensor's rows [first, end) are in memory when the stage's
operators have run. Rows [made, end) of these are new: made by the operator, or loaded. The rest were kept from earlier
bands.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from tigris_pio.compiler.ir.pace import Pace
from tigris_pio.compiler.ir.program import ProgramOp, ProgramTensor, RowMap

Rows = np.ndarray  #: int64, one entry a band


@dataclasses.dataclass(frozen=True)
class BandRows:
    """Rows of one tensor, band by band: first <= made <= end wherever anything is made."""

    first: Rows
    made: Rows
    end: Rows

    @property
    def capacity(self) -> int:
        """Rows a window needs; one where no row of the tensor is ever needed."""
        return int((self.end - self.first).max(initial=1))

    @property
    def kept_rows(self) -> int:
        """The most rows that one band leaves to the next."""
        return int((self.made - self.first)[1:].max(initial=0))

    @property
    def made_rows(self) -> int:
        """Rows made or loaded over all bands; more than the height when some are made twice."""
        return int((self.end - self.made).sum())

    def moved_bytes(self, tensor: ProgramTensor) -> int:
        """Bytes of one image that all bands together make or load."""
        if tensor.folded:
            return int((self.end > self.made).sum()) * tensor.row_bytes
        return self.made_rows * tensor.row_bytes

    @property
    def keeps(self) -> bool:
        """Whether any band uses rows that an earlier band made."""
        return bool((self.made > self.first).any())


@dataclasses.dataclass
class _Need:
    """The rows of one tensor that the consumers seen so far need."""

    first: Rows
    end: Rows

    def widen(self, first: Rows, end: Rows) -> None:
        np.minimum(self.first, first, out=self.first)
        np.maximum(self.end, end, out=self.end)


def clip(values: Rows, height: int) -> Rows:
    """`values` within 0 … height, in place: at the few bands of a stage far faster than numpy.clip."""
    np.maximum(values, 0, out=values)
    np.minimum(values, height, out=values)
    return values


def _scaled(output_row: Rows, rows: RowMap, shift: int) -> Rows:
    """(output_row * numerator + shift) // denominator, a new array."""
    scaled = output_row + shift if rows.numerator == 1 else output_row * rows.numerator + shift
    return scaled if rows.denominator == 1 else scaled // rows.denominator


def input_first(rows: RowMap, output_row: Rows, height: int) -> Rows:
    """First input row for a range that starts at `output_row`, clipped to the tensor."""
    return clip(_scaled(output_row, rows, rows.first), height)


def input_end(rows: RowMap, output_end: Rows, height: int) -> Rows:
    """End of the input rows for a range that ends before `output_end`, clipped to the tensor."""
    return clip(_scaled(output_end, rows, rows.last - rows.numerator + rows.denominator), height)


class StageGeometry:
    """Builds up the band rows of a stage from its last operator to its first.

    Operators are added in reverse order, which makes the geometry of [i - 1, j) one step from that
    of [i, j).
    """

    def __init__(self, tensors: Mapping[str, ProgramTensor], bands: int, keep: bool) -> None:
        self._tensors = tensors
        self._bands = bands
        self._keep = keep
        self._needs: dict[str, _Need] = {}
        self._band = np.arange(bands, dtype=np.int64)
        self.rows: dict[str, BandRows] = {}

    def require(self, tensor: str, pace: Pace) -> None:
        """The rows of `tensor` appear at `pace` at the latest."""
        height = self._tensors[tensor].height
        steps = self._band * pace.numerator + pace.offset
        first = clip(steps // pace.denominator, height)
        first[:1] = 0  # a positive offset brings more rows in the first band, none before it
        end = clip((steps + pace.numerator) // pace.denominator, height)
        self._need(tensor).widen(first, end)

    def add(self, op: ProgramOp, whole_output: bool) -> None:
        """The next operator towards the front. `whole_output`: its output lies at its home, not in a window."""
        made, end = self._settle(op.output, whole_output)
        making = end > made
        unfinished = made < self._tensors[op.output].height
        for operand in op.operands:
            tensor = self._tensors[operand.tensor]
            if tensor.constant is not None:
                continue
            first = input_first(operand.rows, made, tensor.height)
            need = self._need(operand.tensor)
            first = np.where(making | unfinished, first, tensor.height)
            need.widen(first, np.where(making, input_end(operand.rows, end, tensor.height), 0))

    def settle_inputs(self) -> None:
        """Fixes the rows of the tensors no operator of the stage makes; call once, last."""
        for name in list(self._needs):
            if name not in self.rows:
                self._settle(name, whole=False)

    def pending(self) -> dict[str, BandRows]:
        """The rows of the tensors that the operators so far take from before the stage."""
        return {name: self._rows_of(name, whole=False) for name in self._needs if name not in self.rows}

    def _need(self, tensor: str) -> _Need:
        if tensor not in self._needs:
            height = self._tensors[tensor].height
            self._needs[tensor] = _Need(np.full(self._bands, height, np.int64), np.zeros(self._bands, np.int64))
        return self._needs[tensor]

    def _settle(self, tensor: str, whole: bool) -> tuple[Rows, Rows]:
        rows = self._rows_of(tensor, whole)
        self.rows[tensor] = rows
        return rows.made, rows.end

    def _rows_of(self, tensor: str, whole: bool) -> BandRows:
        need = self._need(tensor)
        if not (self._keep or whole):
            end = np.maximum(need.first, need.end)
            return BandRows(need.first, need.first, end)
        reach = need.end if whole else np.maximum(need.first, need.end)
        held = np.maximum.accumulate(reach)
        before = np.concatenate(([0], held[:-1]))
        made = before if whole else np.maximum(before, need.first)
        end = np.maximum(made, need.end)
        first = np.minimum(need.first, end)
        if self._tensors[tensor].sequential:
            before = np.where(made < self._tensors[tensor].height, made - 1, made)
            first = np.minimum(first, np.maximum(before, 0))
        return BandRows(first, made, end)


def stage_rows(
    ops: Sequence[ProgramOp],
    tensors: Mapping[str, ProgramTensor],
    paces: Mapping[str, Pace],
    bands: int,
    keep: bool,
    at_home: frozenset[str] = frozenset(),
) -> dict[str, BandRows]:
    """Band rows of every activation that `ops` touch.

    `paces`: of the tensors that have one, all that outlive the stage among them. `keep`: rows are kept from
    band to band instead of made again. `at_home`: tensors read and written whole at their home.
    """
    geometry = StageGeometry(tensors, bands, keep)
    for tensor, pace in paces.items():
        geometry.require(tensor, pace)
    for op in reversed(ops):
        geometry.add(op, op.output in at_home)
    geometry.settle_inputs()
    return geometry.rows

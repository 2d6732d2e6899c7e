"""Rows that are selected are selected before what makes each row of itself, not behind it.

Of the last block of a transformer with a class token only that token's row is read: its query, its scores, its layers.
What goes row by row is computed of the selected rows alone, back to the operators that need all rows, such as the keys
and values of attention. Values stay what they were.
"""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np

from tigris_pio.compiler.ir.names import Names
from tigris_pio.compiler.ir.program import Operand, Program, ProgramOp, ProgramTensor, RowMap
from tigris_pio.compiler.lower.in_place import IN_PLACE, with_sharing
from tigris_pio.compiler.lower.row_by_row import of_fewer_rows
from tigris_pio.compiler.lower.selection import is_slice
from tigris_pio.format.enums import OpKind
from tigris_pio.format.params import SelectParams

#: Kinds that make each row of the row at the same place and of operands that all rows read.
_ROW_BY_ROW = IN_PLACE | {
    OpKind.DEQUANTIZE, OpKind.FULLY_CONNECTED, OpKind.ASYMMETRIC_FULLY_CONNECTED, OpKind.MAT_MUL, OpKind.VECTOR,
    OpKind.NORMALISE,
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class _Taken:
    """Rows [first, first + rows) of `height`."""

    first: int
    rows: int
    height: int


def select_first(program: Program) -> Program:
    """`program` with such selections as early as they can be."""
    moved = _Moved(program)
    return moved.program() if moved.advance_all() else program


class _Moved:
    """A program being changed. Operators lie in places, one each at first."""

    def __init__(self, program: Program) -> None:
        self._before = program
        self._tensors = dict(program.tensors)
        self._names = Names(program.tensors)
        self._values = dict(program.values)
        self._kept = program.ports
        self._ops = {op.output: op for op in program.ops}
        self._place = {op.output: place for place, op in enumerate(program.ops)}
        self._readers = Counter(operand.tensor for op in program.ops for operand in op.operands)
        self._known = {(op.operands[0].tensor, taken): op.output for op in program.ops
                       if (taken := self._taken(op)) is not None}

    def advance_all(self) -> bool:
        """Takes every selection as far ahead as it goes; False when all stay."""
        waiting, changed = list(self._known.values()), False
        while waiting:
            name = waiting.pop()
            taken = self._taken(self._ops[name])
            source = self._ops[name].operands[0].tensor
            if taken is not None and self._may_advance(source, taken):
                waiting += self._advance(self._ops[name], self._ops[source], taken)
                changed = True
        return changed

    def _may_advance(self, source: str, taken: _Taken) -> bool:
        alone = source in self._ops and self._readers[source] == 1 and source not in self._kept
        return alone and self._goes_by_rows(self._ops[source], taken.height)

    def _advance(self, selection: ProgramOp, maker: ProgramOp, taken: _Taken) -> list[str]:
        """Puts `maker` in the selection's place, to make the rows taken; returns the selections it now reads."""
        source, place = maker.output, self._place[maker.output]
        del self._known[source, taken], self._ops[source], self._place[source]
        self._readers.subtract(operand.tensor for op in (selection, maker) for operand in op.operands)
        operands = tuple(self._selected(selection, item, taken, place) for item in maker.operands)
        self._ops[selection.output] = self._of_fewer(maker, operands, selection.output, taken)
        self._readers.update(item.tensor for item in operands)
        row = self._tensors[source].width * self._tensors[source].channels
        for name, value in self._values.items():
            if value.tensor == source:
                self._values[name] = dataclasses.replace(value, tensor=selection.output, start=taken.first * row)
        del self._tensors[source]
        return [item.tensor for item in operands if item.tensor in self._known.values()]

    def _taken(self, op: ProgramOp) -> _Taken | None:
        """The rows that an operator takes out of its input, at most half of them and all else as it is."""
        params = op.params
        if not isinstance(params, SelectParams):
            return None
        source, output = self._tensors[op.operands[0].tensor], self._tensors[op.output]
        if not is_slice(params) or any(params.first[1:]) or source.batch != 1 or output.batch != 1:
            return None
        first, rows = params.first[0], output.height
        if (source.width, source.channels) != (output.width, output.channels) or 2 * rows > source.height:
            return None
        return _Taken(first, rows, source.height) if 0 <= first <= source.height - rows else None

    def _goes_by_rows(self, op: ProgramOp, height: int) -> bool:
        """Whether each row of the output is made of the same row of some operands, and of others as a whole."""
        if op.kind not in _ROW_BY_ROW:
            return False
        tensors = [(self._tensors[item.tensor], item.rows) for item in op.operands]
        return any(rows == RowMap.same() for _, rows in tensors) and all(
            tensor.batch == 1 and not tensor.folded and not tensor.sequential
            and (rows.numerator == 0 or (rows == RowMap.same() and tensor.height == height))
            for tensor, rows in tensors
        )

    def _selected(self, selection: ProgramOp, operand: Operand, taken: _Taken, place: int) -> Operand:
        """An operand of fewer rows, if it has a row for each of the output's, selected at `place` or before."""
        if operand.rows != RowMap.same():
            return operand
        tensor = self._tensors[operand.tensor]
        if tensor.constant is not None:
            rows = tensor.constant[:, taken.first : taken.first + taken.rows]
            return Operand(self._named(tensor, taken, np.ascontiguousarray(rows)), RowMap.same())
        name = self._known.get((operand.tensor, taken))
        if name is None:
            name = self._known[operand.tensor, taken] = self._named(tensor, taken, None)
            source = (Operand(operand.tensor, selection.operands[0].rows),)
            self._ops[name] = dataclasses.replace(selection, name=name, dtype=tensor.dtype, operands=source,
                                                  output=name)
            self._readers[operand.tensor] += 1
        self._place[name] = min(place, self._place.get(name, place))
        return Operand(name, RowMap.same())

    def _named(self, tensor: ProgramTensor, taken: _Taken, constant: np.ndarray | None) -> str:
        name = self._names.fresh(f"{tensor.name}/rows")
        self._tensors[name] = dataclasses.replace(tensor, name=name, height=taken.rows, constant=constant, state=False)
        return name

    def _of_fewer(self, op: ProgramOp, operands: tuple[Operand, ...], output: str, taken: _Taken) -> ProgramOp:
        return dataclasses.replace(op, operands=operands, output=output,
                                   params=of_fewer_rows(op.params, taken.rows, taken.height),
                                   macs=op.macs * taken.rows // taken.height)

    def program(self) -> Program:
        """The program as it is now."""
        ops = sorted(self._ops.values(), key=lambda op: self._place[op.output])
        before = dataclasses.replace(self._before, tensors=self._tensors, values=self._values)
        return before.with_ops(with_sharing(op, self._tensors) for op in ops)

"""Moves selections of rows ahead of row-wise operators, so that these compute the selected rows only.

A transformer with a class token reads one row of its last block. Query, scores and layers of all other rows are then
needless. Operators that need all rows, such as keys and values, end the move. Outputs stay the same bytes.
"""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np

from tigris_pio.compiler.ir.names import Names
from tigris_pio.compiler.ir.program import Operand, Program, ProgramOp, ProgramTensor, RowMap
from tigris_pio.compiler.lower.in_place import with_derived
from tigris_pio.compiler.lower.rowwise import params_of_part
from tigris_pio.compiler.lower.selection import is_slice
from tigris_pio.format.kinds import TRAITS
from tigris_pio.format.params import SelectParams


@dataclasses.dataclass(frozen=True)
class _RowRange:
    """Rows [first, first + rows) of `height`."""

    first: int
    count: int
    height: int


def hoist_selections(program: Program) -> Program:
    """`program` with selections of rows as early as possible."""
    hoisted = _HoistedProgram(program)
    return hoisted.program() if hoisted.hoist_all() else program


class _HoistedProgram:
    """The program in the making. `_place` orders the operators; several may share a place."""

    def __init__(self, program: Program) -> None:
        self._before = program
        self._tensors = dict(program.tensors)
        self._names = Names(program.tensors)
        self._values = dict(program.values)
        self._kept = program.ports
        self._ops = {op.output: op for op in program.ops}
        self._place = {op.output: place for place, op in enumerate(program.ops)}
        self._readers = Counter(operand.tensor for op in program.ops for operand in op.operands)
        self._known = {(op.operands[0].tensor, span): op.output for op in program.ops
                       if (span := self._selected_rows(op)) is not None}

    def hoist_all(self) -> bool:
        """Moves every selection as far ahead as possible; False if all stay."""
        waiting, changed = list(self._known.values()), False
        while waiting:
            name = waiting.pop()
            span = self._selected_rows(self._ops[name])
            source = self._ops[name].operands[0].tensor
            if span is not None and self._can_hoist(source, span):
                waiting += self._hoist(self._ops[name], self._ops[source], span)
                changed = True
        return changed

    def _can_hoist(self, source: str, span: _RowRange) -> bool:
        alone = source in self._ops and self._readers[source] == 1 and source not in self._kept
        return alone and self._is_rowwise(self._ops[source], span.height)

    def _hoist(self, selection: ProgramOp, maker: ProgramOp, span: _RowRange) -> list[str]:
        """Replaces a selection by `maker`, which then computes the selected rows; returns the new selections."""
        source, place = maker.output, self._place[maker.output]
        del self._known[source, span], self._ops[source], self._place[source]
        self._readers.subtract(operand.tensor for op in (selection, maker) for operand in op.operands)
        operands = tuple(self._operand_of_rows(selection, item, span, place) for item in maker.operands)
        self._ops[selection.output] = self._op_of_rows(maker, operands, selection.output, span)
        self._readers.update(item.tensor for item in operands)
        row = self._tensors[source].width * self._tensors[source].channels
        for name, value in self._values.items():
            if value.tensor == source:
                self._values[name] = dataclasses.replace(value, tensor=selection.output, start=span.first * row)
        del self._tensors[source]
        return [item.tensor for item in operands if item.tensor in self._known.values()]

    def _selected_rows(self, op: ProgramOp) -> _RowRange | None:
        """The rows that a SELECT takes, with all columns and channels; None for more than half of the rows."""
        params = op.params
        if not isinstance(params, SelectParams):
            return None
        source, output = self._tensors[op.operands[0].tensor], self._tensors[op.output]
        if not is_slice(params) or any(params.first[1:]) or source.batch != 1 or output.batch != 1:
            return None
        first, rows = params.first[0], output.height
        if (source.width, source.channels) != (output.width, output.channels) or 2 * rows > source.height:
            return None
        return _RowRange(first, rows, source.height) if 0 <= first <= source.height - rows else None

    def _is_rowwise(self, op: ProgramOp, height: int) -> bool:
        """Whether each row of the output depends on the row of the same index, and on operands that all rows read."""
        if not TRAITS[op.kind].rowwise:
            return False
        tensors = [(self._tensors[item.tensor], item.rows) for item in op.operands]
        return any(rows == RowMap.same() for _, rows in tensors) and all(
            tensor.batch == 1 and not tensor.folded and not tensor.sequential
            and (rows.numerator == 0 or (rows == RowMap.same() and tensor.height == height))
            for tensor, rows in tensors
        )

    def _operand_of_rows(self, selection: ProgramOp, operand: Operand, span: _RowRange, place: int) -> Operand:
        """The selected rows of a row-wise operand, by a SELECT at `place` or before; any other operand itself."""
        if operand.rows != RowMap.same():
            return operand
        tensor = self._tensors[operand.tensor]
        if tensor.constant is not None:
            part = tensor.constant[:, span.first : span.first + span.count]
            return Operand(self._add_tensor(tensor, span, np.ascontiguousarray(part)), RowMap.same())
        name = self._known.get((operand.tensor, span))
        if name is None:
            name = self._known[operand.tensor, span] = self._add_tensor(tensor, span, None)
            source = (Operand(operand.tensor, selection.operands[0].rows),)
            self._ops[name] = dataclasses.replace(selection, name=name, dtype=tensor.dtype, operands=source,
                                                  output=name)
            self._readers[operand.tensor] += 1
        self._place[name] = min(place, self._place.get(name, place))
        return Operand(name, RowMap.same())

    def _add_tensor(self, tensor: ProgramTensor, span: _RowRange, constant: np.ndarray | None) -> str:
        name = self._names.fresh(f"{tensor.name}/rows")
        self._tensors[name] = dataclasses.replace(tensor, name=name, height=span.count, constant=constant, state=False)
        return name

    def _op_of_rows(self, op: ProgramOp, operands: tuple[Operand, ...], output: str, span: _RowRange) -> ProgramOp:
        return dataclasses.replace(op, operands=operands, output=output,
                                   params=params_of_part(op.params, span.count, span.height))

    def program(self) -> Program:
        """The changed program."""
        ops = sorted(self._ops.values(), key=lambda op: self._place[op.output])
        before = dataclasses.replace(self._before, tensors=self._tensors, values=self._values)
        return before.with_ops(with_derived(op, self._tensors) for op in ops)

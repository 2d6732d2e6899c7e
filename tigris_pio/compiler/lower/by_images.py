"""What is copied only to be a batch is made as a batch.

A layer over the tokens of several windows may be written as one matrix, [windows * tokens, features], whose result is
read window by window. What goes row by row makes the windows as images itself, back to an operator that takes its input
whole and whose output may have any dimensions.
"""

from __future__ import annotations

import dataclasses
from collections import Counter

from tigris_pio.compiler.ir.names import Names
from tigris_pio.compiler.ir.program import Alias, Operand, Program, ProgramOp, ProgramTensor, RowMap
from tigris_pio.compiler.lower.in_place import with_sharing
from tigris_pio.compiler.lower.row_by_row import of_fewer_rows
from tigris_pio.format.enums import OpKind
from tigris_pio.format.params import CopyParams

#: Kinds that make each row of the row at the same place of their first operand.
_ROW_BY_ROW = frozenset((
    OpKind.FULLY_CONNECTED, OpKind.ASYMMETRIC_FULLY_CONNECTED, OpKind.VECTOR, OpKind.NORMALISE, OpKind.LOOKUP,
    OpKind.UNARY, OpKind.QUANTIZE, OpKind.DEQUANTIZE, OpKind.RESCALE,
))  # fmt: skip


def by_images(program: Program) -> Program:
    """`program` without such copies, or with them of smaller tensors."""
    made = _Made(program)
    changed = [op for op in program.ops if made.is_batched(op) and made.advance(op)]
    return made.program() if changed else program


class _Made:
    """A program being changed."""

    def __init__(self, program: Program) -> None:
        self._before = program
        self._ops = {op.output: op for op in program.ops}
        self._tensors = dict(program.tensors)
        self._names = Names(program.tensors)
        self._values = dict(program.values)
        self._kept = program.ports
        self._readers = Counter(operand.tensor for op in program.ops for operand in op.operands)

    def is_batched(self, op: ProgramOp) -> bool:
        """Whether an operator does no more than call one image's rows those of several images."""
        source, result = self._tensors[op.operands[0].tensor] if op.operands else None, self._tensors[op.output]
        return (op.kind is OpKind.COPY and source is not None and op.aliases == (Alias(0, 0),)
                and source.batch == 1 < result.batch and source.row_bytes == result.row_bytes
                and source.height == result.batch * result.height)

    def advance(self, copy: ProgramOp) -> bool:
        """Takes a copy ahead of the operators that go row by row, or out; False where it stays."""
        images = self._tensors[copy.output].batch
        source, chain = copy.operands[0].tensor, []
        while self._goes_by_rows(source):
            chain.append(self._ops[source])
            source = chain[-1].operands[0].tensor
        if self._is_free(source):
            self._tensors[source] = _divided(self._tensors[source], images)
        else:  # the smallest on the way is copied
            sizes = [self._tensors[op.output].bytes for op in chain] + [self._tensors[source].bytes]
            chain = chain[: sizes.index(min(sizes))]
            if not chain:
                return False
            source = self._copied(copy, chain[-1].operands[0].tensor, images)
        for op in reversed(chain):
            last = op is chain[0]
            self._tensors[op.output] = _divided(self._tensors[op.output], images)
            result = copy.output if last else op.output
            self._ops[result] = _per_image(op, source, result, images)
            source = op.output
        self._replace(copy, chain)
        return True

    def _is_free(self, name: str) -> bool:
        """Whether the operator that makes a tensor may make it of any dimensions."""
        op = self._ops.get(name)
        return (op is not None and op.kind is OpKind.TRANSPOSE and self._is_passed_on(name)
                and all(item.rows.numerator == 0 for item in op.operands))

    def _is_passed_on(self, name: str) -> bool:
        return self._readers[name] == 1 and name not in self._kept

    def _goes_by_rows(self, name: str) -> bool:
        """Whether a tensor of one image is made row by row of another, for one reader."""
        op = self._ops.get(name)
        if op is None or op.kind not in _ROW_BY_ROW or not self._is_passed_on(name) or op.images != 1:
            return False
        source, *others = (self._tensors[item.tensor] for item in op.operands)
        whole = all(item.constant is not None for item in others)
        tensor = self._tensors[name]
        return whole and op.operands[0].rows == RowMap.same() and source.batch == tensor.batch == 1 \
            and source.height == tensor.height

    def _copied(self, copy: ProgramOp, source: str, images: int) -> str:
        """A copy of a smaller tensor instead; returns its output."""
        tensor = _divided(self._tensors[source], images)
        name = self._names.fresh(f"{source}/images")
        self._tensors[name] = dataclasses.replace(tensor, name=name, state=False)
        whole = Operand(source, RowMap.whole(self._tensors[source].height))
        self._ops[name] = dataclasses.replace(copy, name=name, operands=(whole,), output=name, dtype=tensor.dtype,
                                              params=CopyParams(tensor.bytes))
        return name

    def _replace(self, copy: ProgramOp, chain: list[ProgramOp]) -> None:
        """Forgets what the copy read: its output has that name's values now."""
        if not chain:
            source, result = copy.operands[0].tensor, copy.output
            self._ops[result] = dataclasses.replace(self._ops[source], output=result)
        source = copy.operands[0].tensor
        del self._ops[source], self._tensors[source]
        for name, value in self._values.items():
            if value.tensor == source:
                self._values[name] = dataclasses.replace(value, tensor=copy.output)

    def program(self) -> Program:
        """The program as it is now, each operator behind what it reads."""
        ordered: dict[str, ProgramOp] = {}
        waiting = list(reversed(self._ops.values()))
        while waiting:
            op = waiting.pop()
            missing = [self._ops[item.tensor] for item in op.operands
                       if item.tensor in self._ops and item.tensor not in ordered and item.tensor != op.output]
            if op.output not in ordered:
                waiting += [op, *missing] if missing else []
                ordered |= {} if missing else {op.output: with_sharing(op, self._tensors)}
        return dataclasses.replace(self._before, ops=tuple(ordered.values()), tensors=self._tensors,
                                   values=self._values)


def _divided(tensor: ProgramTensor, images: int) -> ProgramTensor:
    return dataclasses.replace(tensor, batch=images, height=tensor.height // images)


def _per_image(op: ProgramOp, source: str, output: str, images: int) -> ProgramOp:
    params = of_fewer_rows(op.params, 1, images)
    operands = (dataclasses.replace(op.operands[0], tensor=source), *op.operands[1:])
    return dataclasses.replace(op, operands=operands, output=output, params=params, images=images)

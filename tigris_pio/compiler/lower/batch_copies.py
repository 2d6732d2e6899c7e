"""Removes copies that only turn rows of one image into a batch of images.

Attention over image patches often computes layers on one matrix [patches * tokens, features], then reads the result as
a batch of patches. The copy between them is needless if the row-wise operators before it compute the batch themselves.
They can, back to an operator whose output may have any dimensions. If there is none, the smallest tensor is copied.
"""

from __future__ import annotations

import dataclasses
from collections import Counter

from tigris_pio.compiler.ir.names import Names
from tigris_pio.compiler.ir.program import Alias, Operand, Program, ProgramOp, ProgramTensor, RowMap
from tigris_pio.compiler.lower.in_place import with_derived
from tigris_pio.compiler.lower.rowwise import params_of_part
from tigris_pio.format.enums import OpKind
from tigris_pio.format.kinds import TRAITS
from tigris_pio.format.params import CopyParams


def remove_batch_copies(program: Program) -> Program:
    """`program` without such copies, or with copies of smaller tensors."""
    batched = _BatchedProgram(program)
    changed = [op for op in program.ops if batched.is_batch_copy(op) and batched.move_copy(op)]
    return batched.program() if changed else program


class _BatchedProgram:
    """The program in the making."""

    def __init__(self, program: Program) -> None:
        self._before = program
        self._ops = {op.output: op for op in program.ops}
        self._tensors = dict(program.tensors)
        self._names = Names(program.tensors)
        self._values = dict(program.values)
        self._kept = program.ports
        self._readers = Counter(operand.tensor for op in program.ops for operand in op.operands)

    def is_batch_copy(self, op: ProgramOp) -> bool:
        """Whether `op` is a COPY that divides the rows of one image into several images, and changes no byte."""
        source, result = self._tensors[op.operands[0].tensor] if op.operands else None, self._tensors[op.output]
        return (op.kind is OpKind.COPY and source is not None and op.aliases == (Alias(0, 0),)
                and source.batch == 1 < result.batch and source.row_bytes == result.row_bytes
                and source.height == result.batch * result.height)

    def move_copy(self, copy: ProgramOp) -> bool:
        """Removes a copy or moves it ahead of row-wise operators; False if it must stay."""
        images = self._tensors[copy.output].batch
        source, chain = copy.operands[0].tensor, []
        while self._is_rowwise(source):
            chain.append(self._ops[source])
            source = chain[-1].operands[0].tensor
        if self._has_free_dims(source):
            self._tensors[source] = _as_images(self._tensors[source], images)
        else:
            sizes = [self._tensors[op.output].bytes for op in chain] + [self._tensors[source].bytes]
            chain = chain[: sizes.index(min(sizes))]
            if not chain:
                return False
            source = self._add_smaller_copy(copy, chain[-1].operands[0].tensor, images)
        for op in reversed(chain):
            last = op is chain[0]
            self._tensors[op.output] = _as_images(self._tensors[op.output], images)
            result = copy.output if last else op.output
            self._ops[result] = _op_per_image(op, source, result, images)
            source = op.output
        self._remove_copy(copy, chain)
        return True

    def _has_free_dims(self, name: str) -> bool:
        """Whether the operator that makes a tensor accepts any dimensions for it."""
        op = self._ops.get(name)
        return (op is not None and op.kind is OpKind.TRANSPOSE and self._has_one_reader(name)
                and all(item.rows.numerator == 0 for item in op.operands))

    def _has_one_reader(self, name: str) -> bool:
        return self._readers[name] == 1 and name not in self._kept

    def _is_rowwise(self, name: str) -> bool:
        """Whether a row-wise operator of one operand makes a tensor of one image, and one operator reads it."""
        op = self._ops.get(name)
        if op is None or not TRAITS[op.kind].rowwise or not self._has_one_reader(name) or op.images != 1:
            return False
        source, tensor = self._tensors[op.operands[0].tensor], self._tensors[name]
        return [item.rows for item in op.operands] == [RowMap.same()] and source.batch == tensor.batch == 1 \
            and source.height == tensor.height

    def _add_smaller_copy(self, copy: ProgramOp, source: str, images: int) -> str:
        """Adds a copy of the smaller tensor `source`; returns its output."""
        tensor = _as_images(self._tensors[source], images)
        name = self._names.fresh(f"{source}/images")
        self._tensors[name] = dataclasses.replace(tensor, name=name, state=False)
        whole = Operand(source, RowMap.whole(self._tensors[source].height))
        self._ops[name] = dataclasses.replace(copy, name=name, operands=(whole,), output=name, dtype=tensor.dtype,
                                              params=CopyParams(tensor.bytes))
        return name

    def _remove_copy(self, copy: ProgramOp, chain: list[ProgramOp]) -> None:
        """Removes the copy and its input. The copy's output takes over the values of its input."""
        if not chain:
            source, result = copy.operands[0].tensor, copy.output
            self._ops[result] = dataclasses.replace(self._ops[source], output=result)
        source = copy.operands[0].tensor
        del self._ops[source], self._tensors[source]
        for name, value in self._values.items():
            if value.tensor == source:
                self._values[name] = dataclasses.replace(value, tensor=copy.output)

    def program(self) -> Program:
        """The changed program, with operators in topological order."""
        ordered: dict[str, ProgramOp] = {}
        waiting = list(reversed(self._ops.values()))
        while waiting:
            op = waiting.pop()
            missing = [self._ops[item.tensor] for item in op.operands
                       if item.tensor in self._ops and item.tensor not in ordered and item.tensor != op.output]
            if op.output not in ordered:
                waiting += [op, *missing] if missing else []
                ordered |= {} if missing else {op.output: with_derived(op, self._tensors)}
        return dataclasses.replace(self._before, ops=tuple(ordered.values()), tensors=self._tensors,
                                   values=self._values)


def _as_images(tensor: ProgramTensor, images: int) -> ProgramTensor:
    return dataclasses.replace(tensor, batch=images, height=tensor.height // images)


def _op_per_image(op: ProgramOp, source: str, output: str, images: int) -> ProgramOp:
    params = params_of_part(op.params, 1, images)
    operands = (dataclasses.replace(op.operands[0], tensor=source),)
    return dataclasses.replace(op, operands=operands, output=output, params=params, images=images)

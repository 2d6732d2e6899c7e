"""A kernel's call, as far as its instructions depend on it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cached_property

from tigris_pio.compiler.ir.program import Operand, ProgramOp, ProgramTensor, RowMap

#: What a call does, by name: how often each thing is done that takes instructions.
Work = Mapping[str, float]


@dataclasses.dataclass(frozen=True)
class Call:
    """A call of an operator's kernel that makes `rows` rows of its output."""

    op: ProgramOp
    output: ProgramTensor
    inputs: tuple[ProgramTensor, ...]
    rows: int

    @staticmethod
    def of(op: ProgramOp, tensors: Mapping[str, ProgramTensor], rows: int | None = None) -> Call:
        """Of one image, or of all where the kernel takes them together; `rows` None: all."""
        output = tensors[op.output]
        inputs = tuple(tensors[operand.tensor] for operand in op.operands)
        return Call(op, output, inputs, output.height if rows is None else rows)

    @property
    def images(self) -> int:
        """Images that the call takes together."""
        return self.output.batch if self.op.images == 1 else 1

    @property
    def pixels(self) -> int:
        """Pixels of the output that are made."""
        return self.images * self.rows * self.output.width

    @property
    def elements(self) -> int:
        """Elements of the output that are made."""
        return self.pixels * self.output.channels

    @cached_property
    def read(self) -> int:
        """Elements of the activations and constants that are read."""
        return sum(self._read(operand, tensor) for operand, tensor in zip(self.op.operands, self.inputs, strict=True))

    def _read(self, operand: Operand, tensor: ProgramTensor) -> int:
        rows = min(rows_read(operand.rows, self.rows), tensor.height)
        return (tensor.batch if self.op.images == 1 else 1) * rows * tensor.width * tensor.channels


def rows_read(rows: RowMap, made: int) -> int:
    """Rows of an operand that `made` rows of the output need, before any are clipped."""
    return ((made - 1) * rows.numerator + rows.last - rows.first) // rows.denominator + 1

"""Finds the tensors whose rows equal rows of the run before at another place: these tensors slide.

A tensor slides if its row r depends only on the signal near row r * stride of the input window, wherever the window
begins. Only inner rows do. Edge rows are those that padding above or below the input window reaches, through any number
of operators. A tensor does not slide if a row of it depends on all input rows, or on its own index.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from tigris_pio.compiler.ir.program import Program, ProgramOp, ProgramTensor, RowMap
from tigris_pio.compiler.lower.selection import NO_TABLE
from tigris_pio.format.enums import DType
from tigris_pio.format.kinds import TRAITS, Access
from tigris_pio.format.params import SelectParams

#: Types for which CONCAT and SELECT have kernels.
KEPT_TYPES = frozenset((DType.INT8, DType.INT16, DType.FLOAT32))


@dataclasses.dataclass(frozen=True)
class Motion:
    """The motion of a sliding tensor. Its inner rows are [first, end).

    stride: input rows between the centres of neighbouring rows
    hop: input rows by which the input window moves from run to run
    """

    stride: int
    first: int
    end: int
    hop: int

    @property
    def new_rows(self) -> int:
        """Inner rows of a run that no earlier run made."""
        return max(1, self.hop // self.stride)

    @property
    def ring_stride(self) -> int:
        """Stride in the ring of kept rows between rows that one run reads: more than 1 if `stride` exceeds `hop`."""
        return max(1, self.stride // self.hop)


@dataclasses.dataclass(frozen=True)
class NonSlidingOp:
    """An operator that makes all its rows in every run, although an input of it slides."""

    op: str
    reason: str


def find_motions(program: Program, hop: int) -> tuple[dict[str, Motion], list[NonSlidingOp]]:
    """The sliding tensors by name, for an input window that moves by `hop` rows; and the operators that stop it."""
    source = program.tensors[program.inputs[0].tensor]
    motions = {source.name: Motion(1, 0, source.height, hop)}
    non_sliding = []
    for op in program.ops:
        if not any(operand.tensor in motions for operand in op.operands):
            continue
        found = _motion(program.tensors, op, motions, hop)
        if isinstance(found, Motion):
            motions[op.output] = found
        elif found:
            non_sliding.append(NonSlidingOp(op.name, found))
    return motions, non_sliding


def _motion(tensors: Mapping[str, ProgramTensor], op: ProgramOp, motions: Mapping[str, Motion],
            hop: int) -> Motion | str:
    """The output's motion, or the reason why it does not slide: "" if all its rows are new anyway."""
    reason = _why_row_number_matters(tensors, op) or _why_not_kept(tensors, op, motions)
    if reason is not None:
        return reason
    output = tensors[op.output]
    reads = [operand for operand in op.operands if operand.tensor in motions]
    strides = {motions[operand.tensor].stride * operand.rows.numerator for operand in reads}
    stride = strides.pop()
    if strides:
        return "its inputs move at different rates"
    if stride % hop and hop % stride:
        return f"its stride of {stride} input rows is neither a multiple nor a divisor of the hop of {hop}"
    first, end = 0, output.height
    for operand in reads:
        above, below = _inner_rows(operand.rows, motions[operand.tensor])
        first, end = max(first, above), min(end, below)
    motion = Motion(stride, first, end, hop)
    if end - first > motion.new_rows:
        return motion
    return "" if output.height <= motion.new_rows else "padding reaches every row that a later run could use"


def _why_not_kept(tensors: Mapping[str, ProgramTensor], op: ProgramOp, motions: Mapping[str, Motion]) -> str | None:
    """Why rows cannot be kept, from the output's type and from operands that do not slide; None if they can."""
    if tensors[op.output].dtype not in KEPT_TYPES:
        return f"rows of type {tensors[op.output].dtype.name.lower()} cannot be kept"
    for operand in op.operands:
        tensor = tensors[operand.tensor]
        for_all_rows = tensor.constant is not None and (operand.rows.numerator == 0 or tensor.height == 1)
        if operand.tensor not in motions and not for_all_rows:
            return f"it also reads {operand.tensor}, which does not slide"
    return None


def _why_row_number_matters(tensors: Mapping[str, ProgramTensor], op: ProgramOp) -> str | None:
    """Why a row of the output depends on its index or on distant rows; None if it does not."""
    output = tensors[op.output]
    computed = [operand for operand in op.operands if tensors[operand.tensor].constant is None]
    if any(tensor.batch != 1 for tensor in (output, *(tensors[operand.tensor] for operand in computed))):
        return "it has several images"
    if output.folded or output.sequential:
        return "each of its rows depends on those before it"
    if any(operand.rows.numerator == 0 for operand in computed):
        return "each of its rows depends on all rows"
    is_rowwise = all(operand.rows == RowMap.same() for operand in computed)
    traits = TRAITS[op.kind]
    if traits.access is Access.WINDOW or (traits.rowwise and is_rowwise) or _is_strided_select(op):
        return None
    return "its rows depend on rows at other places"


def _is_strided_select(op: ProgramOp) -> bool:
    """Whether `op` is a SELECT of rows with a constant stride."""
    if not isinstance(op.params, SelectParams):
        return False
    params, rows = op.params, op.operands[0].rows
    line = (params.numerator[0], params.denominator[0], params.first[0])
    return params.row_table == NO_TABLE and line == (rows.numerator, 1, rows.first) and rows.first == rows.last


def _inner_rows(rows: RowMap, source: Motion) -> tuple[int, int]:
    """The output rows [first, end) whose input rows are all inner ones. The row map's denominator is 1."""
    first = -((rows.first - source.first) // rows.numerator)
    end = (source.end - 1 - rows.last) // rows.numerator + 1
    return first, end

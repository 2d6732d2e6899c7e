"""Which rows of each tensor are another row of the run before, when the input's window has moved on.

A tensor *slides* if row r of it is a function of the signal around row r * stride of the window, wherever the window
lies. That holds for inner rows only: edge rows are those that padding above or below the window reaches, however many
operators ahead of them. Whatever looks at all rows at once, or at their numbers, does not slide.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from tigris_pio.compiler.ir.program import Program, ProgramOp, ProgramTensor, RowMap
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import SelectParams

#: Kernels that ask for no more than that the difference of a row map's ends is their window's.
WINDOWS = frozenset(
    (OpKind.CONV_2D, OpKind.DEPTHWISE_CONV_2D, OpKind.ASYMMETRIC_CONV_2D, OpKind.ASYMMETRIC_DEPTHWISE_CONV_2D,
     OpKind.AVERAGE_POOL, OpKind.MAX_POOL)
)  # fmt: skip
#: Kernels that make each row of the same row of their inputs, if their row maps say so.
ROW_BY_ROW = frozenset(
    (OpKind.FULLY_CONNECTED, OpKind.ASYMMETRIC_FULLY_CONNECTED, OpKind.ADD, OpKind.SUB, OpKind.MUL, OpKind.SOFTMAX,
     OpKind.LOOKUP, OpKind.UNARY, OpKind.TRANSPOSE, OpKind.CONCAT, OpKind.QUANTIZE, OpKind.DEQUANTIZE,
     OpKind.TRIGONOMETRIC, OpKind.BINARY, OpKind.WHERE, OpKind.REDUCE, OpKind.ARG_REDUCE, OpKind.VECTOR, OpKind.LRN,
     OpKind.CAST, OpKind.EXTREME, OpKind.PRELU, OpKind.DIVIDE, OpKind.SQUARED_DIFFERENCE, OpKind.LOG_SOFTMAX,
     OpKind.RESCALE, OpKind.LOGISTIC)
)  # fmt: skip
#: Types of which rows can be joined and picked.
KEPT_TYPES = frozenset((DType.INT8, DType.INT16, DType.FLOAT32))
_NO_TABLE = 0xFFFFFFFF


@dataclasses.dataclass(frozen=True)
class Motion:
    """How a tensor moves: `stride` input rows a row; its inner rows are [first, end).

    hop: input rows by which the window moves on.
    """

    stride: int
    first: int
    end: int
    hop: int

    @property
    def new_rows(self) -> int:
        """Inner rows a run makes that no run made before."""
        return max(1, self.hop // self.stride)

    @property
    def runs_apart(self) -> int:
        """How many runs before this one made the row that is `new_rows` above a new one: 1 but for long strides."""
        return max(1, self.stride // self.hop)


@dataclasses.dataclass(frozen=True)
class Halt:
    """An operator that makes all its rows in every run, though what it reads slides."""

    op: str
    reason: str


def find_motions(program: Program, hop: int) -> tuple[dict[str, Motion], list[Halt]]:
    """The tensors that slide when the one input's window moves on by `hop` rows, and where that ends."""
    window = program.tensors[program.inputs[0].tensor]
    motions = {window.name: Motion(1, 0, window.height, hop)}
    halts = []
    for op in program.ops:
        if not any(operand.tensor in motions for operand in op.operands):
            continue
        found = _motion(program.tensors, op, motions, hop)
        if isinstance(found, Motion):
            motions[op.output] = found
        elif found:
            halts.append(Halt(op.name, found))
    return motions, halts


def _motion(tensors: Mapping[str, ProgramTensor], op: ProgramOp, motions: Mapping[str, Motion],
            hop: int) -> Motion | str:
    """How the output moves, or why it does not; no reason where all its rows are new anyway."""
    reason = _row_number_matters(tensors, op) or _rows_of_another_kind(tensors, op, motions)
    if reason is not None:
        return reason
    output = tensors[op.output]
    reads = [operand for operand in op.operands if operand.tensor in motions]
    strides = {motions[operand.tensor].stride * operand.rows.numerator for operand in reads}
    stride = strides.pop()
    if strides:
        return "its inputs move at different rates"
    if stride % hop and hop % stride:
        return f"its rows are {stride} input rows apart, of which a hop of {hop} is no multiple and no part"
    first, end = 0, output.height
    for operand in reads:
        above, below = _inner(operand.rows, motions[operand.tensor])
        first, end = max(first, above), min(end, below)
    motion = Motion(stride, first, end, hop)
    if end - first > motion.new_rows:
        return motion
    return "" if output.height <= motion.new_rows else "padding reaches all rows that another run could use"


def _rows_of_another_kind(tensors: Mapping[str, ProgramTensor], op: ProgramOp,
                          motions: Mapping[str, Motion]) -> str | None:
    """Why an operator's rows are no rows of another run, if that is for what else it reads."""
    if tensors[op.output].dtype not in KEPT_TYPES:
        return f"rows of type {tensors[op.output].dtype.name.lower()} are not kept"
    for operand in op.operands:
        tensor = tensors[operand.tensor]
        for_all_rows = tensor.constant is not None and (operand.rows.numerator == 0 or tensor.height == 1)
        if operand.tensor not in motions and not for_all_rows:
            return f"it also reads {operand.tensor}, which does not move with the window"
    return None


def _row_number_matters(tensors: Mapping[str, ProgramTensor], op: ProgramOp) -> str | None:
    """Why rows of the output may not be made as rows of another number are."""
    output = tensors[op.output]
    computed = [operand for operand in op.operands if tensors[operand.tensor].constant is None]
    if any(tensor.batch != 1 for tensor in (output, *(tensors[operand.tensor] for operand in computed))):
        return "it has several images"
    if output.folded or output.sequential:
        return "each of its rows depends on those before it"
    if any(operand.rows.numerator == 0 for operand in computed):
        return "each of its rows depends on all rows"
    by_place = all(operand.rows == RowMap.same() for operand in computed)
    if op.kind in WINDOWS or (op.kind in ROW_BY_ROW and by_place) or _takes_rows_in_steps(op):
        return None
    return "its rows depend on more than the rows at their place"


def _takes_rows_in_steps(op: ProgramOp) -> bool:
    """Whether it is a SELECT of rows at equal distances."""
    if not isinstance(op.params, SelectParams):
        return False
    params, rows = op.params, op.operands[0].rows
    line = (params.numerator[0], params.denominator[0], params.first[0])
    return params.row_table == _NO_TABLE and line == (rows.numerator, 1, rows.first) and rows.first == rows.last


def _inner(rows: RowMap, source: Motion) -> tuple[int, int]:
    """The output rows whose input rows are all inner ones; denominators are 1."""
    first = -((rows.first - source.first) // rows.numerator)
    end = (source.end - 1 - rows.last) // rows.numerator + 1
    return first, end

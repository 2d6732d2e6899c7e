"""Turns states that drop their oldest rows for new ones into rings, whose COMMIT reads the new rows only.

Streaming networks join a state and new rows, and assign all but the oldest rows of the result to the state. That copy
would be as large as the state and would live until the end of the run. COMMIT moves the rows that stay itself.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping

from tigris_pio.compiler.ir.program import Operand, Program, ProgramOp, ProgramTensor, RowMap
from tigris_pio.compiler.lower.selection import NO_TABLE
from tigris_pio.format.enums import OpKind
from tigris_pio.format.params import CommitParams, ConcatParams, SelectParams


@dataclasses.dataclass(frozen=True)
class _Index:
    """The producer of each tensor, and the number of its readers."""

    program: Program
    producer: Mapping[str, ProgramOp]
    readers: Mapping[str, int]

    @staticmethod
    def of(program: Program) -> _Index:
        readers = Counter(operand.tensor for op in program.ops for operand in op.operands)
        readers.update(io.tensor for io in program.outputs)
        return _Index(program, {op.output: op for op in program.ops[: program.body_count]}, readers)


def roll_rings(program: Program) -> Program:
    """`program` with rings, without the copies that only their COMMITs read."""
    index = _Index.of(program)
    commits, dropped = [], set[str]()
    for op in program.ops[program.body_count :]:
        copies, joined, skipped = _tail_of(index, op.operands[0].tensor)
        source = _new_part(index, op, joined, skipped)
        commits.append(op if source is None else _commit(op, program.tensors[op.output], source))
        dropped |= set(copies) if source is not None else set()
    if not dropped:
        return program
    return dataclasses.replace(
        program,
        ops=(*(op for op in program.ops[: program.body_count] if op.output not in dropped), *commits),
        tensors={name: tensor for name, tensor in program.tensors.items() if name not in dropped},
        values={name: value for name, value in program.values.items() if value.tensor not in dropped},
    )


def _tail_of(index: _Index, name: str) -> tuple[list[str], str, int]:
    """The chain of copies that makes `name`, the tensor whose end they copy, and the bytes before that end.

    Copies with other readers are not part of the chain.
    """
    copies, skipped = [], 0
    while index.readers[name] == 1 and name in index.producer:
        op = index.producer[name]
        more = _skipped(index.program, op)
        if more is None:
            break
        copies.append(name)
        name, skipped = op.operands[0].tensor, skipped + more
    return copies, name, skipped


def _skipped(program: Program, op: ProgramOp) -> int | None:
    """The bytes that a copy of the end of its input leaves out; None for any other operator."""
    source, output = program.tensors[op.operands[0].tensor], program.tensors[op.output]
    more = source.bytes - output.bytes
    if source.batch != 1 or output.batch != 1 or more < 0:
        return None
    if op.kind is OpKind.COPY:
        whole = (RowMap.same(), RowMap.whole(source.height))
        return more if op.operands[0].rows in ((RowMap.shifted(more // source.row_bytes),) if more else whole) else None
    params = op.params
    if not isinstance(params, SelectParams) or set(params.numerator) | set(params.denominator) != {1}:
        return None
    old, new = _extents(source), _extents(output)
    cut = [axis for axis in range(3) if old[axis] != new[axis]]
    tables = {params.row_table, params.column_table, params.channel_table}
    is_contiguous = len(cut) == 1 and set(old[: cut[0]]) <= {1} and tables == {NO_TABLE}
    return more if is_contiguous and params.first == tuple(a - b for a, b in zip(old, new, strict=True)) else None


def _new_part(index: _Index, commit: ProgramOp, joined: str, skipped: int) -> ProgramTensor | None:
    """The new rows in the tensor `joined`, of which the state of `commit` takes all but the first `skipped` bytes.

    None if `joined` is no CONCAT of the state and new rows.
    """
    op = index.producer.get(joined)
    if op is None or len(op.operands) != 2 or not isinstance(op.params, ConcatParams):
        return None
    state, source = (index.program.tensors[operand.tensor] for operand in op.operands)
    is_contiguous = source.batch == 1 and set(_extents(state)[: op.params.axis]) <= {1}
    is_ring = state.name == commit.output and not source.state and 0 < skipped == source.bytes < state.bytes
    return source if is_ring and is_contiguous else None


def _commit(op: ProgramOp, state: ProgramTensor, source: ProgramTensor) -> ProgramOp:
    """The COMMIT that reads `source` only."""
    assert isinstance(op.params, CommitParams)
    params = dataclasses.replace(op.params, kept_bytes=state.bytes - source.bytes)
    operand = Operand(source.name, RowMap.whole(source.height))
    return dataclasses.replace(op, operands=(operand, *op.operands[1:]), params=params)


def _extents(tensor: ProgramTensor) -> tuple[int, int, int]:
    return tensor.height, tensor.width, tensor.channels

"""Rings: a state that drops its oldest rows for as many new ones is told the new ones only.

Streaming networks join a state and what is new, and assign all but the first rows of that to the state. That copy would
be as large as the state and live until the run's end. A COMMIT moves the rows that stay by itself.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping

from tigris_pio.compiler.ir.program import Operand, Program, ProgramOp, ProgramTensor, RowMap
from tigris_pio.format.enums import OpKind
from tigris_pio.format.params import CommitParams, ConcatParams, SelectParams

_NO_TABLE = 0xFFFFFFFF


@dataclasses.dataclass(frozen=True)
class _Index:
    """Who makes each tensor, and how many read it."""

    program: Program
    producer: Mapping[str, ProgramOp]
    readers: Mapping[str, int]

    @staticmethod
    def of(program: Program) -> _Index:
        readers = Counter(operand.tensor for op in program.ops for operand in op.operands)
        readers.update(io.tensor for io in program.outputs)
        return _Index(program, {op.output: op for op in program.ops[: program.body_count]}, readers)


def roll_rings(program: Program) -> Program:
    """`program` without the copies that only such COMMITs read."""
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
    """The copies that `name` is made by and nothing else reads, what they copy the end of, and the bytes before it."""
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
    """How many bytes an operator leaves out that copies the rest of its input; None when it does anything else."""
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
    in_one_piece = len(cut) == 1 and set(old[: cut[0]]) <= {1} and tables == {_NO_TABLE}
    return more if in_one_piece and params.first == tuple(a - b for a, b in zip(old, new, strict=True)) else None


def _new_part(index: _Index, commit: ProgramOp, joined: str, skipped: int) -> ProgramTensor | None:
    """What is joined to the state of `commit` in the tensor `joined`, but for its first `skipped` bytes."""
    op = index.producer.get(joined)
    if op is None or len(op.operands) != 2 or not isinstance(op.params, ConcatParams):
        return None
    state, source = (index.program.tensors[operand.tensor] for operand in op.operands)
    in_one_piece = source.batch == 1 and set(_extents(state)[: op.params.axis]) <= {1}
    is_ring = state.name == commit.output and not source.state and 0 < skipped == source.bytes < state.bytes
    return source if is_ring and in_one_piece else None


def _commit(op: ProgramOp, state: ProgramTensor, source: ProgramTensor) -> ProgramOp:
    """The COMMIT that is told `source` only."""
    assert isinstance(op.params, CommitParams)
    params = dataclasses.replace(op.params, kept_bytes=state.bytes - source.bytes)
    operand = Operand(source.name, RowMap.whole(source.height))
    return dataclasses.replace(op, operands=(operand, *op.operands[1:]), params=params)


def _extents(tensor: ProgramTensor) -> tuple[int, int, int]:
    return tensor.height, tensor.width, tensor.channels

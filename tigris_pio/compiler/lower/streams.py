"""Inputs whose rows come from the firmware during a run, and outputs whose rows go there as they are made.

A streamed input is what FETCH makes, an operator without operands; a streamed output is what TAKE reads. To the
planner both are operators like others, that band and roll: so a stage that begins with a FETCH holds the few rows of
its window, and an input that several stages read is kept where there is room for it, without a rule of its own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tigris_pio import spelling
from tigris_pio.compiler.ir.names import Names
from tigris_pio.compiler.ir.program import Operand, Program, ProgramIo, ProgramOp, ProgramTensor, RowMap
from tigris_pio.errors import UsageError
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import RowsParams
from tigris_pio.text import suggest_names, visible_name

#: I/O records name the operator that moves the rows in 16 bits.
_MOST_OPERATORS = (1 << 16) - 2


def add_streams(program: Program, names: Sequence[str]) -> Program:
    """`program` with the inputs and outputs of these names streamed. Raises UsageError for those that cannot be."""
    inputs = {io.name: place for place, io in enumerate(program.inputs)}
    outputs = {io.name: place for place, io in enumerate(program.outputs)}
    for name in dict.fromkeys(names):
        if name not in inputs and name not in outputs:
            raise UsageError(_unknown(program, name))
        if name in inputs:
            program = _fetched(program, program.inputs[inputs[name]], inputs[name])
        if name in outputs:
            program = _taken(program, program.outputs[outputs[name]], outputs[name])
    return program


def _unknown(program: Program, name: str) -> str:
    known = [io.name for io in (*program.inputs, *program.outputs)]
    states = {io.name for io in program.states}
    why = "it is a state, which stays in memory from run to run; " if name in states else ""
    return (
        f"{_given(name)}: {program.name} has no input or output {visible_name(name)}; {why}"
        f"{suggest_names(name, known)}"
    )


def _given(name: str) -> str:
    return spelling.option("stream", visible_name(name))


def _check(program: Program, io: ProgramIo, kind: str) -> ProgramTensor:
    tensor = program.tensors[io.tensor]
    if tensor.batch != 1:
        raise UsageError(
            f"{_given(io.name)}: {kind} {visible_name(io.name)} is a batch of {tensor.batch} images, and rows are "
            f"streamed of one; set the batch to 1 ({spelling.option('dims')}), or leave it out"
        )
    if len(program.ops) >= _MOST_OPERATORS:
        raise UsageError(f"{_given(io.name)}: {program.name} has {len(program.ops)} operators, too many to stream; "
                         "leave it out")  # fmt: skip
    return tensor


def _fetched(program: Program, io: ProgramIo, port: int) -> Program:
    tensor = _check(program, io, "input")
    step = next((i for i, op in enumerate(program.ops) if any(item.tensor == io.tensor for item in op.operands)), None)
    if step is None:
        raise UsageError(f"{_given(io.name)}: no operator reads input {visible_name(io.name)}; leave it out")
    fetch = ProgramOp(f"fetch {io.name}", OpKind.FETCH, DType.INT8, (), io.tensor, RowsParams(port))
    return _inserted(program, step, fetch, dataclasses.replace(tensor, streamed=True))


def _taken(program: Program, io: ProgramIo, port: int) -> Program:
    tensor = _check(program, io, "output")
    step = next(i for i, op in enumerate(program.ops) if op.output == io.tensor)
    if tensor.folded:
        raise UsageError(
            f"{_given(io.name)}: output {visible_name(io.name)} is what all rows add up to, which is known at the end "
            "only; leave it out"
        )
    name = Names(program.tensors).fresh(f"{io.name}/taken")
    told = ProgramTensor(name, 1, tensor.height, 1, 1, DType.INT8, streamed=True)
    rows = (Operand(io.tensor, RowMap.same()),)
    take = ProgramOp(f"take {io.name}", OpKind.TAKE, DType.INT8, rows, told.name, RowsParams(port))
    return _inserted(program, step + 1, take, told)


def _inserted(program: Program, step: int, op: ProgramOp, tensor: ProgramTensor) -> Program:
    return dataclasses.replace(
        program,
        ops=(*program.ops[:step], op, *program.ops[step:]),
        tensors={**program.tensors, tensor.name: tensor},
    )

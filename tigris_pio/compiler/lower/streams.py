"""Streams inputs from the firmware and outputs to it during a run (`--stream`).

FETCH, an operator without operands, makes a streamed input; TAKE reads a streamed output. The planner treats both as
ordinary operators. A stage that begins with FETCH therefore holds only the rows of its window.
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

#: The largest operator count for which an I/O record can hold the index of FETCH or TAKE, 16 bits.
_MOST_OPERATORS = (1 << 16) - 2


def add_streams(program: Program, names: Sequence[str]) -> Program:
    """`program` with the inputs and outputs of these names streamed. Raises UsageError if one cannot be."""
    inputs = {io.name: place for place, io in enumerate(program.inputs)}
    outputs = {io.name: place for place, io in enumerate(program.outputs)}
    for name in dict.fromkeys(names):
        if name not in inputs and name not in outputs:
            raise UsageError(_unknown(program, name))
        if name in inputs:
            program = _with_fetch(program, program.inputs[inputs[name]], inputs[name])
        if name in outputs:
            program = _with_take(program, program.outputs[outputs[name]], outputs[name])
    return program


def _unknown(program: Program, name: str) -> str:
    known = [io.name for io in (*program.inputs, *program.outputs)]
    states = {io.name for io in program.states}
    reason = "it is a state, which stays in memory from run to run; " if name in states else ""
    return (
        f"{_option(name)}: {program.name} has no input or output {visible_name(name)}; {reason}"
        f"{suggest_names(name, known)}"
    )


def _option(name: str) -> str:
    return spelling.option("stream", visible_name(name))


def _check(program: Program, io: ProgramIo, kind: str) -> ProgramTensor:
    tensor = program.tensors[io.tensor]
    if tensor.batch != 1:
        raise UsageError(
            f"{_option(io.name)}: {kind} {visible_name(io.name)} is a batch of {tensor.batch} images, but only one "
            f"image can be streamed; set the batch to 1 ({spelling.option('dims')}), or leave it out"
        )
    if len(program.ops) >= _MOST_OPERATORS:
        raise UsageError(f"{_option(io.name)}: {program.name} has {len(program.ops)} operators, too many to stream; "
                         "leave it out")  # fmt: skip
    return tensor


def _with_fetch(program: Program, io: ProgramIo, port: int) -> Program:
    tensor = _check(program, io, "input")
    step = next((i for i, op in enumerate(program.ops) if any(item.tensor == io.tensor for item in op.operands)), None)
    if step is None:
        raise UsageError(f"{_option(io.name)}: no operator reads input {visible_name(io.name)}; leave it out")
    fetch = ProgramOp(f"fetch {io.name}", OpKind.FETCH, DType.INT8, (), io.tensor, RowsParams(port))
    return _inserted(program, step, fetch, dataclasses.replace(tensor, streamed=True))


def _with_take(program: Program, io: ProgramIo, port: int) -> Program:
    tensor = _check(program, io, "output")
    step = next(i for i, op in enumerate(program.ops) if op.output == io.tensor)
    if tensor.folded:
        raise UsageError(
            f"{_option(io.name)}: output {visible_name(io.name)} is a sum over all rows, which is complete only at the "
            "end; leave it out"
        )
    name = Names(program.tensors).fresh(f"{io.name}/taken")
    taken = ProgramTensor(name, 1, tensor.height, 1, 1, DType.INT8, streamed=True)
    rows = (Operand(io.tensor, RowMap.same()),)
    take = ProgramOp(f"take {io.name}", OpKind.TAKE, DType.INT8, rows, taken.name, RowsParams(port))
    return _inserted(program, step + 1, take, taken)


def _inserted(program: Program, step: int, op: ProgramOp, tensor: ProgramTensor) -> Program:
    return dataclasses.replace(
        program,
        ops=(*program.ops[:step], op, *program.ops[step:]),
        tensors={**program.tensors, tensor.name: tensor},
    )

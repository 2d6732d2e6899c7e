"""Verifies the invariants of a program after each pass.

A violation is the compiler's own bug: compilation ends with an internal error instead of a wrong plan.
"""

from __future__ import annotations

from tigris_pio.compiler.ir.program import Program
from tigris_pio.format.enums import OpKind


class BrokenProgram(Exception):
    """A pass violated an invariant of programs."""


def check_program(program: Program) -> None:
    """Raises BrokenProgram if a tensor is undeclared, undefined or made twice."""
    for name, tensor in program.tensors.items():
        if tensor.name != name:
            raise BrokenProgram(f"{name} is declared as {tensor.name}")
    states = {io.tensor for io in program.states}
    fetched = {op.output for op in program.ops if op.kind is OpKind.FETCH}
    defined = {io.tensor for io in program.inputs} - fetched
    defined |= states | {name for name, tensor in program.tensors.items() if tensor.constant is not None}
    for op in program.ops:
        for operand in op.operands:
            if operand.tensor not in defined or operand.tensor not in program.tensors:
                raise BrokenProgram(f"{op.name} ({op.kind.name}) reads {operand.tensor}, defined by nothing "
                                    "before it")
        if (op.output in defined) != (op.kind is OpKind.COMMIT and op.output in states):
            raise BrokenProgram(f"{op.name} ({op.kind.name}) defines {op.output}, which is defined already")
        if op.output not in program.tensors:
            raise BrokenProgram(f"{op.name} ({op.kind.name}) defines {op.output}, which is not declared")
        defined.add(op.output)
    for io in (*program.inputs, *program.outputs, *program.states):
        if io.tensor not in defined | fetched or io.tensor not in program.tensors:
            raise BrokenProgram(f"{io.name} lies in {io.tensor}, which nothing defines")

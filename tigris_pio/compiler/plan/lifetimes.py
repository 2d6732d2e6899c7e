"""Lifetimes: from which step to which step each activation lives.

Step i is operator i of the program. Model inputs are born at step -1, before the first operator;
model outputs die at step `len(ops)`, after the last; what is streamed lives as other activations do. States live all
the time: nothing shares their memory. Constants live in flash and have no lifetime.
"""

from __future__ import annotations

import dataclasses

from tigris_pio.compiler.ir.program import Program
from tigris_pio.format.enums import OpKind


@dataclasses.dataclass(frozen=True)
class Lifetime:
    """An activation is live during the steps birth … death, both included."""

    birth: int
    death: int


def lifetimes(program: Program) -> dict[str, Lifetime]:
    """The lifetime of every activation of `program`, in order of birth."""
    birth = {io.tensor: -1 for io in program.inputs}
    death = dict(birth)
    for step, op in enumerate(program.ops):
        for operand in op.operands:
            if operand.tensor in birth:
                death[operand.tensor] = step
        birth[op.output] = step
        death[op.output] = step
    for place, io in enumerate(program.outputs):
        if (OpKind.TAKE, place) not in program.movers:
            death[io.tensor] = len(program.ops)
    for io in program.states:
        birth[io.tensor], death[io.tensor] = -1, len(program.ops)
    return {name: Lifetime(birth[name], death[name]) for name in birth}

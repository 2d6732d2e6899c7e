"""The data by which an order of operators is judged: who makes and reads each activation, and how many bytes it takes.

Operators and activations are numbers here. Only the body of a program is ordered. Its COMMITs stay last, and the
tensors they read live to the end, as do outputs and states. Constants lie in flash and are left out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from tigris_pio.compiler.ir.program import Program, ProgramOp

#: Operators by their places in the program.
Order = Sequence[int]


@dataclasses.dataclass(frozen=True)
class Flow:
    """The body of a program, in the order it has there.

    reads: the activations that each operator reads, once each
    makes: the one that each operator makes; they are numbered in this order, behind those that are given
    scratch: bytes that each operator needs while it runs
    bytes: of each activation
    kept: whether each activation is never free
    given: the activations that are there before the first operator
    shares: the activations that what each operator makes may lie in or around, where they die with the operator
    """

    reads: tuple[tuple[int, ...], ...]
    makes: tuple[int, ...]
    scratch: tuple[int, ...]
    bytes: tuple[int, ...]
    kept: tuple[bool, ...]
    given: tuple[int, ...]
    shares: tuple[tuple[int, ...], ...]

    @staticmethod
    def of(program: Program) -> Flow:
        """The flow of `program`."""
        body = program.ops[: program.body_count]
        made = {op.output for op in body}  # a streamed input is what an operator makes
        there = (io.tensor for io in (*program.inputs, *program.states))
        given = dict.fromkeys(name for name in there if name not in made)
        number = {name: place for place, name in enumerate((*given, *(op.output for op in body)))}
        kept = {io.tensor for io in (*program.outputs, *program.states)}
        kept |= {operand.tensor for op in program.ops[program.body_count :] for operand in op.operands}
        return Flow(
            tuple(tuple(dict.fromkeys(number[o.tensor] for o in op.operands if o.tensor in number)) for op in body),
            tuple(number[op.output] for op in body),
            tuple(op.scratch_bytes for op in body),
            tuple(program.tensors[name].bytes for name in number),
            tuple(name in kept for name in number),
            tuple(range(len(given))),
            tuple(tuple(dict.fromkeys(number[name] for name in _shared(op) if name in number)) for op in body),
        )

    @cached_property
    def readers(self) -> tuple[tuple[int, ...], ...]:
        """The operators that read each activation, in the program's order."""
        found: list[list[int]] = [[] for _ in self.bytes]
        for op, names in enumerate(self.reads):
            for name in names:
                found[name].append(op)
        return tuple(map(tuple, found))

    @cached_property
    def parents(self) -> tuple[tuple[int, ...], ...]:
        """The operators that make what each operator reads."""
        maker = {name: op for op, name in enumerate(self.makes)}
        return tuple(tuple(maker[name] for name in names if name in maker) for names in self.reads)

    def children(self, op: int) -> tuple[int, ...]:
        """The operators that read what `op` makes."""
        return self.readers[self.makes[op]]


def _shared(op: ProgramOp) -> Iterator[str]:
    for place in (*op.in_place, *(alias.operand for alias in op.aliases)):
        yield op.operands[place].tensor


class Step(NamedTuple):
    """Bytes live before and while an operator runs."""

    before: int
    during: int


def steps(flow: Flow, order: Order) -> list[Step]:
    """The live bytes while each operator of `order`, all of the body, runs.

    All tensors are whole. Scratch counts, and outputs that take the place of operands count once.
    """
    waiting = [len(readers) + kept for readers, kept in zip(flow.readers, flow.kept, strict=True)]
    alive = sum(flow.bytes[name] for name in flow.given if waiting[name])
    found = []
    for op in order:
        before, made = alive, flow.makes[op]
        alive += flow.bytes[made]
        shared = sum(flow.bytes[name] for name in flow.shares[op] if waiting[name] == 1)
        found.append(Step(before, alive + flow.scratch[op] - min(shared, flow.bytes[made])))
        for name in flow.reads[op]:
            waiting[name] -= 1
            if not waiting[name]:
                alive -= flow.bytes[name]
        if not waiting[made]:
            alive -= flow.bytes[made]
    return found


def peak(flow: Flow, order: Order) -> int:
    """Most bytes that are live while an operator runs."""
    return max((step.during for step in steps(flow, order)), default=0)


def reordered(program: Program, order: Order) -> Program:
    """`program` with its body in `order`; ValueError unless that has each operator once, behind those it reads."""
    if sorted(order) != list(range(program.body_count)):
        raise ValueError(f"the order is no permutation of the {program.body_count} operators of {program.name}")
    made = {program.ops[op].output for op in order}
    ops = tuple(program.ops[op] for op in order)
    for op in ops:
        made.discard(op.output)
        late = next((operand.tensor for operand in op.operands if operand.tensor in made), None)
        if late is not None:
            raise ValueError(f"{op.name} reads {late} before it is made")
    return dataclasses.replace(program, ops=(*ops, *program.ops[program.body_count :]))

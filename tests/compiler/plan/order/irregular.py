"""Irregularly wired programs, and their least peak by brute force."""

import dataclasses
import random

from tests.compiler.synthetic import Builder
from tigris_pio.compiler.ir.program import Operand, Program, RowMap
from tigris_pio.compiler.plan.lifetimes import lifetimes
from tigris_pio.compiler.plan.timeline import sweep


def randwire(seed: int, count: int) -> Program:
    """A randomly wired network: each operator reads one earlier tensor, or two that a Concat joins.

    The end joins all tensors that nothing reads.
    """
    rng, b = random.Random(seed), Builder()
    tensors, read = [(b.input(4, 8), 8)], set()
    for _ in range(count):
        picked = rng.sample(tensors, min(len(tensors), rng.choice([1, 1, 2, 2])))
        read |= {name for name, _ in picked}
        width = rng.choice([4, 8, 16, 32, 64])
        tensors.append((b.op(_rows(_joined(b, picked)), 4, width), width))
    return b.program(_joined(b, [item for item in tensors if item[0] not in read]))


def _joined(b: Builder, tensors: list[tuple[str, int]]) -> str:
    if len(tensors) == 1:
        return tensors[0][0]
    return b.op(_rows(*(name for name, _ in tensors)), 4, sum(width for _, width in tensors))


def _rows(*names: str) -> list[Operand]:
    return [Operand(name, RowMap.same()) for name in names]


def tangled(seed: int, count: int) -> Program:
    """Up to three operands, several inputs, scratch, outputs amid the program, tensors that nothing reads, folded ones
    and operators that read a tensor twice."""
    rng, b = random.Random(seed), Builder()
    names = [b.input(2, rng.choice([3, 16])) for _ in range(rng.choice([1, 2, 3]))]
    made = []
    for _ in range(count):
        sources = rng.choices(names, k=rng.choice([1, 1, 2, 3]))
        made.append(b.op(_rows(*sources), 2, rng.choice([1, 5, 16, 40]), rng.choice([0, 0, 0, 30])))
        if rng.random() < 0.3:
            b.ops[-1] = dataclasses.replace(b.ops[-1], in_place=(rng.randrange(len(sources)),))
        if rng.random() < 0.1:
            made[-1] = b.whole(b.summed(made[-1], 8), 2, 8)
        names.append(made[-1])
    return b.program(*rng.sample(made, min(len(made), rng.choice([1, 2, 3]))))


def fullest_step(program: Program) -> int:
    """Most bytes live at an operator of `program` as it is, its scratch included, less the bytes that it overwrites."""
    lives, sizes = lifetimes(program), {name: tensor.bytes for name, tensor in program.tensors.items()}
    live = sweep(((life, sizes[name]) for name, life in lives.items()), len(program.ops)).live
    most = 0
    for step, op in enumerate(program.ops):
        over = [op.operands[place].tensor for place in op.in_place]
        shared = sum(min(sizes[name], sizes[op.output]) for name in over if lives[name].death == step)
        most = max(most, int(live[step + 1]) + op.scratch_bytes - shared)
    return most


def least_fullest_step(program: Program) -> int:
    """The least peak of all orders: over every set of operators that may have run, by how many they are."""
    ops, tensors = program.ops, program.tensors
    maker = {op.output: place for place, op in enumerate(ops)}
    needs = [{maker[o.tensor] for o in op.operands if o.tensor in maker} for op in ops]
    outputs = {io.tensor for io in program.outputs}

    def still_read(done: frozenset[int]) -> set[str]:
        return {o.tensor for place, op in enumerate(ops) if place not in done for o in op.operands} | outputs

    def live(done: frozenset[int]) -> int:
        there = {io.tensor for io in program.inputs} | {ops[place].output for place in done}
        return sum(tensors[name].bytes for name in there & still_read(done))

    level = {frozenset[int](): 0}
    for _ in ops:
        following: dict[frozenset[int], int] = {}
        for done, peak in level.items():
            base = live(done)
            for place, op in enumerate(ops):
                if place not in done and needs[place] <= done:
                    then = done | {place}
                    made, left = tensors[op.output].bytes, still_read(then)
                    over = {op.operands[place].tensor for place in op.in_place} - left
                    shared = sum(min(made, tensors[name].bytes) for name in over)
                    needed = max(peak, base + made + op.scratch_bytes - shared)
                    following[then] = min(needed, following.get(then, needed))
        level = following
    return min(level.values())

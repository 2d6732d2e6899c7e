"""Tensors that share memory: as much as there is to share, and never a byte that somebody needs."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.compiler.simulator import Simulator
from tests.compiler.synthetic import Builder
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.ir.program import Alias, Operand, Program, RowMap
from tigris_pio.compiler.plan.aim import WeightOptions
from tigris_pio.compiler.plan.lifetimes import Lifetime
from tigris_pio.compiler.plan.memory.request import check
from tigris_pio.compiler.plan.memory.sharing import Block, Kind, Link, share
from tigris_pio.compiler.plan.search import plan_program


def planned(program: Program, alignment: int = 4):
    plan = plan_program(program, Budget(None), alignment, WeightOptions())
    Simulator(plan).run()
    return plan


def bytes_of(plan) -> int:
    return plan.fast_bytes - plan.state_bytes


def row(b: Builder, count: int) -> str:
    """Elementwise operators one after the other."""
    t = b.input(1, 400)
    for _ in range(count):
        t = b.pointwise(t)
    return t


def total(b: Builder, turned: bool) -> str:
    x = row(b, 1)
    y = b.whole(x, 1, 400)
    return b.pointwise(*((y, x) if turned else (x, y)))


def read_later(b: Builder) -> str:
    x = row(b, 1)
    return b.pointwise(b.pointwise(x), x)


def joined(b: Builder) -> str:
    x = b.input(1, 16)
    return b.concatenated(*(b.whole(x, rows, 64) for rows in (1, 3, 2)))


def halves(b: Builder) -> str:
    whole = b.whole(b.input(1, 16), 4, 64)
    first, second = b.slice(whole, 0, 2), b.slice(whole, 2, 2)
    return b.pointwise(first, b.pointwise(second))


def needed_again(b: Builder) -> str:
    whole = b.whole(b.input(1, 16), 4, 64)
    return b.pointwise(whole, b.pointwise(b.slice(whole, 0, 4)))


@pytest.mark.parametrize(("build", "least"), [
    (partial(row, count=5), 400),
    (partial(total, turned=False), 800), (partial(total, turned=True), 800),  # either operand may end with the sum
    (read_later, 800),  # what is read later is not written over
    (joined, 6 * 64 + 16),  # the parts of a concatenation lie in it
    (halves, 4 * 64 + 16),  # slices lie in what they are cut from and are written over when it is gone
    (needed_again, 2 * 4 * 64),  # a slice of what is needed again is not written over
])  # fmt: skip
def test_as_much_is_shared_as_there_is_to_share(build: Callable[[Builder], str], least: int) -> None:
    b = Builder()
    assert bytes_of(planned(b.program(build(b)))) == least


def test_a_place_that_is_not_aligned_is_not_taken():
    b = Builder()
    whole = b.whole(b.input(1, 16), 1, 80)
    b.ops.append(dataclasses.replace(b.ops[-1], operands=(Operand(whole, RowMap.same()),), output="cut", name="cut",
                                     aliases=(Alias(0, -8),)))
    b.tensors["cut"] = dataclasses.replace(b.tensors[whole], name="cut", width=72)
    program = b.program("cut")
    assert bytes_of(planned(program, alignment=4)) == 80 + 16
    assert bytes_of(planned(program, alignment=16)) >= 80 + 72


def test_only_windows_that_begin_with_row_0_are_shared():
    """Of a window that nobody reads the first rows of, none is there."""
    b = Builder()
    made = b.op([Operand(b.input(8, 16), RowMap.same())], 8, 16)
    cut = b.slice(made, 3, 4)
    planned(b.program(b.op([Operand(cut, RowMap.same())], 4, 8)))


@given(seed=st.integers(0, 10**6))
def test_no_two_blocks_lie_over_each_other_unless_they_are_joined_for_it(seed):
    """Every pair that overlaps is a link's, or holds the same by several."""
    rng = random.Random(seed)
    names = [f"b{i}" for i in range(8)]
    blocks = {}
    for name in names:
        birth = rng.randrange(6)
        blocks[name] = Block(rng.choice([4, 8, 16]), Lifetime(birth, birth + rng.randrange(4)))
    links = [Link(rng.choice(list(Kind)), *rng.sample(names, 2), rng.choice([0, 0, 4, 8])) for _ in range(12)]
    linked = {frozenset((link.first, link.second)) for link in links}
    for request in share(blocks, links, 4):
        check([request], {request.name: 0}, 4)
        assert {part.name: (part.bytes, part.life) for part in request.parts} == {
            part.name: (blocks[part.name].bytes, blocks[part.name].life) for part in request.parts
        }
        for a in request.parts:
            for b in request.parts:
                together = (a.life.birth <= b.life.death and b.life.birth <= a.life.death
                            and a.offset < b.offset + b.bytes and b.offset < a.offset + a.bytes)
                if a.name < b.name and together and frozenset((a.name, b.name)) not in linked:
                    near = [link.kind for link in links if {a.name, b.name} & {link.first, link.second}]
                    assert Kind.HOLDS in near, f"{a.name} and {b.name} overlap"

"""Which tensors stay in fast memory: never more than it holds, and the ones worth most first."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.compiler.synthetic import Builder, random_program
from tigris_pio.compiler.ir.program import Operand, RowMap
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.residency import home_lifetimes, promote
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.format.enums import Home


@pytest.mark.parametrize("seed", range(20))
def test_what_is_promoted_fits_at_every_step(seed: int) -> None:
    draw = random.Random(seed)
    index = ProgramIndex.of(random_program(seed, 12))
    slow = dict.fromkeys(index.lives, Home.SLOW)
    lives = home_lifetimes(index, [], slow)
    sizes = {name: index.tensor(name).bytes for name in slow}
    room = draw.randint(max(sizes.values()), sum(sizes.values()))
    fast = {name for name, home in promote(index, [], slow, room, 1).items() if home is Home.FAST}

    def live(names: set[str]) -> int:
        held = np.zeros(len(index.ops) + 2, dtype=int)
        for name in names:
            held[lives[name].birth + 1 : lives[name].death + 2] += sizes[name]
        return int(held.max())

    assert live(fast) <= room
    for name in slow.keys() - fast:  # no room was left
        assert live(fast | {name}) > room


def test_what_is_read_soon_and_often_is_promoted_first() -> None:
    b = Builder()
    x = b.input(4, 10)
    far = b.op([Operand(x, RowMap.same())], 4, 10)  # read by the last operator alone
    near = b.op([Operand(x, RowMap.same())], 4, 10)  # read by the next three
    last = near
    for _ in range(3):
        last = b.op([Operand(near, RowMap.same()), Operand(last, RowMap.same())], 4, 10)
    index = ProgramIndex.of(b.program(b.op([Operand(last, RowMap.same()), Operand(far, RowMap.same())], 4, 10)))
    homes = promote(index, [], {far: Home.SLOW, near: Home.SLOW}, 40, 1)
    assert homes == {far: Home.SLOW, near: Home.FAST}
    assert promote(index, [], {near: Home.SLOW}, 39, 1) == {near: Home.SLOW}


def test_homes_of_banded_stages_are_held_for_all_their_steps() -> None:
    b = Builder()
    t = b.input(4, 10)
    names = [t := b.op([Operand(t, RowMap.same())], 4, 10) for _ in range(4)]
    index = ProgramIndex.of(b.program(t))
    lives = home_lifetimes(index, [Segment(0, 2), Segment(2, 4, banded=True)], names)
    assert [(lives[name].birth, lives[name].death) for name in names] == [(0, 1), (1, 3), (2, 3), (2, 4)]

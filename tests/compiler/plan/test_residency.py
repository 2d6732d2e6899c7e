"""From when to when homes in fast memory are taken."""

from __future__ import annotations

from tests.compiler.synthetic import Builder
from tigris_pio.compiler.ir.program import Operand, RowMap
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.residency import home_lifetimes
from tigris_pio.compiler.plan.segment import Segment


def test_homes_of_banded_stages_are_held_for_all_their_steps() -> None:
    b = Builder()
    t = b.input(4, 10)
    names = [t := b.op([Operand(t, RowMap.same())], 4, 10) for _ in range(4)]
    index = ProgramIndex.of(b.program(t))
    lives = home_lifetimes(index, [Segment(0, 2), Segment(2, 4, banded=True)], names)
    assert [(lives[name].birth, lives[name].death) for name in names] == [(0, 1), (1, 3), (2, 3), (2, 4)]

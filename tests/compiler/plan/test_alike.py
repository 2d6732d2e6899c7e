"""Segments that are alike get the same bands; whatever makes a difference to bands tells them apart."""

from __future__ import annotations

import pytest

from tests.compiler.synthetic import Builder, random_program
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.plan import heights
from tigris_pio.compiler.plan.aim import Aim, WeightOptions
from tigris_pio.compiler.plan.alike import Alike
from tigris_pio.compiler.plan.heights import cheapest_band
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.format.enums import Home


def _blocks(count: int, skipped: bool) -> ProgramIndex:
    """Blocks of two windows; what the first one reads lives to the end when it is `skipped` to there."""
    builder = Builder()
    start = tensor = builder.input(24, 16)
    for _ in range(count):
        tensor = builder.window(builder.window(tensor, 3, 1, 1, 32), 3, 1, 1, 16)
    return ProgramIndex.of(builder.program(builder.pointwise(tensor, start) if skipped else tensor))


def _key(index: ProgramIndex, first: int, end: int, home: Home = Home.FAST) -> object:
    names = (*index.inputs(first, end), *index.outputs(first, end))
    return Alike.of(index).segment(Segment(first, end, True, True), dict.fromkeys(names, home))


def test_blocks_of_one_kind_are_alike() -> None:
    index = _blocks(4, skipped=False)
    assert _key(index, 0, 2) == _key(index, 2, 4) == _key(index, 4, 6)
    assert _key(index, 0, 2) != _key(index, 1, 3)
    assert _key(index, 0, 2) != _key(index, 0, 2, Home.SLOW)


def test_what_ends_with_a_segment_makes_a_difference() -> None:
    index = _blocks(4, skipped=True)
    assert _key(index, 2, 4) == _key(index, 4, 6)
    assert _key(index, 0, 2) != _key(index, 2, 4)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("slow", [0, 1 << 20])
def test_alike_segments_get_the_bands_of_each(seed: int, slow: int, monkeypatch: pytest.MonkeyPatch) -> None:
    program = random_program(seed, 9) if seed % 2 else _blocks(5, skipped=seed % 4 == 0).program
    home = Home.SLOW if slow else Home.FAST
    shared, apart = ProgramIndex.of(program), ProgramIndex.of(program)
    looked: list[Segment] = []
    look = heights._cheapest
    for room in (200, 500, 900):
        aim = Aim.of(Budget(room, slow), 0, 16, WeightOptions())
        for first in range(len(program.ops) - 1):
            if not all(shared.bandable[first : first + 2]):
                continue
            segment = Segment(first, first + 2, True)
            homes = dict.fromkeys((*shared.inputs(first, first + 2), *shared.outputs(first, first + 2)), home)
            monkeypatch.setattr(heights, "_cheapest", lambda *a: looked.append(a[1]) or look(*a))
            assert cheapest_band(shared, segment, homes, room, aim) == look(apart, segment, homes, room, aim)
    assert seed % 2 or len(looked) < 3 * (len(program.ops) - 1)

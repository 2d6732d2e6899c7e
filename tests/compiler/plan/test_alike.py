"""Segments that are alike get the same bands; whatever makes a difference to bands tells them apart."""

from __future__ import annotations

from tests.compiler.synthetic import Builder
from tigris_pio.compiler.plan.alike import Alike
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

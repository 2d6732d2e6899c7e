"""How stages share what outputs that grow over inputs, one after the other, leave."""

from __future__ import annotations

import pytest

from tests.compiler.synthetic import chain
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.plan.aim import Aim, WeightOptions
from tigris_pio.compiler.plan.cut.descent import NO_DESCENT, Descent, ways_to_grow
from tigris_pio.compiler.plan.cut.growth import Pair
from tigris_pio.compiler.plan.cut.size import Size
from tigris_pio.compiler.plan.cut.temporal import cheapest_cut
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.placement import arrange

FIRST, SECOND = 1, 2  # tensors, as sets


def grows(drift: int = 32, growth: float = 32.0) -> Pair:
    return Pair(FIRST, SECOND, 1000, drift, growth)


def test_the_taller_the_bands_the_further_down():
    ways = list(ways_to_grow((grows(),), NO_DESCENT, Size(0), 320, 0, 100, 4))
    assert [way.rows for way in ways] == [11, 5, 2, 1]
    assert [way.descent.drift for way in ways] == [32 * way.rows for way in ways]
    assert ways[0].spared == 0
    for way in ways[1:]:
        assert 32 * (way.rows - 1) <= 320 - way.spared < 32 * way.rows


def test_windows_lie_above_where_that_is_free():
    """There are 128 bytes, for 5 rows. A row more makes them more; below the output nothing has room."""
    before, windows = Descent(FIRST, 96, 32), Size(64, 16.0)
    ways = list(ways_to_grow((grows(growth=0.0),), before, windows, 80, 128, 100, 4))
    assert {(way.rows, way.descent.top) for way in ways} == {(6, 48), (5, 32)}


def test_nothing_rises_further_than_earlier_stages_let_it():
    windows = Size(64, 0.0)
    free = list(ways_to_grow((grows(),), Descent(FIRST, 16, 0, slack=48), windows, 0, 16, 100, 4))
    assert [way.descent.top for way in free] == [48] and free[0].descent.slack == 0
    assert not list(ways_to_grow((grows(),), Descent(FIRST, 16, 0, slack=47), windows, 0, 16, 100, 4))


@pytest.mark.parametrize(("length", "height"), [(3, 24), (5, 12)])
def test_what_a_cut_of_a_chain_counts_on_is_so(length, height):
    """Each stage's output grows over its input, and offsets come to what the live bytes said."""
    index, whole = ProgramIndex.of(chain(length, height, 32)), height * 32
    descending = 0
    for fast in range(whole + 96, 2 * whole + 64, 48):
        aim = Aim.of(Budget(fast, 0), 1 << 20, 4, WeightOptions())
        cut = cheapest_cut(index, aim)
        if cut is not None:
            found = arrange(index, cut.segments, aim, cut.homes, cut.spared)
            assert found.fast_bytes <= fast
            descending += sum(bool(draft.overlays) for draft in found.drafts) > 1
    assert descending

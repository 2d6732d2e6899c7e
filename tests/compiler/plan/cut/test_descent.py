"""How stages share what outputs that grow over inputs, one after the other, leave."""

from __future__ import annotations

import pytest

from tests.compiler.synthetic import batched, chain
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.plan.aim import Aim, WeightOptions
from tigris_pio.compiler.plan.cost import plan_cost
from tigris_pio.compiler.plan.cut.descent import NO_DESCENT, Descent, ways_to_grow
from tigris_pio.compiler.plan.cut.growth import Pair
from tigris_pio.compiler.plan.cut.size import Size
from tigris_pio.compiler.plan.cut.temporal import cheapest_cut
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.placement import arrange
from tigris_pio.compiler.plan.search import find_arrangement

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


def test_no_more_bands_than_rows():
    ways = list(ways_to_grow((grows(),), NO_DESCENT, Size(0), 3200, 0, 8, 4))
    assert max(way.rows for way in ways) == 8


def test_an_output_that_ends_behind_its_input_takes_from_above():
    up = ways_to_grow((grows(drift=-48),), Descent(FIRST, 64, 0), Size(0), 100, 64, 100, 4)
    level = ways_to_grow((grows(drift=0),), Descent(FIRST, 64, 0), Size(0), 100, 64, 100, 4)
    assert max(way.rows for way in up) > max(way.rows for way in level)


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


def test_what_does_not_fit_has_no_way():
    assert not list(ways_to_grow((grows(),), Descent(FIRST, 64, 0), Size(0), 60, 64, 100, 4))


@pytest.mark.parametrize("length", [3, 4, 5, 6])
@pytest.mark.parametrize("height", [12, 24])
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


@pytest.mark.parametrize("images,eighths,most", [
    (1, 8, 5_600), (1, 6, 30_000), (1, 5, 77_000), (2, 8, 900), (3, 6, 1_350),
])  # fmt: skip
def test_chains_of_outputs_that_grow_over_inputs(images, eighths, most):
    """If each stage took what it can get, nothing would fit in the end, or bands of one row. A stage more takes some
    400 instructions an image."""
    program = chain(4, 16, 64)
    index = ProgramIndex.of(batched(program, images) if images > 1 else program)
    found = find_arrangement(index, Budget(2 * 1024 * images * eighths // 8, 0), 16, WeightOptions())
    assert found is not None
    whole = find_arrangement(index, Budget(None, 0), 16, WeightOptions())
    assert whole is not None and plan_cost(index, found.drafts) - plan_cost(index, whole.drafts) <= most

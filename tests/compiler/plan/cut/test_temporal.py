"""The search for the cheapest cut: what its pruning may leave out, and which searches it need not make."""

import dataclasses
import math
from collections.abc import Callable

import pytest

from tests.compiler.synthetic import chain, random_program, wild_program
from tests.harness.tiers import sampled
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.plan.aim import Aim, WeightOptions, Windows
from tigris_pio.compiler.plan.cut.crossings import Crossings, bits
from tigris_pio.compiler.plan.cut.descent import NO_DESCENT, Descent, ways_to_grow
from tigris_pio.compiler.plan.cut.edges import Edges
from tigris_pio.compiler.plan.cut.growth import Pair
from tigris_pio.compiler.plan.cut.labels import Label, Labels
from tigris_pio.compiler.plan.cut.size import Size
from tigris_pio.compiler.plan.cut.temporal import cheapest_cut
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.placement import arrange

AMPLE = 1 << 40


def test_a_label_that_may_pay_is_kept() -> None:
    """A costlier label is kept if reloading the tensors that it keeps in fast memory would cost more than it does."""
    index = ProgramIndex.of(chain(4, 8, 4))
    sets = Crossings.of(index, 1)
    labels = Labels(sets, slow_byte=10.0, most=math.inf, resident=False)
    (place,) = bits(sets.across[2])
    bytes_ = sets.size(1 << place)
    labels.offer(2, Label(100.0, 0, False, None, None))
    near, far = 100.0 + 9 * bytes_, 100.0 + 11 * bytes_
    labels.offer(2, Label(near, 1 << place, False, None, None))
    assert [label.cost for label in labels.kept(2)] == [100.0, near]
    other = Labels(sets, slow_byte=10.0, most=math.inf, resident=False)
    other.offer(2, Label(100.0, 0, False, None, None))
    other.offer(2, Label(far, 1 << place, False, None, None))
    assert [label.cost for label in other.kept(2)] == [100.0]
    assert not other.beats(2, 0, False, 100.0) and other.beats(2, 0, False, 99.0)
    assert other.beats(2, 1 << place, False, near) and not other.beats(2, 1 << place, False, far)


@pytest.mark.thorough
@pytest.mark.parametrize(("seed", "share"), [(0, 30), (9, 20)])
def test_a_large_program_has_a_cut_where_the_likeliest_does_not_fit(seed: int, share: int) -> None:
    """Estimates of bands are optimistic, and of a large program few paths are drafted, unless none of them fits."""
    index = ProgramIndex.of(random_program(seed, 100))
    limit = int(index.live.max()) * share // 100
    assert cheapest_cut(index, Aim.of(Budget(limit, AMPLE), AMPLE, 4, WeightOptions())) is not None


@pytest.mark.parametrize(("make", "seed", "length", "share", "slow"), sampled([
    (random_program, 1, 10, 0.7, 0), (wild_program, 0, 10, 0.7, 0), (wild_program, 3, 10, 0.7, 0),
    (wild_program, 1, 10, 0.3, AMPLE), (random_program, 3, 10, 0.3, AMPLE), (wild_program, 3, 16, 0.5, AMPLE),
], 2))  # fmt: skip
def test_a_bound_on_the_cost_leaves_out_nothing_cheaper(
    make: Callable[[int, int], Program], seed: int, length: int, share: float, slow: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """With any bound, the search finds the same cut as without early pruning, after as many expansions.

    Each search has its own index, because costs are memoised there.
    """
    index = ProgramIndex.of(make(seed, length))
    room = int(index.live.max() * share) + 300
    ample = Aim.of(Budget(room, slow), room, 1, WeightOptions())
    cut = cheapest_cut(index, ample)
    assert cut is not None
    for times in (1.001, 1.05, 1.2, 2.0):
        aim = dataclasses.replace(ample, most=times * cut.cost)
        found = cheapest_cut(ProgramIndex.of(make(seed, length)), aim)
        with monkeypatch.context() as patched:
            patched.setattr(Edges, "_most", lambda self, label: math.inf)
            assert found == cheapest_cut(ProgramIndex.of(make(seed, length)), aim)


def test_what_an_aim_gives_more_of_is_not_within_another() -> None:
    """One that gives as much in everything is; what has no cut then has none for it either."""
    aim = Aim.of(Budget(1000, 500), 0, 16, WeightOptions())
    stricter = [
        aim.at(900), dataclasses.replace(aim, slow=0), dataclasses.replace(aim, most=5.0),
        dataclasses.replace(aim, overlay=False), dataclasses.replace(aim, frugal=True),
        dataclasses.replace(aim, lowest=True), dataclasses.replace(aim, less=((0, 2, 32),)),
        dataclasses.replace(aim, apart=frozenset({1})), dataclasses.replace(aim, windows=Windows.APART),
    ]  # fmt: skip
    for one in stricter:
        assert one.within(aim) and one.within(one) and not aim.within(one), one
    assert dataclasses.replace(aim, state=64).within(aim) and aim.within(dataclasses.replace(aim, state=64))
    assert not dataclasses.replace(aim, descents=False).within(aim)  # what lies above such outputs is free then
    assert not dataclasses.replace(aim, windows=Windows.PARKED).within(aim)


# How stages share what outputs that grow over inputs, one after the other, leave.

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

"""Paces against their definition: an output's rows are made as soon as its input's rows allow, never earlier."""

import itertools

import pytest

from tigris_pio.compiler.ir.pace import Pace
from tigris_pio.compiler.ir.program import RowMap

PACES = [Pace(n, d, offset) for n, d in ((1, 1), (2, 1), (1, 2), (3, 2), (1, 4)) for offset in (-5, -2, 0, 1, 3)]
MAPS = {
    "windows": [RowMap.window(size, stride, 1, pad) for size in (1, 3, 5) for stride in (1, 2, 3) for pad in (0, 1)],
    "shifts": [RowMap.shifted(rows) for rows in (-2, 0, 3)],
    "resampling": [RowMap(n, d, first, first + reach) for n, d in ((1, 2), (1, 3), (2, 3), (3, 2), (3, 4))
                   for first in (-2, 0, 1) for reach in (0, 1, 3)],
}  # fmt: skip
BANDS = range(1, 13)


def possible(rows: RowMap, available: int) -> int:
    """The number of output rows that need no input row beyond the first `available`."""
    return next(e for e in itertools.count() if (e * rows.numerator + rows.last) // rows.denominator >= available)


@pytest.mark.parametrize("kind", MAPS)
def test_rows_are_made_when_their_input_exists(kind: str) -> None:
    lags = 0
    for pace, rows, bands in itertools.product(PACES, MAPS[kind], BANDS):
        available, made = pace.rows(bands), pace.output_pace(rows).rows(bands)
        if available <= rows.last // rows.denominator:
            assert made <= 0, (pace, rows, bands)
            continue
        assert made <= possible(rows, available), (pace, rows, bands)
        if rows.denominator == 1:
            assert made == possible(rows, available), (pace, rows, bands)
        elif available - 1 > rows.last // rows.denominator:
            assert made >= possible(rows, available - 1), (pace, rows, bands)
        lags += made < possible(rows, available)
    assert (lags > 0) == (kind == "resampling")


def test_the_slower_of_two_paces_never_has_more_rows() -> None:
    for one, other in ((one, other) for one, other in itertools.product(PACES, PACES) if one.has_same_rate(other)):
        slower, faster = one.slower(other), one.faster(other)
        assert {slower, faster} == {one, other}
        assert all(slower.rows(bands) <= faster.rows(bands) for bands in BANDS)


def test_an_earlier_pace_would_make_rows_too_early() -> None:
    """At least at one band of a cycle."""
    for pace, rows in itertools.product(PACES, (rows for maps in MAPS.values() for rows in maps)):
        through = pace.output_pace(rows)
        earlier = Pace(through.numerator, through.denominator, through.offset + 1)
        enough = [bands for bands in range(12, 60) if pace.rows(bands) > rows.last // rows.denominator]
        allowed = {bands: possible(rows, pace.rows(bands)) for bands in enough}
        assert all(through.rows(bands) <= allowed[bands] for bands in enough)
        assert any(earlier.rows(bands) > allowed[bands] for bands in enough), (pace, rows)


def test_bands_for_rows() -> None:
    for pace, rows in itertools.product(PACES, range(1, 30)):
        bands = pace.bands_for(rows)
        assert pace.rows(bands) >= rows
        assert bands == 1 or pace.rows(bands - 1) < rows


def first_needed(made: int, rows: RowMap) -> int:
    return made * rows.numerator + rows.first


def test_the_slowest_pace_of_a_sibling_reader() -> None:
    """The pace needs no row that the other reader has released; with a row less it would."""
    maps = (*MAPS["windows"], *MAPS["shifts"])
    found = 0
    for pace, mine, other in itertools.product(PACES, maps, maps):
        beside = pace.sibling_pace(mine, other)
        assert (beside is not None) == (mine.numerator in (1, other.numerator))
        for bands in BANDS if beside is not None else ():
            done, made = first_needed(pace.rows(bands), mine), beside.rows(bands)
            assert first_needed(made - 1, other) < done <= first_needed(made, other), (pace, mine, other, bands)
            found += 1
    assert found


def test_other_row_maps_have_no_sibling_pace() -> None:
    plain = RowMap.shifted(0)
    for rows in (*MAPS["resampling"], RowMap(0, 1, 0, 7)):
        assert Pace(1).sibling_pace(plain, rows) is None
    assert Pace(1).sibling_pace(RowMap(1, 2, 0, 0), plain) is None


@pytest.mark.parametrize("kind", MAPS)
def test_the_input_pace_provides_the_rows_of_an_output(kind: str) -> None:
    """If no row is repeated, a slower pace does not."""
    for pace, rows in itertools.product(PACES, MAPS[kind]):
        wanted = pace.input_pace(rows)
        later = Pace(wanted.numerator, wanted.denominator, wanted.offset - 1)
        taken = {bands: ((pace.rows(bands) - 1) * rows.numerator + rows.last) // rows.denominator + 1
                 for bands in range(1, 30)}
        assert all(wanted.rows(bands) >= taken[bands] for bands in taken), (pace, rows)
        if rows.denominator == 1:
            assert any(later.rows(bands) < taken[bands] for bands in taken), (pace, rows)

"""Offset assignment against its lower bound, an exhaustive check of overlaps, and known cases."""

from __future__ import annotations

import itertools
from collections import Counter
from contextlib import nullcontext

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.tiers import examples
from tigris_pio.compiler.plan.lifetimes import Lifetime
from tigris_pio.compiler.plan.memory.allocate import allocate
from tigris_pio.compiler.plan.memory.request import Part, Piece, Request, check, lower_bound
from tigris_pio.compiler.plan.memory.strategies import STRATEGIES, _Placed
from tigris_pio.sizes import round_up

LONG = _Placed.LONG


def requests_from(rows):
    return [Request(f"r{i}", size, Lifetime(birth, birth + span)) for i, (size, birth, span) in enumerate(rows)]


SHORT_ROWS = st.lists(st.tuples(st.integers(0, 60), st.integers(-1, 12), st.integers(0, 9)), max_size=6)


@pytest.mark.parametrize("births", [(0, 3), (3, 0), (3, 3)])
@pytest.mark.parametrize("low,high,fits", [(0, 10, True), (5, 15, True), (0, 9, False), (0, 1, False), (0, 0, False)])
@pytest.mark.parametrize("swapped", [False, True])
def test_the_check_sees_an_overlap(births, low, high, fits, swapped):
    """Whichever of the two is born later, and whichever lies below."""
    requests = requests_from([(10, births[0], 5), (10, births[1], 5)])
    offsets = {"r0": high, "r1": low} if swapped else {"r0": low, "r1": high}
    with nullcontext() if fits else pytest.raises(AssertionError, match="overlaps"):
        check(requests, offsets, 1)


@pytest.mark.parametrize("offset", [-16, -1, 1, 8, 15, 17])
def test_the_check_sees_what_is_misaligned(offset):
    with pytest.raises(AssertionError, match="misaligned"):
        check(requests_from([(10, 0, 5)]), {"r0": offset}, 16)
    check(requests_from([(10, 0, 5)]), {"r0": 16 * max(0, offset)}, 16)


@pytest.mark.parametrize("span", [LONG - 1, LONG, LONG + 1, 2 * LONG])
@pytest.mark.parametrize("gap", [-1, 0, 1])
def test_lives_meet_at_their_last_step(span, gap):
    """A short life that begins just before, at or after the end of a long one, or ends so at its beginning."""
    for birth, strategy in itertools.product((100 + span + gap, 100 - gap - 3), STRATEGIES.values()):
        requests = requests_from([(30, 100, span), (20, birth, 3)])
        offsets = strategy(requests, 1)
        check(requests, offsets, 1)
        assert max(offsets[r.name] + r.bytes for r in requests) == (30 if gap == 1 else 50)


PARTS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 60), st.integers(0, 12), st.integers(0, 9)), min_size=2,
                 max_size=3)


PIECES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 40), st.integers(0, 5), st.integers(0, 3),
                            st.integers(0, 7), st.integers(0, 5)), min_size=1, max_size=4)


def windows(groups, alignment, first=10):
    """Requests of a stage of steps `first` …, each of several pieces that are taken in some of its bands."""
    made = []
    for g, group in enumerate(groups):
        pieces = tuple(
            Piece(units * alignment, size, Lifetime(first + step, first + step + steps), Lifetime(band, band + bands))
            for units, size, step, steps, band, bands in group
        )
        life, size = Lifetime(first, first + 9), max(p.offset + p.bytes for p in pieces)
        made.append(Request(f"w{g}", size, life, (Part(f"w{g}", 0, size, life, pieces),)))
    return made


def moments(request):
    """Every byte of a request at every moment, from its pieces one by one."""
    return {(byte, step, band) for piece in request.taken
            for byte in range(piece.offset, piece.offset + piece.bytes)
            for step in range(max(-1, piece.life.birth), min(24, piece.life.death) + 1)
            for band in range(piece.bands.birth, min(13, piece.bands.death) + 1)}


def distant(groups, alignment):
    """Requests of parts at distances from each other."""
    made = []
    for g, group in enumerate(groups):
        parts = tuple(Part(f"g{g}p{p}", units * alignment, size, Lifetime(birth, birth + span))
                      for p, (units, size, birth, span) in enumerate(group))
        life = Lifetime(min(p.life.birth for p in parts), max(p.life.death for p in parts))
        made.append(Request(f"g{g}", max(p.offset + p.bytes for p in parts), life, parts))
    return made


@settings(max_examples=examples(25, 100), deadline=None)
@given(st.lists(PIECES, max_size=5), st.lists(PARTS, max_size=4), SHORT_ROWS, st.sampled_from([1, 4]))
def test_no_byte_is_taken_twice_and_the_bound_is_the_fullest_moment(groups, parts, rows, alignment):
    """Bands are a second dimension of lives; parts keep their distances."""
    requests = [*requests_from(rows), *windows(groups, alignment), *distant(parts, alignment)]
    for strategy in STRATEGIES.values():
        offsets = strategy(requests, alignment)
        check(requests, offsets, alignment)
        taken = set()
        for request in requests:
            mine = {(offsets[request.name] + byte, step, band) for byte, step, band in moments(request)}
            assert not taken & mine
            taken |= mine
    placement = allocate(requests, alignment)
    assert placement.peak == min(placement.peaks.values())
    assert round_up(placement.peak, alignment) >= lower_bound(requests, alignment)
    if alignment == 1:
        fullest = Counter(moment[1:] for request in requests for moment in moments(request))
        assert lower_bound(requests, 1) == max(fullest.values(), default=0)


@given(st.lists(PIECES, min_size=2, max_size=2), st.integers(0, 90))
def test_the_check_sees_an_overlap_in_some_bands(groups, offset):
    one, other = windows(groups, 1)
    clash = moments(one) & {(offset + byte, step, band) for byte, step, band in moments(other)}
    with pytest.raises(AssertionError, match="overlaps") if clash else nullcontext():
        check([one, other], {"w0": 0, "w1": offset}, 1)


def test_requests_whose_first_bytes_are_always_taken_lie_side_by_side():
    """Their rests are taken at other moments, and of no use to each other; another request may lie in one of them."""
    life = Lifetime(0, 9)

    def window(name: str, start: int) -> Request:
        pieces = (Piece(0, 64, life), Piece(64, 128, Lifetime(start, start + 1)))
        return Request(name, 192, life, (Part(name, 0, 192, life, pieces),))

    home = Request("home", 32, Lifetime(-1, 12))
    requests = [window("a", 0), window("b", 4), home, Request("c", 128, Lifetime(6, 7))]
    assert lower_bound(requests, 16) == 192 + 192 + 32
    assert allocate(requests, 16).peak == 192 + 192 + 32
    assert lower_bound([*requests[:2], Request("d", 256, Lifetime(6, 7))], 16) == 2 * 192
    assert lower_bound([*requests[:2], Request("d", 256, Lifetime(4, 5))], 16) == 2 * 64 + 128 + 256


def test_what_is_taken_throughout_counts_once():
    """A window of a stage of one operator: the rows it keeps and the others have the same life."""
    life = Lifetime(0, 1)
    kept = Part("a", 0, 160, life, (Piece(0, 64, life), Piece(64, 96, life)))
    requests = [Request("a", 160, life, (kept,)), Request("b", 288, life), Request("c", 1024, Lifetime(-1, 2))]
    assert lower_bound(requests, 4) == allocate(requests, 4).peak == 160 + 288 + 1024

"""Offset assignment against its lower bound, an exhaustive check of overlaps, and known cases."""

import dataclasses
import itertools
import random
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.compiler.simulator import Simulator
from tests.compiler.synthetic import Builder
from tests.harness.tiers import examples
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.ir.program import Alias, Operand, Program, RowMap
from tigris_pio.compiler.plan.lifetimes import Lifetime
from tigris_pio.compiler.plan.memory import problem as problem_module
from tigris_pio.compiler.plan.memory.allocate import allocate
from tigris_pio.compiler.plan.memory.exact import Rules, place_exactly
from tigris_pio.compiler.plan.memory.problem import find_sections, state_problem
from tigris_pio.compiler.plan.memory.request import Part, Piece, Request, check, lower_bound
from tigris_pio.compiler.plan.memory.sharing import Block, Kind, Link, share
from tigris_pio.compiler.plan.memory.strategies import STRATEGIES
from tigris_pio.compiler.plan.search import plan_program
from tigris_pio.compiler.plan.settings import WeightOptions
from tigris_pio.sizes import round_up


def requests_from(rows):
    return [Request(f"r{i}", size, Lifetime(birth, birth + span)) for i, (size, birth, span) in enumerate(rows)]


SHORT_ROWS = st.lists(st.tuples(st.integers(0, 60), st.integers(-1, 12), st.integers(0, 9)), max_size=6)


@pytest.mark.parametrize("births", [(0, 3), (3, 0), (3, 3)])
@pytest.mark.parametrize("low,high,fits", [(0, 10, True), (5, 15, True), (0, 9, False), (0, 1, False), (0, 0, False)])
@pytest.mark.parametrize("swapped", [False, True])
def test_the_check_sees_an_overlap(births, low, high, fits, swapped):
    """Either request may begin later, and either may lie below the other."""
    requests = requests_from([(10, births[0], 5), (10, births[1], 5)])
    offsets = {"r0": high, "r1": low} if swapped else {"r0": low, "r1": high}
    with nullcontext() if fits else pytest.raises(AssertionError, match="overlaps"):
        check(requests, offsets, 1)


@pytest.mark.parametrize("offset", [-16, -1, 1, 8, 15, 17])
def test_the_check_sees_what_is_misaligned(offset):
    with pytest.raises(AssertionError, match="misaligned"):
        check(requests_from([(10, 0, 5)]), {"r0": offset}, 16)
    check(requests_from([(10, 0, 5)]), {"r0": 16 * max(0, offset)}, 16)


@pytest.mark.parametrize("span", [2, 63, 200])
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


# The exact search against every placement there is, its rules one by one, and its two forms against each other.

PLENTY = 1_000_000


def life(rng, steps):
    birth = rng.randrange(steps)
    return Lifetime(birth, min(steps - 1, birth + rng.randrange(4)))


def staircase(rng, name, steps, grain):
    """Two or three parts at distances that are multiples of `grain`, some in bands."""
    parts = []
    for p in range(rng.randint(2, 3)):
        offset, size, when = grain * rng.randrange(4), rng.randint(1, 6 * grain), life(rng, steps)
        pieces = ()
        if rng.random() < 0.3:
            first = rng.randrange(3)
            pieces = (Piece(0, size, when, Lifetime(first, first + rng.randrange(2))),)
        parts.append(Part(f"{name}.{p}", offset, size, when, pieces))
    whole = Lifetime(min(p.life.birth for p in parts), max(p.life.death for p in parts))
    return Request(name, max(p.offset + p.bytes for p in parts), whole, tuple(parts))


def instance(seed, count, stairs=0.0, steps=7, grain=1, tallest=6):
    """Random requests, of which a share are staircases."""
    rng = random.Random(seed)
    return [staircase(rng, f"r{i}", steps, grain) if rng.random() < stairs
            else Request(f"r{i}", rng.randint(1, tallest * grain), life(rng, steps)) for i in range(count)]


def optimum(requests, alignment):
    """The lowest peak of all placements, by trying every start of every request below the strategies' best."""
    best, least = allocate(requests, alignment, nodes=0).peak, lower_bound(requests, alignment)

    def place(left, placed, peak):
        nonlocal best
        if not left:
            best = peak
            return
        request, *others = left
        for start in range(0, best - request.bytes, alignment):
            lying = [(start + p.offset, start + p.offset + p.bytes, p) for p in request.taken]
            if best > least and max(peak, start + request.bytes) < best and not any(
                    p.meets(q) and low < end and first < high for low, high, p in lying for first, end, q in placed):
                place(others, placed + lying, max(peak, start + request.bytes))

    place(sorted(requests, key=lambda request: -request.bytes), [], 0)
    return best


def search(requests, alignment, **options):
    """The peak, rounded up, and the answer, with the sum of all sizes as the ceiling."""
    ceiling = sum(round_up(request.bytes, alignment) for request in requests) + alignment
    bound = lower_bound(requests, alignment)
    options = {"nodes": PLENTY, **options}
    answer = place_exactly(requests, alignment, bound, ceiling, **options)
    assert answer.offsets is not None
    check(requests, answer.offsets, alignment)
    return round_up(max(answer.offsets[r.name] + r.bytes for r in requests), alignment), answer


@pytest.mark.parametrize(
    "seeds,stairs,count,grain,alignment",
    [(30, 0.5, 5, 1, 1), (30, 0.5, 4, 4, 4), (40, 0.2, 6, 16, 16)],
)
def test_peaks_are_the_lowest_there_are_and_proved(seeds, stairs, count, grain, alignment):
    above = 0
    for seed in range(seeds):
        requests = instance(seed, count, stairs, grain=grain)
        lowest = round_up(optimum(requests, alignment), alignment)
        peak, answer = search(requests, alignment)
        assert peak == lowest, seed
        assert answer.lower_bound == lowest, seed
        above += lowest > lower_bound(requests, alignment)
    assert above, "no instance needed a proof"


@pytest.mark.parametrize("rule", [field.name for field in dataclasses.fields(Rules)])
def test_every_rule_prunes_and_none_loses(rule):
    """With one rule off the peak and the proof stay; over many instances the search takes no fewer nodes."""
    nodes = {True: 0, False: 0}
    for seed in range(20):
        requests = instance(seed, 8, 0.0, steps=5, tallest=9)
        peak, answer = search(requests, 1)
        other, slower = search(requests, 1, rules=dataclasses.replace(Rules(), **{rule: False}))
        assert (peak, answer.lower_bound) == (other, slower.lower_bound), seed
        nodes[True] += answer.nodes
        nodes[False] += slower.nodes
    assert nodes[False] >= nodes[True]


def test_bounds_of_some_sections_find_the_same(monkeypatch):
    """Drawn from one or two sections, which prune less, and nothing more."""
    monkeypatch.setattr(problem_module, "MOST_STACKED", 6)
    some = 0
    for seed in range(examples(8, 40)):
        requests = instance(seed, 5, 0.5)
        lowest = optimum(requests, 1)
        peak, answer = search(requests, 1)
        assert (peak, answer.lower_bound) == (lowest, lowest), seed
        problem = state_problem(requests, 1)
        some += 0 < problem.stacked < len(problem.sections)
    assert some > examples(2, 12)


def test_what_lies_behind_all_pieces_of_a_request_is_in_the_arena_too():
    """Bytes behind all pieces are free for other requests, but the request must not end above the peak."""
    now = Lifetime(0, 1)
    low = Request("low", 6, now, (Part("low", 0, 2, now, (Piece(0, 2, now),)),))
    requests = (low, Request("other", 4, now))
    answer = place_exactly(requests, 1, 1, 100, PLENTY)
    assert answer.offsets == {"low": 0, "other": 2} and answer.lower_bound == 6


def test_what_no_strategy_manages_is_searched_for_and_proved():
    improved = 0
    for seed in range(15):
        requests = instance(seed, 12, 0.2, steps=9, tallest=30)
        greedy, searched = allocate(requests, 1, nodes=0), allocate(requests, 1)
        assert searched.peak <= greedy.peak
        assert searched.lower_bound >= greedy.lower_bound
        assert searched.proved_optimal == (searched.peak == searched.lower_bound)
        improved += searched.peak < greedy.peak
    assert improved


def test_sections_are_the_largest_sets_that_meet():
    for seed in range(40):
        pieces = [piece for request in instance(seed, 7, 0.6) for piece in request.taken]
        sections = [set(np.flatnonzero(section)) for section in find_sections(pieces)]
        for i, piece in enumerate(pieces):
            for j, other in enumerate(pieces[:i]):
                assert piece.meets(other) == any({i, j} <= section for section in sections)
        assert not any(a < b or (a == b and a is not b) for a in sections for b in sections)


# Tensors that share memory: as much as they can, and never a byte that is still read.


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
    """If no operator reads the first rows of a tensor, its window lacks them."""
    b = Builder()
    made = b.op([Operand(b.input(8, 16), RowMap.same())], 8, 16)
    cut = b.slice(made, 3, 4)
    planned(b.program(b.op([Operand(cut, RowMap.same())], 4, 8)))


@given(seed=st.integers(0, 10**6))
def test_no_two_blocks_lie_over_each_other_unless_they_are_joined_for_it(seed):
    """Blocks of a request overlap only if a link joins them, or a HOLDS link puts one of them in another block."""
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

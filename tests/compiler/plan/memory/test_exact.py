"""The exact search against every placement there is, its rules one by one, and its two forms against each other."""

from __future__ import annotations

import dataclasses
import random

import pytest

from tests.harness.tiers import examples
from tigris_pio.compiler.plan.lifetimes import Lifetime
from tigris_pio.compiler.plan.memory import branch
from tigris_pio.compiler.plan.memory import problem as problem_module
from tigris_pio.compiler.plan.memory.allocate import allocate
from tigris_pio.compiler.plan.memory.exact import Rules, place_exactly
from tigris_pio.compiler.plan.memory.problem import find_sections, state_problem
from tigris_pio.compiler.plan.memory.request import Part, Piece, Request, check, lower_bound
from tigris_pio.sizes import round_up

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
    """The peak, rounded up, and the answer; nothing is known of the peak beforehand."""
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
        assert answer == search(requests, 1, run=lambda *a, p=problem: branch.run(p, *a))[1], seed
        some += 0 < problem.stacked < len(problem.sections)
    assert some > examples(2, 12)


@pytest.mark.parametrize("rules", [Rules(), Rules(heads=False), Rules(dominance=False, decomposition=False)])
def test_python_takes_the_same_steps_as_the_library(rules):
    for seed in range(20):
        requests = instance(seed, 5 + seed % 20, 0.3 * (seed % 2), steps=5 + seed, grain=1 + seed % 3)
        problem = state_problem(requests, 1)
        found = search(requests, 1, rules=rules, nodes=700)[1]
        again = search(requests, 1, rules=rules, nodes=700, run=lambda *a, p=problem: branch.run(p, *a))[1]
        assert found == again and found.nodes <= 700, seed


def test_what_lies_behind_all_pieces_of_a_request_is_in_the_arena_too():
    """It meets nothing: others may lie there, but the request must not be so high that it ends above the peak."""
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
        sections = [set(section) for section in find_sections(pieces)]
        for i, piece in enumerate(pieces):
            for j, other in enumerate(pieces[:i]):
                assert piece.meets(other) == any({i, j} <= section for section in sections)
        assert not any(a < b or (a == b and a is not b) for a in sections for b in sections)

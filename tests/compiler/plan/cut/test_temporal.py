"""Cuts against all there are: the cheapest path over segments whose traffic and peaks are counted here again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import pytest

from tests.compiler.synthetic import random_program, wild_program
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.plan.cost import CALL_COST, DIRECT_COST, MAC_COST, STAGE_COST
from tigris_pio.compiler.plan.cut import temporal
from tigris_pio.compiler.plan.cut.recompute_sweep import recomputing_fits
from tigris_pio.compiler.plan.cut.rolling_sweep import rolling_fits
from tigris_pio.compiler.plan.cut.temporal import (
    cut_resident,
    cut_spilling,
)
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.segment import Segment

REACH = 1000  #: beyond every program here
#: Cost of each segment there is.
Edges = dict[Segment, float]
Case = tuple[Callable[[int, int], Program], int]
CASES: list[Case] = [(make, seed) for make in (random_program, wild_program) for seed in range(15)]


def index_of(case: Case) -> ProgramIndex:
    make, seed = case
    return ProgramIndex.of(make(seed, 10))


def rooms(index: ProgramIndex) -> list[int]:
    return [int(index.live.max() * share) for share in (0.15, 0.3, 0.5, 0.8)]


def read(index: ProgramIndex, step: int) -> set[str]:
    names = {operand.tensor for operand in index.ops[step].operands}
    return {name for name in names if index.tensor(name).constant is None}


def needed_after(index: ProgramIndex, name: str, end: int) -> bool:
    outputs = {io.tensor for io in index.program.outputs}
    return name in outputs or any(name in read(index, step) for step in range(end, len(index.ops)))


def traffic(index: ProgramIndex, first: int, end: int) -> int:
    """What a segment loads once, and what it makes for others."""
    made = {index.ops[step].output for step in range(first, end)}
    loaded = set().union(*(read(index, step) for step in range(first, end))) - made
    stored = {name for name in made if needed_after(index, name, end)}
    return sum(index.tensor(name).bytes for name in loaded | stored)


def peak(index: ProgramIndex, first: int, end: int) -> int:
    """Most bytes live when a segment runs whole: each tensor from its first use in it to its last."""
    uses: dict[str, list[int]] = {}
    for step in range(first, end):
        for name in (*read(index, step), index.ops[step].output):
            uses.setdefault(name, []).append(step)
    return max(
        index.ops[step].scratch_bytes
        + sum(index.tensor(name).bytes for name, steps in uses.items() if steps[0] <= step <= steps[-1])
        for step in range(first, end)
    )


def stage(bands: int, ops: int) -> float:
    return STAGE_COST + CALL_COST * bands * ops


def spilling(index: ProgramIndex, room: int) -> Iterator[tuple[Segment, float]]:
    steps = len(index.ops)
    for first in range(steps):
        moved = [index.tensor(o.tensor).bytes for o in index.ops[first].operands]
        direct = sum(moved) + index.tensor(index.ops[first].output).bytes
        yield Segment(first, first + 1, direct=True), STAGE_COST + DIRECT_COST * direct
        for end in range(first + 1, steps + 1):
            if peak(index, first, end) <= room:
                yield Segment(first, end), stage(1, end - first) + traffic(index, first, end)
        for fit in rolling_fits(index, first, False, room, REACH):
            cost = stage(fit.bands, fit.end - first) + traffic(index, first, fit.end)
            yield Segment(first, fit.end, banded=True, keep=True), cost
    for end in range(1, steps + 1):
        for again in recomputing_fits(index, end, False, room, REACH):
            if again.window_bytes <= room:
                cost = stage(again.bands, end - again.first) + MAC_COST * again.recomputed_macs + again.traffic
                yield Segment(again.first, end, banded=True), cost


def resident(index: ProgramIndex, room: int) -> Iterator[tuple[Segment, float]]:
    """Whatever crosses a cut is whole in fast memory; hot steps need bands."""
    for first in range(len(index.ops)):
        if index.live[first] <= room:
            yield Segment(first, first + 1), CALL_COST
        free = room - int(index.crossing[first])
        for fit in rolling_fits(index, first, True, free, REACH):
            new = sum(index.tensor(name).bytes for name in {index.ops[step].output for step in range(first, fit.end)}
                      if needed_after(index, name, fit.end))  # fmt: skip
            if new + fit.window_bytes <= free:
                yield Segment(first, fit.end, banded=True, keep=True), stage(fit.bands, fit.end - first)


def cheapest(edges: Edges, steps: int) -> float:
    best = [0.0] + [math.inf] * steps
    for end in range(1, steps + 1):
        best[end] = min((best[s.first] + cost for s, cost in edges.items() if s.end == end), default=math.inf)
    return best[steps]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__}-{case[1]}")
def test_spilling_takes_the_cheapest_path_there_is(case: Case) -> None:
    index = index_of(case)
    for room in rooms(index):
        edges = dict(spilling(index, room))
        segments = cut_spilling(index, room, recompute=True)
        assert [s.first for s in segments] == [0, *(s.end for s in segments[:-1])]
        assert sum(edges[s] for s in segments) == pytest.approx(cheapest(edges, len(index.ops)))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__}-{case[1]}")
def test_resident_takes_the_cheapest_path_there_is(case: Case) -> None:
    index = index_of(case)
    for room in rooms(index):
        edges = dict(resident(index, room))
        segments = cut_resident(index, room, recompute=False, overlay=False)
        least = cheapest(edges, len(index.ops))
        assert (segments is None) == math.isinf(least)
        for segment in segments or ():  # neighbours that run whole were joined
            if not segment.banded:
                edges[segment] = CALL_COST * (segment.end - segment.first)
        if segments is not None:
            assert sum(edges[s] for s in segments) == pytest.approx(least)


def test_the_cases_hold_every_kind_of_segment() -> None:
    kinds: set[tuple[str | bool, ...]] = set()
    refused = 0
    for case in CASES[::3]:
        index = index_of(case)
        for room in rooms(index):
            found = cut_resident(index, room, recompute=False, overlay=False)
            refused += found is None
            kinds |= {("resident", s.banded) for s in found or ()}
            spilled = cut_spilling(index, room, recompute=True)
            kinds |= {("spilling", s.banded, s.keep, s.direct) for s in spilled}
    assert refused
    assert kinds == {("resident", False), ("resident", True), ("spilling", False, False, False),
                     ("spilling", False, False, True), ("spilling", True, False, False),
                     ("spilling", True, True, False)}  # fmt: skip


def test_no_time_is_spent_on_bands_where_none_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rolling segment without a hot step costs more than its operators run whole, so it is not even tried."""
    tried: set[tuple[int, int]] = set()
    improve = temporal._Paths.improve

    def noted(self: temporal._Paths, first: int, end: int, cost: float) -> bool:
        if cost >= STAGE_COST:
            tried.add((first, end))
        return improve(self, first, end, cost)

    monkeypatch.setattr(temporal._Paths, "improve", noted)
    for case in CASES[::2]:
        index = index_of(case)
        for room in rooms(index):
            tried.clear()
            cut_resident(index, room, recompute=False, overlay=False)
            assert all((index.live[first:end] > room).any() for first, end in tried)

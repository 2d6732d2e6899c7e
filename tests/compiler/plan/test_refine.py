"""Arrangements looked at once more when their offsets are known."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from tests.compiler.plan.oracle.compare import ALIGNMENT, AMPLE, check
from tests.compiler.plan.oracle.networks import random_network
from tests.compiler.synthetic import batched, random_program
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.plan import search
from tigris_pio.compiler.plan.aim import WeightOptions
from tigris_pio.compiler.plan.cost import plan_cost
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.placement import Arrangement
from tigris_pio.compiler.plan.search import find_arrangement


def planned(program: Program, budget: Budget) -> tuple[float, ProgramIndex, Arrangement | None]:
    index = ProgramIndex.of(program)
    found = find_arrangement(index, budget, ALIGNMENT, WeightOptions())
    return math.inf if found is None else plan_cost(index, found.drafts), index, found


@pytest.mark.parametrize(
    ("program", "budget"),
    [
        (random_network(2, 3), Budget(229)),  # other heights: five rows, where less memory was thought to be left
        (random_network(43, 3), Budget(655)),  # rows made again in three bands cost less than rows kept in four
        (batched(random_network(163, 5), 2), Budget(2585)),  # two stages that run whole are one
        (batched(random_network(129, 5), 2), Budget(1760, 3605)),  # four, where the first has a band more
    ],
)
def test_what_offsets_leave_is_used(program: Program, budget: Budget, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "cheapest_of_every_cut", lambda _index, _aim, _most: None)
    better, index, found = planned(program, budget)
    assert found is not None
    check(index, found, budget)
    monkeypatch.setattr(search, "refined", lambda _index, found, _aim: found)
    before, *_ = planned(program, budget)
    assert better < 0.98 * before < math.inf


@pytest.mark.parametrize("slow", [0, AMPLE])
@pytest.mark.parametrize("make", [random_network, random_program])
@pytest.mark.parametrize("seed", range(16))
def test_plans_hold_and_cost_no_more(
    seed: int, make: Callable[[int, int], Program], slow: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs with sums over bands, rows made from the one before and batches, too."""
    program = make(seed, 3 + seed % 6)
    whole = ProgramIndex.of(program)
    for share in (0.5, 0.7, 0.9):
        budget = Budget(int(share * int(whole.live.max())), slow)
        better, index, found = planned(program, budget)
        with monkeypatch.context() as patched:
            patched.setattr(search, "refined", lambda _index, found, _aim: found)
            before, *_ = planned(program, budget)
        assert better <= before * (1 + 1e-9)
        if found is not None:
            check(index, found, budget)

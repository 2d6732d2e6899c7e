"""Small programs: the cheapest of every cut, where live bytes alone lead to another."""

from __future__ import annotations

import math

import pytest

from tests.compiler.plan.oracle.compare import ALIGNMENT, AMPLE, check
from tests.compiler.plan.oracle.networks import random_network
from tests.compiler.synthetic import batched, chain, random_program, wild_program
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.plan import search
from tigris_pio.compiler.plan.aim import Aim, WeightOptions
from tigris_pio.compiler.plan.cost import plan_cost
from tigris_pio.compiler.plan.every_cut import REACH, cheapest_of_every_cut
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.order.candidates import orders
from tigris_pio.compiler.plan.search import find_arrangement


def cost(program: Program, budget: Budget) -> float:
    """Of the plan that is found, which must hold."""
    index = ProgramIndex.of(program)
    found = find_arrangement(index, budget, ALIGNMENT, WeightOptions())
    if found is None:
        return math.inf
    check(index, found, budget)
    return plan_cost(index, found.drafts)


@pytest.mark.parametrize(
    ("program", "budget"),
    [
        (random_network(29, 7), Budget(8140)),  # a border between two stages lies elsewhere
        (random_network(155, 4), Budget(799, 932)),  # and another tensor is in slow memory
        (random_network(268, 7), Budget(381, AMPLE)),  # a stage that rolls is two
        (batched(random_network(205, 5), 2), Budget(5816)),  # no cut that was tried could be placed
        (batched(random_network(292, 4), 2), Budget(3410)),  # one pair of tensors less shares memory
        (random_network(54, 4), Budget(384, 932)),  # two stages in a row cannot be placed, in none of their ways
        (wild_program(335, 4), Budget(116)),  # a tensor that holds another is made by an earlier stage
    ],
)
def test_what_the_attempts_miss_is_found(program: Program, budget: Budget, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = orders(program)
    better = min(cost(each, budget) for each in programs)
    monkeypatch.setattr(search, "cheapest_of_every_cut", lambda _index, _aim, _most: None)
    assert better < 0.99 * min(cost(each, budget) for each in programs)


@pytest.mark.parametrize("slow", [0, AMPLE])
@pytest.mark.parametrize("seed", range(12))
def test_plans_hold_and_cost_no_more(seed: int, slow: int, monkeypatch: pytest.MonkeyPatch) -> None:
    program = random_program(seed, 3 + seed % (REACH - 2))
    budget = Budget(int((0.4 + 0.05 * (seed % 9)) * int(ProgramIndex.of(program).live.max())), slow)
    better = cost(program, budget)
    monkeypatch.setattr(search, "cheapest_of_every_cut", lambda _index, _aim, _most: None)
    assert better <= cost(program, budget) * (1 + 1e-9)


def test_what_costs_less_is_not_there_or_not_looked_for() -> None:
    def found(program: Program, most: float) -> float | None:
        index = ProgramIndex.of(program)
        aim = Aim.of(Budget(1600), AMPLE, ALIGNMENT, WeightOptions())
        arrangement = cheapest_of_every_cut(index, aim, most)
        return None if arrangement is None else plan_cost(index, arrangement.drafts)

    least = found(chain(2, 16, 64), math.inf)
    assert least is not None
    assert found(chain(2, 16, 64), least) is None and found(chain(2, 16, 64), least * 1.001) == least
    assert found(chain(REACH + 1, 16, 64), math.inf) is None

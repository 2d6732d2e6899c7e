"""Plans of small programs in little memory: found where there are any, and as cheap as the cheapest that is known."""

import math
from typing import NamedTuple

import pytest

from tests.compiler.plan.oracle.compare import AMPLE, check, search
from tests.compiler.plan.oracle.networks import random_network
from tests.compiler.synthetic import batched, chain, random_program, wild_program
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.plan.cost import cost_of
from tigris_pio.compiler.plan.index import ProgramIndex


class Case(NamedTuple):
    name: str  #: what the plan needs that a simpler search misses
    program: Program
    fast: int
    slow: int
    cost: int  #: of the cheapest plan that is known; to be measured anew when the cost model changes


CASES = [
    Case("a border between two stages elsewhere", random_network(29, 7), 8140, 0, 46_697),
    Case("two stages that run whole as one", batched(random_network(163, 5), 2), 2585, 0, 19_009),
    Case("less memory for one stage", wild_program(8, 8), 858, 0, 26_515),
    Case("memory above an output that grows over its input", random_network(36, 5), 480, 0, 42_605),
    Case("four stages as one with a band more", batched(random_network(129, 5), 2), 1760, 3605, 17_733),
    Case("stages with room for their run-time state", random_program(6, 8), 623, 0, 9_864),
]


@pytest.mark.parametrize(("name", "program", "fast", "slow", "cost"), CASES, ids=[case.name for case in CASES])
def test_the_cheapest_plan_known_is_found(name: str, program: Program, fast: int, slow: int, cost: int) -> None:
    budget = Budget(fast, slow)
    found, plan = search(program, budget)
    assert found <= 1.01 * cost, name
    assert plan is not None
    finished = check(*plan, budget)
    assert cost_of(finished) == pytest.approx(found, abs=len(finished.stages)), "predictions are rounded by stage"


@pytest.mark.parametrize(("images", "eighths", "most"), [
    (1, 8, 5_600), (1, 6, 30_000), (1, 5, 77_000), (2, 8, 900), (3, 6, 1_350),
])  # fmt: skip
def test_chains_of_outputs_that_grow_over_inputs(images: int, eighths: int, most: int) -> None:
    """If each stage took all memory that is free, a later one would not fit, or in bands of one row. A stage more costs
    some 400 instructions an image."""
    program = chain(4, 16, 64)
    program = batched(program, images) if images > 1 else program
    found, whole = (search(program, Budget(fast))[0] for fast in (2 * 1024 * images * eighths // 8, 1 << 30))
    assert found - whole <= most


def test_slow_memory_is_limited_and_used_where_that_costs_less() -> None:
    """With less slow memory than the cheapest plan takes, the search finds a plan that takes less and costs no less."""
    program = random_program(0, 8)
    fast = int(0.3 * int(ProgramIndex.of(program).timeline.peak)) + 300
    costs = []
    slow = AMPLE
    for _ in range(2):
        cost, plan = search(program, Budget(fast, slow))
        assert plan is not None
        check(*plan, Budget(fast, slow))
        costs.append(cost)
        slow = plan[1].slow.peak - 4
    assert costs[0] <= costs[1] < search(program, Budget(fast))[0]
    assert math.isinf(search(program, Budget(64))[0])

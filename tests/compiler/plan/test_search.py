"""The search against the cheapest plan there is, of small programs: see `oracle/`.

`python -m tests.compiler.plan.oracle.compare` prints every case.
"""

from __future__ import annotations

import pytest

from tests.compiler.plan.oracle.compare import ALIGNMENT, cases, judge, statistics
from tests.compiler.plan.oracle.cuts import all_cuts
from tests.compiler.plan.oracle.exhaustive import Planner
from tests.compiler.plan.oracle.networks import random_network
from tests.harness.tiers import examples
from tigris_pio.compiler.ir.plan import Budget

#: What the search has come to, by number of cases: bars to tighten as it gets better. The first FEW are part of every
#: run, EVERY one of `make fuzz`.
FEW, EVERY = 1, 300
LEAST = {FEW: {"close": 1.0, "exact": 1.0}, EVERY: {"close": 0.99, "exact": 0.99}}
MOST = {
    FEW: {"mean": 1.0, "worst": 1.0, "refused": 0, "undecided": 0},
    EVERY: {"mean": 1.0005, "worst": 1.01, "refused": 0, "undecided": 30},
}


@pytest.mark.fuzzed
def test_found_plans_beside_the_cheapest():
    count = examples(FEW, FEW, EVERY)
    found = statistics([judge(case) for case in cases(count)])
    assert found["compared"] + found["refused"] >= 0.7 * count, found
    short = {name: found[name] for name, least in LEAST[count].items() if found[name] < least}
    beyond = {name: found[name] for name, most in MOST[count].items() if found[name] > most}
    assert not short and not beyond, found


@pytest.mark.parametrize(("seed", "slow"), [(0, 1 << 20), (4, 0)])
def test_the_cheapest_plan_costs_no_more_with_more_memory(seed, slow):
    cuts = all_cuts(random_network(seed, 3))
    planner, small = Planner(cuts, ALIGNMENT), Planner(cuts, ALIGNMENT, small=True)
    smallest = small.smallest(slow)
    found = [planner.cheapest(Budget(smallest + more, slow)) for more in (0, 4, 60, 300, 3000)]
    costs = [plan.cost for plan in found]
    assert costs == sorted(costs, reverse=True) and costs[0] > costs[-1]
    assert small.cheapest(Budget(smallest - ALIGNMENT, slow)) is None

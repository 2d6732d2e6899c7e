"""What the search does where its first arrangement does not fit, or fits but costs more than need be."""

from __future__ import annotations

import pytest

from tests.compiler.plan.oracle.networks import random_network
from tests.compiler.synthetic import random_program, wild_program
from tigris_pio.compiler.ir.plan import Budget, ExecutionPlan
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.plan.aim import WeightOptions
from tigris_pio.compiler.plan.cost import cost_of
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.search import find_plan

LENGTH = 8


def found(program: Program, fast: int | None, slow: int = 0) -> ExecutionPlan:
    plan = find_plan(ProgramIndex.of(program), Budget(fast, slow), 4, WeightOptions())
    assert plan is not None
    assert (fast is None or plan.fast_bytes <= fast) and plan.slow_bytes <= slow
    return plan


@pytest.mark.parametrize("make,seed,fast,most", [
    (wild_program, 8, 858, 100_000),  # less memory for a stage, or nothing shared there: 66,576; 135,842 without
    (random_program, 3, 825, 25_000),  # less memory everywhere: 17,772; 29,803 without
    (wild_program, 9, 960, 50_000),  # the same: 26,083; 81,937 without
])  # fmt: skip
def test_offsets_that_exceed_the_limit_are_not_the_end(make, seed, fast, most):
    assert cost_of(found(make(seed, LENGTH), fast)) < most


@pytest.mark.parametrize("make,seed", [(random_program, 0), (random_program, 6), (wild_program, 8), (wild_program, 9)])
def test_slow_memory_is_limited_too(make, seed):
    """With less slow memory than the cheapest plan takes there is another, that takes less."""
    program = make(seed, LENGTH)
    fast = int(0.3 * found(program, None).unscheduled_peak) + 300
    ample = found(program, fast, 1 << 30)
    assert ample.slow_bytes and 0 < found(program, fast, ample.slow_bytes - 4).slow_bytes < ample.slow_bytes


def test_slow_memory_is_used_where_that_costs_less():
    """22,730 with 40 bytes of it; 32,775 without."""
    program = random_program(3, LENGTH)
    fast = int(0.7 * found(program, None).fast_bytes)
    alone, beside = found(program, fast), found(program, fast, 1 << 30)
    assert beside.slow_bytes and cost_of(beside) < cost_of(alone)


def test_operators_join_to_one_stage_as_far_as_its_state_has_room():
    """11,684; 22,772 where longer stages leave less room for bands."""
    assert cost_of(found(random_program(6, LENGTH), 623)) < 15_000
    assert found(random_program(0, LENGTH), 698)


def test_estimates_count_on_tall_bands_and_rows_may_be_made_again():
    """Without the one or the other the search finds nothing at these budgets."""
    assert found(wild_program(6, LENGTH), 4197)
    assert found(wild_program(7, LENGTH), 1436)


def test_memory_above_what_descended_is_used_where_nothing_else_fits():
    assert found(random_network(36, 5), 480)


@pytest.mark.parametrize("seed,fast,most", [
    (5, 504, 100_000),  # stages as short as the run-time state has room for: 47,083; 519,238 without
    (11, 746, 250_000),  # halos brought as often as bands are tall: 196,782; 368,680 without
])  # fmt: skip
def test_slow_memory_costs_little_where_stages_are_right(seed, fast, most):
    assert cost_of(found(wild_program(seed, LENGTH), fast, 1 << 30)) < most

"""Any plan, at any budget, hands every operator the rows it needs and stays within its budget."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.compiler.simulator import Simulator
from tests.compiler.synthetic import Builder, batched, chain, random_program, wild_program
from tests.harness.tiers import counted, examples
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.plan.aim import WeightOptions
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.search import find_arrangement, plan_program
from tigris_pio.errors import BudgetError
from tigris_pio.format.enums import Strategy


def simulate(program, fast, slow=0):
    plan = plan_program(program, Budget(fast, slow), 4, WeightOptions())
    simulator = Simulator(plan)
    simulator.run()
    if fast is not None:
        assert plan.fast_bytes <= fast
    assert plan.slow_bytes <= slow
    assert all(stage.fast_peak <= plan.fast_bytes for stage in plan.stages)
    assert [op for s in plan.stages for op in range(s.first_op, s.end_op)] == list(range(len(program.ops)))
    stored = all(view.window or plan.homes[view.tensor].home.name == "FAST" for s in plan.stages for view in s.views)
    if stored:
        assert simulator.read == sum(stage.slow_read for stage in plan.stages)
        assert simulator.written == sum(stage.slow_written for stage in plan.stages)
    return plan


@counted(works=20)
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), length=st.integers(1, 14), share=st.integers(15, 100))
def test_random_programs_with_slow_memory(seen, seed, length, share):
    program = random_program(seed, length)
    whole = find_arrangement(ProgramIndex.of(program), Budget(None), 4, WeightOptions())
    try:
        simulate(program, whole.fast_bytes * share // 100, 1 << 20)
        seen["works"] += 1
    except BudgetError as error:
        assert "smallest fast memory that works" in str(error)


@counted(works=20, works_without_slow_memory=2)
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), length=st.integers(2, 10), share=st.integers(40, 100), images=st.integers(2, 4),
       whole=st.integers(0, 3), slow=st.booleans())
def test_batches(seen, seed, length, share, images, whole, slow):
    """Some operators before those that run image by image may have made what all images read."""
    program = batched(random_program(seed, length), images, min(whole, length - 1))
    ample = find_arrangement(ProgramIndex.of(program), Budget(None), 4, WeightOptions())
    try:
        simulate(program, ample.fast_bytes * share // 100, 1 << 20 if slow else 0)
        seen["works"] += 1
        seen["works_without_slow_memory"] += not slow
    except BudgetError as error:
        assert "smallest fast memory that works" in str(error)


@pytest.mark.fuzzed
@counted(works=8, works_without_slow_memory=2)
@settings(max_examples=examples(32, 32, 150), deadline=None)
@given(seed=st.integers(0, 10**6), length=st.integers(1, 30), share=st.integers(8, 100), slow=st.booleans())
def test_programs_of_all_row_maps(seen, seed, length, share, slow):
    program = wild_program(seed, length)
    whole = find_arrangement(ProgramIndex.of(program), Budget(None), 4, WeightOptions())
    index = ProgramIndex.of(program)
    for part in (share, (share + 100) // 2, 97):
        budget = Budget(whole.fast_bytes * part // 100, 1 << 20 if slow else 0)
        if find_arrangement(index, budget, 4, WeightOptions()) is not None:
            simulate(program, budget.fast, budget.slow)
            seen["works" if slow else "works_without_slow_memory"] += part < 100
            break


@pytest.mark.fuzzed
@settings(max_examples=examples(15, 15, 60), deadline=None)
@given(seed=st.integers(0, 10**6), length=st.integers(1, 14))
def test_the_smallest_budget_named_works(seed, length):
    program = random_program(seed, length)
    with pytest.raises(BudgetError) as refusal:
        simulate(program, 1)
    smallest = int(str(refusal.value).split("works is ")[1].split(" bytes")[0])
    simulate(program, smallest)


def test_unlimited_memory_is_one_whole_stage():
    plan = simulate(chain(6, 32, 16), None)
    assert [stage.strategy for stage in plan.stages] == [Strategy.NORMAL]


def test_a_chain_too_wide_to_hold_runs_in_bands():
    b = Builder()
    wide = b.window(b.window(b.input(64, 16), 3, 1, 1, 128), 3, 1, 1, 128)
    program = b.program(b.window(b.window(wide, 3, 1, 1, 16), 3, 1, 1, 16))
    plan = simulate(program, 64 * 16 * 2 + 3 * 3 * 128 + 400)
    assert plan.stages[0].bands > 1 and plan.stages[0].slow_read == plan.stages[0].slow_written == 0


def test_spilling_reads_input_and_writes_output_once():
    program = chain(4, 64, 32)
    plan = simulate(program, 1200, 1 << 16)
    assert sum(stage.slow_read for stage in plan.stages) == 64 * 32
    assert sum(stage.slow_written for stage in plan.stages) == 64 * 32


def test_a_whole_height_operator_that_fits_no_other_way_works_in_slow_memory():
    b = Builder()
    t = b.whole(b.input(64, 32), 1, 16)
    plan = simulate(b.program(t), 256, 1 << 16)
    assert any("work in slow memory" in warning for warning in plan.warnings)


def test_skip_connections_are_kept_until_both_branches_read_them():
    b = Builder()
    start = b.input(48, 16)
    branch = b.window(b.window(start, 3, 1, 1, 16), 3, 1, 1, 16)
    end = b.window(b.pointwise(branch, start), 3, 1, 1, 16)
    simulate(b.program(end), 48 * 16 * 2 + 20 * 16 + 200)


def test_run_time_state_does_not_grow_with_the_program():
    """Stages run whole hold 64 operators at most: a view of 16 bytes for each tensor of theirs."""
    short, long = (simulate(chain(length, 4, 8), None) for length in (64, 640))
    assert max(stage.end_op - stage.first_op for stage in long.stages) <= 64
    assert long.state_bytes <= short.state_bytes + 64

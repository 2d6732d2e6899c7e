"""Any plan, at any budget, hands every operator the rows it needs and stays within its budget."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.compiler.simulator import Simulator
from tests.compiler.synthetic import Builder, batched, chain, random_program, wild_program
from tests.harness.tiers import counted, examples
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.search import find_arrangement, plan_program
from tigris_pio.compiler.plan.settings import WeightOptions
from tigris_pio.errors import BudgetError


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


def made(kind: str, seed: int, length: int) -> Program:
    """A random program. In a batch, some operators may run once, before those that run image by image."""
    if kind == "batch":
        rng = random.Random(seed)
        return batched(random_program(seed, length + 1), rng.randint(2, 4), rng.randint(0, min(3, length)))
    return random_program(seed, length) if kind == "random" else wild_program(seed, length)


@pytest.mark.fuzzed
@counted(works=examples(10, 30), works_without_slow_memory=examples(1, 4), shares_memory=examples(2, 8))
@settings(max_examples=examples(40, 100, 400), deadline=None)
@given(kind=st.sampled_from(["random", "batch", "wild"]), seed=st.integers(0, 10**6),
       length=st.integers(1, examples(8, 14)), share=st.integers(25, 110), slow=st.booleans())
def test_random_programs(seen, kind, seed, length, share, slow):
    program = made(kind, seed, length)
    ample = find_arrangement(ProgramIndex.of(program), Budget(None), 4, WeightOptions())
    fast = ample.fast_bytes * share // 100 if share <= 100 else None
    if find_arrangement(ProgramIndex.of(program), Budget(fast, (1 << 20) * slow), 4, WeightOptions()) is not None:
        simulate(program, fast, (1 << 20) * slow)
        seen["works"] += 1
        seen["works_without_slow_memory"] += not slow and share < 100
        seen["shares_memory"] += any(op.in_place or op.aliases for op in program.ops)


@pytest.mark.fuzzed
@settings(max_examples=examples(4, 10, 60), deadline=None)
@given(seed=st.integers(0, 10**6), length=st.integers(1, examples(8, 10, 14)))
def test_the_smallest_budget_named_works(seed, length):
    program = random_program(seed, length)
    with pytest.raises(BudgetError) as refusal:
        simulate(program, 1)
    smallest = int(str(refusal.value).split("works is ")[1].split(" bytes")[0])
    simulate(program, smallest)


def test_a_whole_height_operator_that_fits_no_other_way_works_in_slow_memory():
    b = Builder()
    t = b.whole(b.input(64, 32), 1, 16)
    plan = simulate(b.program(t), 256, 1 << 16)
    assert any("work in slow memory" in warning for warning in plan.warnings)


def test_run_time_state_does_not_grow_with_the_program():
    """Stages run whole hold 64 operators at most: a view of 16 bytes for each tensor of theirs."""
    short, long = (simulate(chain(length, 4, 8), None) for length in (64, 640))
    assert max(stage.end_op - stage.first_op for stage in long.stages) <= 64
    assert long.state_bytes <= short.state_bytes + 64

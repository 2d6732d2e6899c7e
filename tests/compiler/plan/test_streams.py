"""Plans whose inputs and outputs are streamed: every row once, in order, and never more memory than without."""

import dataclasses
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.compiler.plan.test_plans_hold import simulate
from tests.compiler.synthetic import Builder, random_program, wild_program
from tests.harness.tiers import counted, examples
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.lower.streams import add_streams
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.search import find_arrangement
from tigris_pio.compiler.plan.settings import WeightOptions
from tigris_pio.errors import UsageError
from tigris_pio.format.enums import Home, OpKind


def streaming(program: Program, seed: int) -> Program:
    """The program with at least one of its inputs and outputs streamed."""
    rng = random.Random(seed)
    names = sorted({io.name for io in (*program.inputs, *program.outputs)})
    names = [name for name in names if not program.tensors[name].folded]
    return add_streams(program, rng.sample(names, rng.randint(1, len(names))))


@pytest.mark.fuzzed
@counted(works=examples(8, 25), rolls=examples(1, 3))
@settings(max_examples=examples(24, 70, 300), deadline=None)
@given(make=st.sampled_from([random_program, wild_program]), seed=st.integers(0, 10**6),
       length=st.integers(1, examples(8, 14)), share=st.integers(10, 100), slow=st.booleans())
def test_random_programs(seen, make, seed, length, share, slow):
    program = streaming(make(seed, length), seed)
    index = ProgramIndex.of(program)
    whole = find_arrangement(index, Budget(None), 4, WeightOptions())
    budget = Budget(whole.fast_bytes * share // 100, 1 << 20 if slow else 0)
    if find_arrangement(index, budget, 4, WeightOptions()) is not None:
        plan = simulate(program, budget.fast, budget.slow)
        seen["works"] += 1
        moving = [s for s in plan.stages for op in program.ops[s.first_op : s.end_op] if op.kind is OpKind.FETCH]
        seen["rolls"] += any(stage.bands > 1 for stage in moving)


def test_an_input_and_an_output_larger_than_the_arena() -> None:
    """Windows of 3x3 kernels only: in, 3 rows of 100; between, 3 rows of 40; out, a row of 60 and its count."""
    b = Builder()
    t = b.window(b.window(b.input(200, 100), 3, 1, 1, 40), 3, 1, 1, 60)
    program = add_streams(b.program(t), ["in0", t])
    plan = simulate(program, 560)
    assert all(place.home is not Home.SLOW for place in plan.homes.values())
    assert not {"in0", t} & set(plan.homes)
    assert plan.fast_bytes - plan.state_bytes <= 300 + 120 + 60 + 4
    assert [stage.recomputed_macs for stage in plan.stages] == [0]


@pytest.mark.parametrize("kernel", [1, 2])
def test_rows_that_nothing_reads_come_all_the_same(kernel: int) -> None:
    """A stride of 3 leaves out rows between, and the rows behind the last window."""
    b = Builder()
    program = add_streams(b.program(b.window(b.input(32, 50), kernel, 3, 0, 5)), ["in0"])
    plan = simulate(program, 400)  # asserts that all rows come, in order
    assert plan.stages[0].bands > 1


def test_a_batch_is_refused() -> None:
    b = Builder()
    name = b.input(8, 4)
    program = b.program(b.pointwise(name))
    batch = {key: dataclasses.replace(tensor, batch=3) for key, tensor in program.tensors.items()}
    with pytest.raises(UsageError, match=r"in0 is a batch of 3 images"):
        add_streams(dataclasses.replace(program, tensors=batch), ["in0"])

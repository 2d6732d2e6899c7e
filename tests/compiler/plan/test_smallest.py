"""The arrangement of least memory, and plans that fall back to it."""

import pytest

from tests.compiler.plan.oracle.networks import random_network
from tests.compiler.simulator import Simulator
from tests.compiler.synthetic import random_program
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.plan import search
from tigris_pio.compiler.plan.arrange import Stages
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.settings import WeightOptions
from tigris_pio.compiler.plan.smallest import smallest
from tigris_pio.errors import BudgetError
from tigris_pio.sizes import round_up


@pytest.mark.parametrize("program", [random_network(29, 7), random_network(36, 6), random_program(6, 8)])
def test_every_budget_from_the_smallest_on_has_a_plan(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where nothing else is found."""
    found = smallest(Stages.of(ProgramIndex.of(program), 4), 0)
    assert found is not None
    least = round_up(found.fast_bytes, 4)
    monkeypatch.setattr(search, "by_cost", lambda _: iter(()))
    monkeypatch.setattr(search, "by_falling_level", lambda *_: iter(()))
    for fast in (least, least + 4, least * 5 // 4, least * 2):
        plan = search.plan_program(program, Budget(fast), 4, WeightOptions())
        assert plan.fast_bytes <= fast
        Simulator(plan).run()
    with pytest.raises(BudgetError, match=f"works is {least} bytes"):
        search.plan_program(program, Budget(least - 4), 4, WeightOptions())


def test_less_fast_memory_does_beside_slow_memory() -> None:
    stages = Stages.of(ProgramIndex.of(random_network(29, 7)), 4)
    alone, beside = smallest(stages, 0), smallest(stages, 1 << 20)
    assert alone is not None and beside is not None
    assert beside.fast_bytes < alone.fast_bytes and beside.slow.peak > 0 == alone.slow.peak
    enough = smallest(stages, 1 << 20, alone.fast_bytes)
    assert enough is not None and beside.fast_bytes <= enough.fast_bytes <= alone.fast_bytes

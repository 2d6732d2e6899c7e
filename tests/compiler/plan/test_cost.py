"""The cost of a finished plan is that of the drafts it was made of."""

from __future__ import annotations

import pytest

from tests.compiler.synthetic import batched, chain
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.plan.aim import WeightOptions
from tigris_pio.compiler.plan.cost import cost_of, plan_cost
from tigris_pio.compiler.plan.finish import finish
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.search import find_arrangement


@pytest.mark.parametrize("slow", [0, 1 << 20])
@pytest.mark.parametrize("images", [1, 2, 3])
def test_a_plan_costs_what_its_drafts_did(images: int, slow: int) -> None:
    """Kernels are called for each image of a batch."""
    program = chain(4, 16, 64)
    index = ProgramIndex.of(batched(program, images) if images > 1 else program)
    budget = Budget(2 * images * 16 * 64 * (5 if not slow else 2) // 8, slow)
    found = find_arrangement(index, budget, 16, WeightOptions())
    assert found is not None and any(draft.bands > 1 for draft in found.drafts)
    plan = finish(index, budget, 16, WeightOptions(), found)
    # Predictions are rounded, stage by stage.
    assert cost_of(plan) == pytest.approx(plan_cost(index, found.drafts), abs=len(plan.stages))

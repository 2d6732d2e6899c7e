"""Which order a compilation takes: the cheapest that fits without slow memory, before any with it.

A refusal says the least memory in which any order works.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from tests.compiler.plan.order.test_heuristics import attention
from tigris_pio.compiler.choose import plan_of
from tigris_pio.compiler.ir.plan import Budget, ExecutionPlan
from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import Front, back
from tigris_pio.compiler.plan.aim import WeightOptions
from tigris_pio.compiler.plan.cost import cost_of
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.order.candidates import orders
from tigris_pio.compiler.plan.search import does_not_fit
from tigris_pio.errors import BudgetError


def options(fast: int, slow: int = 0) -> CompileOptions:
    return CompileOptions(Budget(fast, slow), alignment=4)


def plan(program: Program, fast: int, slow: int = 0) -> ExecutionPlan:
    return back(Front(program, ()), options(fast, slow)).plan


@pytest.mark.thorough
def test_the_cheapest_plan_of_any_order_is_taken_beside_slow_memory() -> None:
    """The order of the least peak does not fit without, but another one does."""
    program, fast = attention("qkv"), 520
    first, *others = orders(program)
    assert plan_of(first, options(fast)) is None and any(plan_of(other, options(fast)) for other in others)
    found = plan(program, fast, 1 << 20)
    each = [plan_of(order, options(fast, 1 << 20)) for order in (first, *others)]
    assert cost_of(found) == min(cost_of(one) for one in each if one is not None)
    assert found.budget.slow == 1 << 20


@pytest.mark.thorough
def test_the_least_memory_is_that_of_any_order() -> None:
    """In attention the order of the least peak needs more than another one, if it does not make k and v first."""

    def least(programs: Sequence[Program]) -> int:
        refused = does_not_fit([ProgramIndex.of(one) for one in programs], Budget(64), 4, WeightOptions())
        found = re.search(r"smallest fast memory that works is (\d+)", str(refused))
        assert found
        return int(found[1])

    program = attention("kqv")
    alone = [least([order]) for order in orders(program)]
    together = least(orders(program))
    assert min(alone) <= together <= min(alone) * 1.01 + 4
    with pytest.raises(BudgetError, match=f"smallest fast memory that works is {together} bytes"):
        plan(program, 64)
    assert plan(program, together).fast_bytes <= together

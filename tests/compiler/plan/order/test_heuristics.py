"""Heuristic orders: right ones, and good for what they are for."""

from __future__ import annotations

import pytest

from tests.compiler.plan.order.irregular import randwire, tangled
from tests.compiler.synthetic import Builder
from tigris_pio.compiler.choose import plan_of
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.ir.program import Operand, Program, RowMap
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import Front, back
from tigris_pio.compiler.plan.cost import cost_of
from tigris_pio.compiler.plan.order.candidates import orders
from tigris_pio.compiler.plan.order.flow import Flow, reordered
from tigris_pio.compiler.plan.order.heuristics import HEURISTICS


@pytest.mark.parametrize("seed", range(6))
def test_each_puts_operators_behind_those_they_read(seed: int) -> None:
    for program in (randwire(seed, 9), tangled(seed, 12)):
        flow = Flow.of(program)
        for heuristic in HEURISTICS.values():
            reordered(program, heuristic(program, flow))  # refuses all others


def attention(given: str) -> Program:
    """q, k and v of x, in the order given; k and v are read whole, q row by row."""
    b = Builder()
    x = b.input(16, 8)
    made = {name: b.op([Operand(x, RowMap.same())], 16, 8) for name in given}
    scores = b.op([Operand(made["q"], RowMap.same()), Operand(made["k"], RowMap.whole(16))], 16, 16)
    weights = b.op([Operand(scores, RowMap.same())], 16, 16)
    return b.program(b.op([Operand(weights, RowMap.same()), Operand(made["v"], RowMap.whole(16))], 16, 8))


@pytest.mark.parametrize("given", ["qkv", "kvq"])
def test_whole_operands_come_before_the_rows_that_meet_them(given: str) -> None:
    """q, its scores, their weights and the result then follow each other, as one rolling stage needs them to."""
    program = attention(given)
    flow = Flow.of(program)
    for name in ("whole_first", "by_barriers"):
        order = HEURISTICS[name](program, flow)
        assert {given[op] for op in order[:2]} == {"k", "v"} and given[order[2]] == "q"
        assert order[3:] == [3, 4, 5]


def two_branches(long_is_output: bool) -> Program:
    """A long branch and a short one that meet."""
    b = Builder()
    x, z = b.input(1, 64), b.input(1, 16)
    a = b.op([Operand(x, RowMap.same())], 1, 64)
    long = b.op([Operand(a, RowMap.same())], 1, 64)
    short = b.op([Operand(z, RowMap.same())], 1, 32)
    y = b.op([Operand(long, RowMap.same()), Operand(short, RowMap.same())], 1, 96)
    return b.program(y, a) if long_is_output else b.program(y)


@pytest.mark.parametrize("is_output", [False, True])
def test_an_output_does_not_die_with_its_last_reader(is_output: bool) -> None:
    """Greedily, the operator that adds less comes first; reading an output for the last time frees nothing."""
    program = two_branches(is_output)
    order = HEURISTICS["least_alive"](program, Flow.of(program))
    assert order == ([0, 2, 1, 3] if is_output else [0, 1, 2, 3])


def test_the_cheapest_plan_of_any_order_is_taken() -> None:
    """Not that of the first order, which fits too."""
    program, options = two_branches(True), CompileOptions(Budget(140, 1 << 20), alignment=4)
    costs = [cost_of(plan) for order in orders(program) if (plan := plan_of(order, options)) is not None]
    assert cost_of(back(Front(program, ()), options).plan) == min(costs) < costs[0]

"""Heuristic orders: right ones, and good for what they are for."""

from __future__ import annotations

import dataclasses

import pytest

from tests.compiler.plan.order.irregular import randwire, tangled
from tests.compiler.synthetic import Builder
from tigris_pio.compiler.ir.program import Operand, Program, ProgramIo, RowMap
from tigris_pio.compiler.plan.order.candidates import orders
from tigris_pio.compiler.plan.order.flow import Flow, peak, reordered, steps
from tigris_pio.compiler.plan.order.heuristics import HEURISTICS
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import CommitParams


@pytest.mark.parametrize("seed", range(6))
def test_each_puts_operators_behind_those_they_read(seed: int) -> None:
    for program in (randwire(seed, 9), tangled(seed, 12)):
        flow = Flow.of(program)
        for heuristic in HEURISTICS.values():
            reordered(program, heuristic(program, flow))  # refuses all others


def test_what_is_no_order_is_refused() -> None:
    program = randwire(0, 9)
    count = len(program.ops)
    with pytest.raises(ValueError, match="before it is made"):
        reordered(program, range(count)[::-1])
    with pytest.raises(ValueError, match="no permutation"):
        reordered(program, [0] * count)


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


def branches() -> Program:
    """Three branches that widen and then shrink: side by side they need far more than one after the other."""
    b = Builder()
    start = b.op([Operand(b.input(1, 64), RowMap.same())], 1, 64)
    wide = [b.op([Operand(start, RowMap.same())], 1, 256) for _ in range(3)]
    thin = [b.op([Operand(name, RowMap.same())], 1, 1) for name in wide]
    return b.program(b.op([Operand(name, RowMap.same()) for name in thin], 1, 3))


def test_branches_run_one_after_the_other() -> None:
    program = branches()
    flow = Flow.of(program)
    assert peak(flow, HEURISTICS["as_given"](program, flow)) == 64 + 3 * 256
    for name in ("depth_first", "least_alive", "whole_first"):
        assert peak(flow, HEURISTICS[name](program, flow)) == 64 + 256 + 2, name
    assert peak(Flow.of(orders(program)[0]), range(8)) == 64 + 256 + 2


@pytest.mark.parametrize("is_output", [False, True])
def test_an_output_does_not_die_with_its_last_reader(is_output: bool) -> None:
    """Greedily, the operator that adds less comes first; reading an output for the last time frees nothing."""
    b = Builder()
    x, z = b.input(1, 64), b.input(1, 16)
    a = b.op([Operand(x, RowMap.same())], 1, 64)
    long = b.op([Operand(a, RowMap.same())], 1, 64)
    short = b.op([Operand(z, RowMap.same())], 1, 32)
    y = b.op([Operand(long, RowMap.same()), Operand(short, RowMap.same())], 1, 96)
    program = b.program(y, a) if is_output else b.program(y)
    order = HEURISTICS["least_alive"](program, Flow.of(program))
    assert order == ([0, 2, 1, 3] if is_output else [0, 1, 2, 3])


def stateful() -> Program:
    """Two branches of x and a state, one of which a COMMIT writes back."""
    b = Builder()
    x, state = b.input(1, 4), b.input(1, 4)
    new = b.op([Operand(x, RowMap.same()), Operand(state, RowMap.same())], 1, 4)
    program = b.program(b.op([Operand(x, RowMap.same())], 1, 4))
    commit = dataclasses.replace(
        program.ops[0], name="commit", kind=OpKind.COMMIT, operands=(Operand(new, RowMap.same()),), output=state,
        params=CommitParams(0, 0, DType.INT8, 2, (1, 4), (0, 1), 0.0, 0), macs=0,
    )  # fmt: skip
    io = ProgramIo(state, state, DType.INT8, (1, 4), (1, 4), (0, 1))
    tensors = {**program.tensors, state: dataclasses.replace(program.tensors[state], state=True)}
    inputs = tuple(item for item in program.inputs if item.tensor != state)
    return dataclasses.replace(program, tensors=tensors, inputs=inputs, ops=(*program.ops, commit), states=(io,))


def test_states_and_what_is_committed_stay_and_commits_are_last() -> None:
    program = stateful()
    for candidate in (*orders(program), reordered(program, [1, 0])):
        assert candidate.ops[-1].kind is OpKind.COMMIT
        assert peak(Flow.of(candidate), range(2)) == 4 * 4  # x, the state and both results


def test_what_nothing_reads_dies_at_once() -> None:
    b = Builder()
    x = b.input(1, 4)
    b.op([Operand(x, RowMap.same())], 1, 100)
    program = b.program(b.op([Operand(x, RowMap.same())], 1, 8))
    assert steps(Flow.of(program), range(2)) == [(4, 104), (4, 12)]

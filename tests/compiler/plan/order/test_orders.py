"""Orders of operators: the exact search, the heuristics beside it, and attention's."""

import itertools

import numpy as np
import onnx
import pytest

from bench.networks import smallest
from tests.compiler.models import make, node, ort
from tests.compiler.plan.order.irregular import fullest_step, least_fullest_step, randwire, tangled
from tests.compiler.synthetic import Builder
from tests.harness.tiers import sampled
from tigris_pio import Session, compile_model
from tigris_pio.compiler.choose import plan_of
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.ir.program import Operand, Program, RowMap
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import Front, back
from tigris_pio.compiler.plan.cost import cost_of
from tigris_pio.compiler.plan.order import exact
from tigris_pio.compiler.plan.order.candidates import orders
from tigris_pio.compiler.plan.order.exact import least_peak
from tigris_pio.compiler.plan.order.flow import Flow, peak, reordered
from tigris_pio.compiler.plan.order.heuristics import HEURISTICS


@pytest.mark.parametrize("seed", range(20))
def test_no_order_needs_less(seed: int) -> None:
    """Programs of up to 18 operators, for which no heuristic is always best."""
    for program in (tangled(seed, 5), randwire(seed, 9)):
        assert fullest_step(orders(program)[0]) == least_fullest_step(program)


@pytest.mark.parametrize("seed", range(6))
def test_peaks_are_those_of_the_timeline(seed: int) -> None:
    for candidate in (*orders(randwire(seed, 12)), *orders(tangled(seed, 12))):
        assert peak(Flow.of(candidate), range(len(candidate.ops))) == fullest_step(candidate)


@pytest.mark.parametrize("seed", range(3))
def test_beyond_the_budget_the_beam_is_no_worse_than_what_is_known(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    program = randwire(seed, 20)
    flow = Flow.of(program)
    known = [heuristic(program, flow) for heuristic in HEURISTICS.values()]
    exactly = peak(flow, least_peak(flow, known))
    monkeypatch.setattr(exact, "EXACT_STEPS", 20)
    beamed = peak(flow, least_peak(flow, known))
    monkeypatch.setattr(exact, "BEAM_STEPS", 20)
    assert exactly <= beamed <= peak(flow, least_peak(flow, known)) == min(peak(flow, order) for order in known)


def cells(count: int) -> Program:
    """Three operators side by side between two that all others come before or after; the input is read to the end."""
    b = Builder()
    first = name = b.input(4, 8)
    for place in range(count):
        name = b.op([Operand(name, RowMap.same()), Operand(first, RowMap.same())], 4, 8)
        sides = [b.op([Operand(name, RowMap.same())], 4, width) for width in (16, 4, 32)]
        thin = [b.op([Operand(side, RowMap.same())], 4, 1 + place % 3) for side in sides]
        name = b.op([Operand(side, RowMap.same()) for side in thin], 4, 8)
    return b.program(name)


def test_pieces_end_where_all_others_come_before_or_after() -> None:
    flow = Flow.of(cells(3))
    ends = [end for _, end in exact._pieces(flow)]
    assert ends == [1, 8, 9, 16, 17, 24]
    reaches = [{op} for op in range(len(flow.makes))]
    for op, parents in enumerate(flow.parents):
        reaches[op] |= {far for parent in parents for far in reaches[parent]}
    count = len(flow.makes)
    comparable = [all(a in reaches[b] or b in reaches[a] for a in range(count)) for b in range(count)]
    assert [end - 1 for end in ends] == [op for op in range(count) if comparable[op]]


def test_what_frees_memory_waits_where_it_takes_more_meanwhile() -> None:
    """Run first, the operator with 100 bytes of scratch is above what the one with 200 needs when it comes last."""
    b = Builder()
    sources = [b.input(1, size) for size in (60, 50, 10)]
    pairs = zip(sources, (100, 0, 200), strict=True)
    made = [b.op([Operand(name, RowMap.same())], 1, 1, scratch) for name, scratch in pairs]
    program = b.program(b.op([Operand(name, RowMap.same()) for name in made], 1, 1))
    flow = Flow.of(program)
    assert peak(flow, least_peak(flow, [[2, 0, 1, 3]])) == least_fullest_step(program) == 213
    assert peak(flow, [0, 1, 2, 3]) == 221


# Heuristic orders: right ones, and good for what they are for.


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
    order = HEURISTICS["whole_first"](program, flow)
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
    """The first order fits too, but costs more."""
    program, options = two_branches(True), CompileOptions(Budget(180, 1 << 20), alignment=4)
    costs = [cost_of(plan) for order in orders(program) if (plan := plan_of(order, options)) is not None]
    assert cost_of(back(Front(program, ()), options).plan) == min(costs) < costs[0]


# Attention takes the least memory whatever the order of its operators in the file, and computes nothing again.

TOKENS, SHAPE = 128, (1, 128, 64)
TURNS = {"q": [0, 2, 1, 3], "k": [0, 2, 3, 1], "v": [0, 2, 1, 3]}


def four_heads(order: str) -> onnx.ModelProto:
    """Attention with four heads. `order`: the order of q, k and v in the file."""
    noise = np.random.default_rng(1)
    weights = {f"w{name}": (noise.standard_normal((64, 64)) * 0.05).astype(np.float32) for name in "qkvo"}
    weights |= {f"b{name}": (noise.standard_normal(64) * 0.05).astype(np.float32) for name in "qkvo"}
    nodes = []
    for name in order:
        nodes += [node("MatMul", f"x w{name}", f"m{name}"), node("Add", f"m{name} b{name}", f"a{name}"),
                  node("Reshape", f"a{name} parts", f"p{name}"),
                  node("Transpose", f"p{name}", name, perm=TURNS[name])]  # fmt: skip
    nodes += [node("MatMul", "q k", "scores"), node("Softmax", "scores", "shares", axis=-1),
              node("MatMul", "shares v", "heads"), node("Transpose", "heads", "turned", perm=[0, 2, 1, 3]),
              node("Reshape", "turned whole", "joined"), node("MatMul", "joined wo", "mo"), node("Add", "mo bo", "ao"),
              node("Add", "ao x", "y")]  # fmt: skip
    shapes = {"parts": np.array([1, TOKENS, 4, 16]), "whole": np.array(SHAPE)}
    return make(nodes, {"x": SHAPE}, ["y"], weights | shapes)


@pytest.mark.parametrize("order", sampled(map("".join, itertools.permutations("qkv")), ["kqv", "vqk"]))
def test_four_heads(order: str) -> None:
    """x, k and v whole take 3 x 32,768 bytes, the scores 262,144. Within 105,000 bytes nothing is computed again, and
    the outputs are onnxruntime's."""
    model = four_heads(order)
    least = smallest(model)
    assert least <= 105_000
    compiled = compile_model(model, fast=least)
    assert sum(stage.recomputed_macs for stage in compiled.plan.stages) == 0
    inputs = {"x": np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32)}
    (expected,) = ort(model, inputs).values()
    with Session(compiled) as session:
        (got,) = session.run(inputs).values()
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)

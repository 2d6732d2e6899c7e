"""The least peak: against all orders, against a dynamic programme of its own, and within its budget of steps."""

from __future__ import annotations

import pytest

from tests.compiler.plan.order.irregular import fullest_step, least_fullest_step, randwire, tangled
from tests.compiler.synthetic import Builder
from tigris_pio.compiler.ir.program import Operand, Program, RowMap
from tigris_pio.compiler.plan.order import exact
from tigris_pio.compiler.plan.order.candidates import orders
from tigris_pio.compiler.plan.order.exact import least_peak
from tigris_pio.compiler.plan.order.flow import Flow, peak
from tigris_pio.compiler.plan.order.heuristics import HEURISTICS


@pytest.mark.parametrize("seed", range(20))
def test_no_order_needs_less(seed: int) -> None:
    """Of up to 18 operators as networks have them, where no heuristic is always best."""
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

"""The orders that a search should compare."""

from __future__ import annotations

from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.plan.order.exact import least_peak
from tigris_pio.compiler.plan.order.flow import Flow, Order, reordered
from tigris_pio.compiler.plan.order.heuristics import HEURISTICS

#: Of a program with no more orders than this all are candidates.
FEW = 12


def candidates(program: Program) -> tuple[Order, ...]:
    """Each order of the body that is worth a look, all different; the order of the least layer-by-layer peak first.

    That one needs least memory run whole. In bands another may need less, or repeat less. A program with few orders has
    all of them here.
    """
    flow = Flow.of(program)
    known = [order(program, flow) for order in HEURISTICS.values()]
    return tuple(dict.fromkeys(tuple(order) for order in (least_peak(flow, known), *known, *_all(flow))))


def _all(flow: Flow) -> list[Order]:
    """Every order, if they are few."""
    begun: list[tuple[int, ...]] = [()]
    for _ in flow.makes:
        begun = [
            (*order, op)
            for order in begun
            for op, parents in enumerate(flow.parents)
            if op not in order and all(parent in order for parent in parents)
        ]
        if len(begun) > FEW:
            return []
    return list(begun)


def orders(program: Program) -> tuple[Program, ...]:
    """`program` in each of its `candidates`."""
    return tuple(reordered(program, order) for order in candidates(program))

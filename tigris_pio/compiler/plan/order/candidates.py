"""The orders that a search should compare."""

from __future__ import annotations

from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.plan.order.exact import least_peak
from tigris_pio.compiler.plan.order.flow import Flow, Order, reordered
from tigris_pio.compiler.plan.order.heuristics import HEURISTICS


def candidates(program: Program) -> tuple[Order, ...]:
    """Each order of the body that is worth a look, all different; the order of the least layer-by-layer peak first.

    That one needs least memory run whole. In bands another may need less, or repeat less.
    """
    flow = Flow.of(program)
    known = [order(program, flow) for order in HEURISTICS.values()]
    return tuple(dict.fromkeys(tuple(order) for order in (least_peak(flow, known), *known)))


def orders(program: Program) -> tuple[Program, ...]:
    """`program` in each of its `candidates`."""
    return tuple(reordered(program, order) for order in candidates(program))

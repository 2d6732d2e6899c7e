"""All the stages that plans of a program can have: what may have run before, and the operators in their order."""

import dataclasses
from collections.abc import Mapping

from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.order.flow import Flow, Order, reordered


@dataclasses.dataclass(frozen=True)
class Cuts:
    """orders: the program in every order there is. segments: by the operators that have run, each as a bit, every
    sequence that may follow as one stage; with an order, and the step in it, that has the sequence there."""

    orders: Mapping[tuple[int, ...], ProgramIndex]
    segments: Mapping[int, Mapping[tuple[int, ...], tuple[ProgramIndex, int]]]
    end: int  #: all operators


def all_cuts(program: Program, most: int | None = None) -> Cuts:
    """Those of `program`, which has no states; ValueError when it has more than `most` orders."""
    orders = {order: ProgramIndex.of(reordered(program, order)) for order in _all_orders(program, most)}
    segments: dict[int, dict[tuple[int, ...], tuple[ProgramIndex, int]]] = {}
    for order, index in orders.items():
        done = 0
        for first, op in enumerate(order):
            following = segments.setdefault(done, {})
            for end in range(first + 1, len(order) + 1):
                following.setdefault(order[first:end], (index, first))
            done |= 1 << op
    return Cuts(orders, segments, (1 << len(program.ops)) - 1)


def _all_orders(program: Program, most: int | None) -> list[tuple[int, ...]]:
    parents = Flow.of(program).parents
    found: list[tuple[int, ...]] = []

    def extend(order: tuple[int, ...]) -> None:
        if len(order) == len(program.ops):
            found.append(order)
        if most is not None and len(found) > most:
            raise ValueError(f"more than {most} orders")
        done = set(order)
        for op in range(len(program.ops)):
            if op not in done and done.issuperset(parents[op]):
                extend((*order, op))

    extend(())
    return found


def after(done: int, ops: Order) -> int:
    """What has run when `ops` have, too."""
    for op in ops:
        done |= 1 << op
    return done

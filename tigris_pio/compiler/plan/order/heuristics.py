"""Orders that are quick to find. None is best for every program, so the search is given each that differs.

*Least alive* is greedy by live bytes. *Whole first* suits rolling stages: an operand that is read whole must be
complete before the first band of its reader. So the operators that make it come first, and operators that pass rows to
each other follow as one run.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence

from tigris_pio.compiler.ir.program import Program
from tigris_pio.compiler.plan.order.flow import Flow


def as_given(_: Program, flow: Flow) -> list[int]:
    """The order that lowering left."""
    return list(range(len(flow.makes)))


def whole_first(program: Program, flow: Flow) -> list[int]:
    """From the last operators back, for each one first the makers of operands it reads whole, then of the others."""
    ends = [op for op in range(len(flow.makes)) if not flow.children(op)]
    return _post_order(ends, lambda op: _whole_then_rows(program, flow, op))


def _whole_then_rows(program: Program, flow: Flow, op: int) -> list[int]:
    whole = _wholes(program, flow, op)
    return sorted(flow.parents[op], key=lambda parent: parent not in whole)


def _wholes(program: Program, flow: Flow, op: int) -> set[int]:
    """Parents of `op` of whose rows any row of its output needs all."""
    names = {o.tensor for o in program.ops[op].operands if o.rows.numerator == 0 and o.rows.last > o.rows.first}
    return {parent for parent in flow.parents[op] if program.ops[parent].output in names}


def _post_order(roots: Sequence[int], following: Callable[[int], Sequence[int]]) -> list[int]:
    """Each operator that is reached, behind all that follow it."""
    seen: set[int] = set()
    finished: list[int] = []
    for root in roots:
        if root in seen:
            continue
        seen.add(root)
        path = [(root, iter(following(root)))]
        while path:
            op, rest = path[-1]
            step = next((other for other in rest if other not in seen), None)
            if step is None:
                finished.append(op)
                path.pop()
            else:
                seen.add(step)
                path.append((step, iter(following(step))))
    return finished


def least_alive(_: Program, flow: Flow) -> list[int]:
    """Greedy: the next operator is the one that adds the fewest live bytes, the earlier of two equal ones.

    A heap of the operators that can run; an entry whose bytes have changed since is stale and skipped. Time n log n in
    operators and operands.
    """
    waiting = [len(readers) + kept for readers, kept in zip(flow.readers, flow.kept, strict=True)]
    missing = [len(parents) for parents in flow.parents]

    def added(op: int) -> int:
        return flow.bytes[flow.makes[op]] - sum(flow.bytes[name] for name in flow.reads[op] if waiting[name] == 1)

    keys = {op: added(op) for op, count in enumerate(missing) if not count}
    heap = [(key, op) for op, key in keys.items()]
    heapq.heapify(heap)
    order: list[int] = []
    while heap:
        key, op = heapq.heappop(heap)
        if keys.get(op) != key:
            continue
        del keys[op]
        order.append(op)
        touched = set()
        for name in flow.reads[op]:
            waiting[name] -= 1
            if waiting[name] == 1:
                touched |= keys.keys() & set(flow.readers[name])
        for reader in flow.children(op):
            missing[reader] -= 1
            if not missing[reader]:
                touched.add(reader)
        for other in touched:
            keys[other] = added(other)
            heapq.heappush(heap, (keys[other], other))
    return order


#: Ways to order a program's body.
HEURISTICS: Mapping[str, Callable[[Program, Flow], list[int]]] = {
    "least_alive": least_alive,
    "as_given": as_given,
    "whole_first": whole_first,
}

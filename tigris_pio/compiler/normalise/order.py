"""The order operators run in, chosen by the memory a layer-by-layer run would need.

Three candidates: depth first (each branch to its end), greedy (of the nodes that can run, the one
that leaves least alive), and the order the model came in. None is best for every graph, so each is
measured; a planner that finds no room asks for the next one.
"""

from __future__ import annotations

import dataclasses
import heapq
import math
from collections.abc import Callable, Mapping, Sequence

from tigris_pio.compiler.ir.captured import captured_names
from tigris_pio.compiler.ir.execution_order import execution_order
from tigris_pio.compiler.ir.graph import Graph, Node
from tigris_pio.compiler.normalise.passes import Schedule


def as_given(graph: Graph) -> tuple[Node, ...]:
    """The order of the graph's nodes as they are."""
    return graph.nodes


def depth_first(graph: Graph) -> tuple[Node, ...]:
    """Each branch to its end before the next one starts. Constants are gone, so the search sees the real branches."""
    return execution_order(graph.nodes, graph.name)


def least_alive(graph: Graph) -> tuple[Node, ...]:
    """Greedy: the next node is the one that adds the fewest live bytes, the earlier in the graph of two equal ones.

    A heap of the nodes that can run; an entry whose bytes have changed since is stale and skipped. Time n log n in
    nodes and edges.
    """
    reads = [_reads(graph, node) for node in graph.nodes]
    readers: dict[str, set[int]] = {}
    for place, names in enumerate(reads):
        for name in names:
            readers.setdefault(name, set()).add(place)
    made = {name for node in graph.nodes for name in node.outputs if name}
    missing = [sum(name in made for name in names) for names in reads]
    kept = frozenset(graph.results) | {state.input for state in graph.states}

    def added(place: int) -> int:
        new = sum(_bytes(graph, name) for name in graph.nodes[place].outputs if name)
        last = (name for name in reads[place] if len(readers[name]) == 1 and name not in kept)
        return new - sum(_bytes(graph, name) for name in last)

    keys = {place: added(place) for place, count in enumerate(missing) if not count}
    heap = [(key, place) for place, key in keys.items()]
    heapq.heapify(heap)
    order: list[Node] = []
    while heap:
        key, place = heapq.heappop(heap)
        if keys.get(place) != key:
            continue
        del keys[place]
        order.append(graph.nodes[place])
        touched = set()
        for name in reads[place]:
            readers[name].discard(place)
            if len(readers[name]) == 1:
                touched |= readers[name] & keys.keys()
        for name in filter(None, graph.nodes[place].outputs):
            for reader in readers.get(name, ()):
                missing[reader] -= 1
                if not missing[reader]:
                    touched.add(reader)
        for other in touched:
            keys[other] = added(other)
            heapq.heappush(heap, (keys[other], other))
    return tuple(order)


#: How to order the nodes, by the name of the schedule.
ORDERS: Mapping[Schedule, Callable[[Graph], tuple[Node, ...]]] = {
    "depth_first": depth_first,
    "least_alive": least_alive,
    "as_given": as_given,
}


def ordered(graph: Graph, schedule: Schedule) -> Graph:
    """`graph` in the order of a schedule; "least_peak": that of the lowest peak, the first of equal ones."""
    if schedule != "least_peak":
        return dataclasses.replace(graph, nodes=ORDERS[schedule](graph))
    candidates = [order(graph) for order in ORDERS.values()]
    return dataclasses.replace(graph, nodes=min(candidates, key=lambda nodes: peak(graph, nodes)))


def peak(graph: Graph, nodes: Sequence[Node]) -> int:
    """Most bytes alive when `nodes` run one after the other, every activation whole."""
    last: dict[str, int] = {}
    for place, node in enumerate(nodes):
        last.update(dict.fromkeys(_reads(graph, node), place))
    last.update(dict.fromkeys(graph.results, len(nodes)))
    last.update(dict.fromkeys((state.input for state in graph.states), len(nodes)))
    dying: dict[int, list[str]] = {}
    for name, place in last.items():
        dying.setdefault(place, []).append(name)
    alive = most = sum(_bytes(graph, name) for name in graph.sources)
    for place, node in enumerate(nodes):
        made = [name for name in node.outputs if name]
        alive += sum(_bytes(graph, name) for name in made)
        most = max(most, alive)
        alive -= sum(_bytes(graph, name) for name in (*dying.get(place, ()), *(n for n in made if n not in last)))
    return most


def _reads(graph: Graph, node: Node) -> tuple[str, ...]:
    """The activations a node reads, once each."""
    names = (*node.inputs, *sorted(captured_names(node)))
    return tuple(dict.fromkeys(name for name in names if name and name not in graph.weights))


def _bytes(graph: Graph, name: str) -> int:
    tensor = graph.tensors[name]
    return math.prod(tensor.shape) * tensor.dtype.itemsize

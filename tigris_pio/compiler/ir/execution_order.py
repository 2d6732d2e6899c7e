"""Brings a graph's nodes into an execution order; both front ends call it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tigris_pio.compiler.ir.captured import captured_names
from tigris_pio.compiler.ir.graph import Node
from tigris_pio.errors import ModelError


def execution_order(nodes: Sequence[Node], origin: str) -> tuple[Node, ...]:
    """Topological order by depth-first search, in time linear in nodes and edges.

    The search visits children last to first, and its post-order is reversed. So each branch ends before the next one
    starts, a tensor's readers follow soon after it, and fewer tensors are alive together. Raises ModelError for a
    cycle; the message names `origin` and the cycle's nodes.
    """
    children = _children(nodes)
    marks = bytearray(len(nodes))  # 0 unseen, 1 on the path, 2 done
    finished: list[int] = []
    has_parent = bytearray(len(nodes))
    for readers in children:
        for reader in readers:
            has_parent[reader] = 1
    roots = [index for index in range(len(nodes)) if not has_parent[index]]
    for root in (*reversed(roots), *range(len(nodes))):  # the second part finds cycles without a root
        _visit(root, children, marks, finished, nodes, origin)
    return tuple(nodes[index] for index in reversed(finished))


def _children(nodes: Sequence[Node]) -> list[list[int]]:
    producer = {name: index for index, node in enumerate(nodes) for name in node.outputs if name}
    children: list[list[int]] = [[] for _ in nodes]
    for index, node in enumerate(nodes):
        read: Iterable[str] = (*node.inputs, *sorted(captured_names(node)))
        for parent in dict.fromkeys(producer[name] for name in read if name in producer):
            children[parent].append(index)
    return children


def _visit(root: int, children: list[list[int]], marks: bytearray, finished: list[int], nodes: Sequence[Node],
           origin: str) -> None:
    if marks[root]:
        return
    marks[root] = 1
    path = [(root, reversed(children[root]))]
    while path:
        index, rest = path[-1]
        child = next(rest, None)
        if child is None:
            marks[index] = 2
            finished.append(index)
            path.pop()
        elif marks[child] == 1:
            names = [nodes[step].name for step, _ in path]
            cycle = names[names.index(nodes[child].name):]
            raise ModelError(f"{origin}: the graph has a cycle through {' -> '.join([*cycle[:8], cycle[0]])}")
        elif not marks[child]:
            marks[child] = 1
            path.append((child, reversed(children[child])))

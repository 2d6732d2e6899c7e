"""Runs passes in order, checks what they require and counts what they do."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from tigris_pio.compiler.ir.graph import Graph
from tigris_pio.compiler.normalise.finite import check_numbers
from tigris_pio.compiler.normalise.passes import Pass
from tigris_pio.compiler.normalise.registry import PASSES
from tigris_pio.compiler.normalise.verify import check_graph

#: Called with each pass and the graph it leaves; tests set it.
Watch = Callable[[Pass, Graph], None]
watch: Watch | None = None


@dataclasses.dataclass(frozen=True)
class PassStatistics:
    """Nodes before and after one pass, and how many it removed or rewrote."""

    name: str
    nodes_in: int
    folded: int
    nodes_out: int


@dataclasses.dataclass(frozen=True)
class NormaliseResult:
    """The normalised graph, and what each pass did."""

    graph: Graph
    statistics: tuple[PassStatistics, ...]


def normalise(graph: Graph, passes: Sequence[Pass] = PASSES) -> NormaliseResult:
    """Runs all passes over `graph`; the nodes stay in the order they have, as far as they stay."""
    check_order(passes)
    check_numbers(graph)
    statistics = []
    for step in passes:
        result = step.run(graph)
        statistics.append(PassStatistics(step.name, len(graph.nodes), result.folded, len(result.graph.nodes)))
        graph = result.graph
        if watch is not None:
            watch(step, graph)
    check_graph(graph)
    check_numbers(graph)  # constants of nodes are weights by now
    return NormaliseResult(graph, tuple(statistics))


def check_order(passes: Sequence[Pass]) -> None:
    """Raises ValueError when a pass comes before one that provides what it requires."""
    facts: set[str] = set()
    for step in passes:
        missing = step.requires - facts
        if missing:
            names = ", ".join(sorted(missing))
            raise ValueError(f"pass {step.name} requires {names}, which no pass before it provides")
        facts |= step.provides

"""Runs the passes in order, checks their requirements, and counts the nodes that they change."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from tigris_pio.compiler.internal import compiler_step
from tigris_pio.compiler.ir.graph import Graph
from tigris_pio.compiler.normalise.finite import check_finite
from tigris_pio.compiler.normalise.passes import Pass
from tigris_pio.compiler.normalise.registry import PASSES
from tigris_pio.compiler.normalise.verify import check_graph

#: Called after each pass, with the pass and its graph; tests set it.
Watch = Callable[[Pass, Graph], None]
watch: Watch | None = None


@dataclasses.dataclass(frozen=True)
class PassStatistics:
    """The nodes before and after one pass, and the number that it removed or rewrote."""

    name: str
    nodes_in: int
    folded: int
    nodes_out: int


@dataclasses.dataclass(frozen=True)
class NormaliseResult:
    """The normalised graph, and the statistics of each pass."""

    graph: Graph
    statistics: tuple[PassStatistics, ...]


def normalise(graph: Graph, passes: Sequence[Pass] = PASSES) -> NormaliseResult:
    """Runs all passes over `graph`, whose remaining nodes keep their order. Raises ModelError.

    A graph that breaks the rules of verify.py raises InternalError.
    """
    check_order(passes)
    check_finite(graph)
    statistics = []
    for step in passes:
        with compiler_step(step.name):
            result = step.run(graph)
        statistics.append(PassStatistics(step.name, len(graph.nodes), result.folded, len(result.graph.nodes)))
        graph = result.graph
        if watch is not None:
            watch(step, graph)
    with compiler_step("normalise"):
        check_graph(graph)
    check_finite(graph)  # again, for constants that nodes computed
    return NormaliseResult(graph, tuple(statistics))


def check_order(passes: Sequence[Pass]) -> None:
    """Raises ValueError if a pass requires a fact that no pass before it provides."""
    facts: set[str] = set()
    for step in passes:
        missing = step.requires - facts
        if missing:
            names = ", ".join(sorted(missing))
            raise ValueError(f"pass {step.name} requires {names}, which no pass before it provides")
        facts |= step.provides

"""Runs passes in order, checks what they require, counts what they do, and starts again on request."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence

from tigris_pio.compiler.ir.graph import Graph
from tigris_pio.compiler.normalise.finite import check_numbers
from tigris_pio.compiler.normalise.order import ORDERS, ordered
from tigris_pio.compiler.normalise.passes import Parameters, Pass, Retry
from tigris_pio.compiler.normalise.registry import PASSES
from tigris_pio.compiler.normalise.verify import check_graph

#: Called with each pass and the graph it leaves; tests set it.
Watch = Callable[[Pass, Graph], None]
watch: Watch | None = None

#: Each retry must bring new parameters, so this only bounds a long search.
MOST_RETRIES = 16


@dataclasses.dataclass(frozen=True)
class PassStatistics:
    """Nodes before and after one pass, and how many it removed or rewrote."""

    name: str
    nodes_in: int
    folded: int
    nodes_out: int


@dataclasses.dataclass(frozen=True)
class NormaliseResult:
    """The normalised graph, what each pass did, and the parameters it was made with."""

    graph: Graph
    statistics: tuple[PassStatistics, ...]
    parameters: Parameters
    retries: tuple[Retry, ...] = ()


def normalise(graph: Graph, parameters: Parameters | None = None, passes: Sequence[Pass] = PASSES) -> NormaliseResult:
    """Runs all passes over `graph`.

    A pass that returns Retry makes all of them run again on the original graph with the parameters
    it names; a later stage that wants the same calls this function with those parameters.
    """
    check_order(passes)
    check_numbers(graph)
    current = parameters or Parameters()
    tried = {current}
    retries: list[Retry] = []
    while True:
        outcome = _run_once(graph, current, passes)
        if isinstance(outcome, NormaliseResult):
            return dataclasses.replace(outcome, retries=tuple(retries))
        retries.append(outcome)
        if outcome.parameters in tried or len(retries) > MOST_RETRIES:
            raise RuntimeError(f"normalisation was asked to retry with parameters already tried: {outcome.reason}")
        current = outcome.parameters
        tried.add(current)


def check_order(passes: Sequence[Pass]) -> None:
    """Raises ValueError when a pass comes before one that provides what it requires."""
    facts: set[str] = set()
    for step in passes:
        missing = step.requires - facts
        if missing:
            names = ", ".join(sorted(missing))
            raise ValueError(f"pass {step.name} requires {names}, which no pass before it provides")
        facts |= step.provides


def _run_once(graph: Graph, parameters: Parameters, passes: Sequence[Pass]) -> NormaliseResult | Retry:
    statistics = []
    for step in passes:
        result = step.run(graph, parameters)
        if isinstance(result, Retry):
            return result
        statistics.append(PassStatistics(step.name, len(graph.nodes), result.folded, len(result.graph.nodes)))
        graph = result.graph
        if watch is not None:
            watch(step, graph)
    check_graph(graph)
    check_numbers(graph)  # constants of nodes are weights by now
    return NormaliseResult(ordered(graph, parameters.schedule), tuple(statistics), parameters)


def other_schedules(graph: Graph, result: NormaliseResult, reason: str) -> Iterator[NormaliseResult]:
    """`graph` normalised again in every schedule that orders its nodes differently from `result` and the ones before.

    For a later stage that found no room, which is the `reason` of the retry.
    """
    seen = {tuple(node.name for node in result.graph.nodes)}
    for schedule in ORDERS:
        retry = Retry(dataclasses.replace(result.parameters, schedule=schedule), reason)
        again = normalise(graph, retry.parameters)
        names = tuple(node.name for node in again.graph.nodes)
        if names not in seen:
            seen.add(names)
            yield dataclasses.replace(again, retries=(*result.retries, retry))

"""Verifies the graph after each pass, for every model that a test compiles."""

from collections.abc import Callable

from tigris_pio.compiler.ir.graph import Graph, Node, Tensor
from tigris_pio.compiler.normalise import PASSES, Pass
from tigris_pio.compiler.normalise.verify import check_graph

#: Nodes after the pass before, with their tensors; shapes of unchanged nodes are not inferred again.
_SEEN: dict[int, tuple[Node, list[Tensor | None]]] = {}
_MOST_SEEN = 5000
#: The graph after the pass before; a pass that changes nothing returns it.
_verified: Graph | None = None


def changed(graph: Graph) -> Callable[[Node], bool]:
    """Whether a node, or one of its tensors, has changed since the pass before."""

    def is_new(node: Node) -> bool:
        tensors = [graph.tensors.get(name) for name in (*node.inputs, *node.outputs)]
        before = _SEEN.get(id(node))
        _SEEN[id(node)] = (node, tensors)
        return before is None or before[0] is not node or any(
            old is not new for old, new in zip(before[1], tensors, strict=True))

    if len(_SEEN) > _MOST_SEEN:
        _SEEN.clear()
    return is_new


def verify_after(step: Pass, graph: Graph) -> None:
    """Checks the graph; after the last pass, no pass finds anything to do, so the facts that each provides hold."""
    global _verified  # noqa: PLW0603
    if graph is not _verified:
        check_graph(graph, changed(graph))
        _verified = graph
    if step is not PASSES[-1]:
        return
    for earlier in PASSES:
        again = earlier.run(graph)
        assert again.graph.nodes == graph.nodes, f"{', '.join(earlier.provides)} does not hold after all passes"

"""The subgraphs of a node (If, Loop, Scan), and the names that they read from the graph around it."""

from __future__ import annotations

import onnx

from tigris_pio.compiler.ir.graph import Node

#: Control flow that stays in a graph if data decide which branch runs, or how often a body runs.
DATA_DEPENDENT = frozenset(("If", "Loop"))


def captured_names(node: Node) -> set[str]:
    """Names that the node's subgraphs read from outside."""
    names: set[str] = set()
    for value in node.attributes.values():
        for graph in value if isinstance(value, tuple) else (value,):
            if isinstance(graph, onnx.GraphProto):
                names |= captured_graph_names(graph)
    return names


def captured_graph_names(graph: onnx.GraphProto) -> set[str]:
    """Names that a subgraph reads from outside."""
    inside = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    used: set[str] = {value.name for value in graph.output}
    for node in graph.node:
        used.update(name for name in node.input if name)
        inside.update(node.output)
        used.update(*map(captured_graph_names, subgraphs_of(node)))
    return used - inside


def subgraphs_of(node: onnx.NodeProto) -> list[onnx.GraphProto]:
    """The subgraphs of a node."""
    return [child for attribute in node.attribute
            for child in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else []))]

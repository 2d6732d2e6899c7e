"""Describes a model for `tigris inspect`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from tigris_pio.compiler.ir.graph import Graph
from tigris_pio.compiler.limits import Limits
from tigris_pio.compiler.load.model import is_tflite, load_model
from tigris_pio.compiler.lower.registry import refused


def describe_model(path: Path, limits: Limits) -> dict[str, Any]:
    """Inputs, outputs, weights and operators of the model at `path`, as values for JSON. Raises ModelError."""
    graph = load_model(path, limits=limits)
    if graph.refused:
        raise refused(graph.refused, graph.name)
    counts, form = _operators(path, graph, limits)
    return {
        **form,
        "model": graph.name,
        "nodes": sum(counts.values()),
        "weights": len(graph.weights),
        "weights_bytes": sum(array.nbytes for array in graph.weights.values()),
        "source_sha256": graph.source_sha256.hex(),
        "inputs": [_tensor(graph, name) for name in graph.inputs],
        "outputs": [_tensor(graph, name) for name in graph.outputs],
        "states": [_tensor(graph, state.input) for state in graph.states],
        "operators": [{"kind": kind, "nodes": count} for kind, count in counts.most_common()],
        "warnings": list(graph.warnings),
    }


def _operators(path: Path, graph: Graph, limits: Limits) -> tuple[Counter[str], dict[str, Any]]:
    """The nodes of each operator, by the file's names, and the file's format."""
    if not is_tflite(path):
        return Counter(node.op for node in graph.nodes), {"file": "onnx", "opset": graph.opset}
    from tigris_pio.compiler.load.tflite.file import read  # noqa: PLC0415 (needed for .tflite alone)

    subgraphs = read(path, limits).subgraphs
    counts = Counter(operator.name for subgraph in subgraphs for operator in subgraph.operators)
    return counts, {"file": "tflite", "subgraphs": len(subgraphs)}


def _tensor(graph: Graph, name: str) -> dict[str, Any]:
    tensor = graph.tensors[name]
    return {"name": name, "shape": list(tensor.shape), "dtype": str(graph.io_dtypes.get(name, tensor.dtype))}

"""An ONNX model in words and numbers, as `tigris inspect` prints it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from tigris_pio.compiler.ir.graph import Tensor
from tigris_pio.compiler.limits import Limits
from tigris_pio.compiler.load.model import load_model


def describe_model(path: Path, limits: Limits) -> dict[str, Any]:
    """Inputs, outputs, weights and operators of the model at `path`, as plain values."""
    graph = load_model(path, limits=limits)
    counts = Counter(node.op for node in graph.nodes)
    return {
        "file": "onnx",
        "model": graph.name,
        "opset": graph.opset,
        "nodes": len(graph.nodes),
        "weights": len(graph.weights),
        "weights_bytes": sum(array.nbytes for array in graph.weights.values()),
        "source_sha256": graph.source_sha256.hex(),
        "inputs": [_tensor(graph.tensors[name]) for name in graph.inputs],
        "outputs": [_tensor(graph.tensors[name]) for name in graph.outputs],
        "operators": [{"kind": kind, "nodes": count} for kind, count in counts.most_common()],
        "warnings": list(graph.warnings),
    }


def _tensor(tensor: Tensor) -> dict[str, Any]:
    return {"name": tensor.name, "shape": list(tensor.shape), "dtype": str(tensor.dtype)}

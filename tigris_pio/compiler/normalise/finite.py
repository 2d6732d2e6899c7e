"""Refuses weights with NaN or infinity, which come from diverged training or a damaged file."""

from __future__ import annotations

import numpy as np

from tigris_pio.compiler.ir.graph import Graph, Node
from tigris_pio.errors import ModelError

#: Operators that multiply by their constants or add them: an infinity would spread as infinities or NaN. Other
#: operators use an infinity as a bound or a mask.
_SUMMING = frozenset((
    "BatchNormalization", "Conv", "Conv1D", "ConvTranspose", "DepthwiseConv", "Gemm", "GroupNormalization",
    "InstanceNormalization", "LayerNormalization", "MatMul", "RMSNormalization",
))


def check_finite(graph: Graph) -> None:
    """Raises ModelError for the first such constant; the message has its reader and the number of bad elements."""
    for node in graph.nodes:
        if node.op in ("QuantizeLinear", "DequantizeLinear"):
            continue  # read_quantisation checks their scales
        for name in node.inputs:
            values = graph.weights.get(name)
            if values is not None and values.dtype.kind == "f":
                _check(graph, node, name, np.asarray(values))


def _check(graph: Graph, node: Node, name: str, values: np.ndarray) -> None:
    bad = ~np.isfinite(values) if node.op in _SUMMING else np.isnan(values)
    if not bad.any():
        return
    missing, infinite = int(np.isnan(values).sum()), int(np.isinf(values).sum())
    found = " and ".join([*([f"{missing} NaN"] if missing else []), *([f"{infinite} infinite"] if infinite else [])])
    raise ModelError(
        f"{graph.name}: node {node.name} ({node.op}): constant {name} holds {found} of {values.size} elements; "
        "export the model again from finite weights"
    )

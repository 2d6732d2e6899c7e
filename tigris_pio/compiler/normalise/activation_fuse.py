"""Activation fuse: Relu, Relu6 and Clip become an output range of the operator before them.

The range is the attribute pair `activation_min`, `activation_max`, in real numbers. Lowering clamps the quantised
output, as TensorFlow Lite's fused activations do. The pass runs last, when every operator has its final name.
First, arithmetic with constants is folded into its layer (bias_fuse.py). At the end, functions of one int8 tensor that
are still nodes of their own become tables (table_fuse.py).
"""

from __future__ import annotations

import dataclasses
import math

from tigris_pio.compiler.ir.graph import Graph, Node
from tigris_pio.compiler.normalise.bias_fuse import fuse_biases
from tigris_pio.compiler.normalise.editor import GraphEditor
from tigris_pio.compiler.normalise.table_fuse import fuse_single_nodes
from tigris_pio.compiler.passes import Pass

#: Operators whose kernels clamp their output.
FUSABLE = frozenset(("Conv", "DepthwiseConv", "Conv1D", "ConvTranspose", "Gemm", "MatMul", "Add", "Sub", "Mul", "Sum",
                     "AveragePool", "GlobalAveragePool", "MaxPool", "GlobalMaxPool"))


def run(graph: Graph) -> tuple[Graph, int]:
    """See the module."""
    editor = GraphEditor(graph)
    folded = fuse_biases(editor)
    for node in editor.nodes():
        limits = activation_range(node)
        if limits is not None and _fuse(editor, node, limits):
            folded += 1
    folded += fuse_single_nodes(editor)
    return editor.finish(), folded


def activation_range(node: Node) -> tuple[float, float] | None:
    """The lowest and highest output of a clamping activation; None for other nodes."""
    if node.op == "Relu":
        return 0.0, math.inf
    if node.op == "Relu6":
        return 0.0, 6.0
    if node.op == "Clip" and len(node.inputs) == 1 and "min" in node.attributes:
        return float(node.attributes["min"]), float(node.attributes["max"])
    return None


def _fuse(editor: GraphEditor, node: Node, limits: tuple[float, float]) -> bool:
    source, result = node.inputs[0], node.outputs[0]
    producer = editor.producer(source)
    if producer is None or producer.op not in FUSABLE or editor.only_consumer(source) is None:
        return False
    # With other quantisation before the activation than behind it, values are rounded twice; fusing would change them.
    before, after = editor.quantisation(source), editor.quantisation(result)
    if (before is not None and before != after) or len([name for name in producer.outputs if name]) > 1:
        return False
    low = max(limits[0], float(producer.attributes.get("activation_min", -math.inf)))
    high = min(limits[1], float(producer.attributes.get("activation_max", math.inf)))
    if low > high:
        return False
    attributes = {**producer.attributes, "activation_min": low, "activation_max": high}
    editor.remove(node)
    editor.replace(producer, dataclasses.replace(producer, outputs=(result,), attributes=attributes))
    return True


PASS = Pass(
    name="activation_fuse",
    summary="clamping becomes the output range of the operator before, arithmetic with constants its bias and weights",
    requires=frozenset({"quantisation", "clip_bounds", "depthwise", "conv1d", "pooled_means"}),
    provides=frozenset({"activations"}),
    run=run,
)

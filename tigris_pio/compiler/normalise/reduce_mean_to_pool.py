"""ReduceMean to GlobalAveragePool: a mean over all spatial axes becomes GlobalAveragePool.

Exporters write either for the same layer; both then get the pooling kernel. With keepdims=0 a Reshape follows, which
drops the reduced axes.
"""

from __future__ import annotations

import dataclasses

from tigris_pio.compiler.ir.graph import Graph, Node
from tigris_pio.compiler.normalise.editor import GraphEditor
from tigris_pio.compiler.passes import Pass

#: Marks a GlobalAveragePool that was a ReduceMean: in int8 the two round differently.
MEAN = "mean"


def run(graph: Graph) -> tuple[Graph, int]:
    """See the module."""
    editor = GraphEditor(graph)
    folded = 0
    for node in editor.nodes():
        if node.op == "ReduceMean" and _spatial(editor, node):
            editor.replace(node, *_pooled(editor, node))
            folded += 1
    return editor.finish(), folded


def _spatial(editor: GraphEditor, node: Node) -> bool:
    """Whether the reduced axes are exactly the axes after batch and channels."""
    rank = len(editor.shape(node.inputs[0]))
    axes = node.attributes.get("axes")  # an input since opset 18
    if axes is None:
        value = editor.constant(node, 1)
        axes = () if value is None else tuple(int(axis) for axis in value.reshape(-1))
    return rank in (3, 4) and sorted(axis % rank for axis in axes) == list(range(2, rank))


def _pooled(editor: GraphEditor, node: Node) -> list[Node]:
    source, result = node.inputs[0], node.outputs[0]
    if node.attributes.get("keepdims", 1):
        return [Node(node.name, "GlobalAveragePool", (source,), (result,), {MEAN: 1})]
    shape = editor.shape(source)[:2] + (1,) * (len(editor.shape(source)) - 2)
    pooled = editor.add_tensor(f"{result}/pooled", dataclasses.replace(editor.tensors[result], shape=shape))
    return [
        Node(node.name, "GlobalAveragePool", (source,), (pooled,), {MEAN: 1}),
        Node(f"{node.name}/reshape", "Reshape", (pooled,), (result,), {"shape": editor.shape(result)}),
    ]


PASS = Pass(
    name="reduce_mean_to_pool",
    summary="ReduceMean over the spatial axes becomes GlobalAveragePool",
    requires=frozenset({"constants", "quantisation"}),
    provides=frozenset({"pooled_means"}),
    run=run,
)

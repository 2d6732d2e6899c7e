"""Depthwise relabel: a Conv with one input channel a group becomes DepthwiseConv, which has a kernel of its own."""

from __future__ import annotations

import dataclasses

from tigris_pio.compiler.ir.graph import Graph
from tigris_pio.compiler.normalise.editor import GraphEditor
from tigris_pio.compiler.passes import Pass


def run(graph: Graph) -> tuple[Graph, int]:
    """See the module. A Conv of a single input channel stays."""
    editor = GraphEditor(graph)
    folded = 0
    for node in editor.nodes():
        shape = editor.shape(node.inputs[0]) if node.op == "Conv" else ()
        if len(shape) > 1 and shape[1] > 1 and node.attributes.get("group", 1) == shape[1]:
            editor.replace(node, dataclasses.replace(node, op="DepthwiseConv"))
            folded += 1
    return editor.finish(), folded


PASS = Pass(
    name="depthwise_relabel",
    summary="Conv with group == input channels becomes DepthwiseConv",
    requires=frozenset({"batchnorm"}),
    provides=frozenset({"depthwise"}),
    run=run,
)

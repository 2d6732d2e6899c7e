"""Conv1D relabel: a Conv over one spatial axis becomes Conv1D.

A DepthwiseConv keeps its name: its kernel also computes images of width 1.
"""

from __future__ import annotations

import dataclasses

from tigris_pio.compiler.ir.graph import Graph
from tigris_pio.compiler.normalise.editor import GraphEditor
from tigris_pio.compiler.passes import Pass


def run(graph: Graph) -> tuple[Graph, int]:
    """See the module."""
    editor = GraphEditor(graph)
    folded = 0
    for node in editor.nodes():
        if node.op == "Conv" and len(editor.shape(node.inputs[0])) == 3:
            editor.replace(node, dataclasses.replace(node, op="Conv1D"))
            folded += 1
    return editor.finish(), folded


PASS = Pass(
    name="conv1d_relabel",
    summary="Conv over one spatial axis becomes Conv1D",
    requires=frozenset({"depthwise"}),
    provides=frozenset({"conv1d"}),
    run=run,
)

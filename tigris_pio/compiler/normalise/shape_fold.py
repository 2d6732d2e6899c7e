"""Shape fold: shapes are static, so everything that is computed from them is constant.

Shape and Size become constants, and so do the nodes behind them (Gather, Unsqueeze, Concat, arithmetic). Reshape and
Expand get their target as the attribute `shape`.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from tigris_pio.compiler.ir.graph import Graph, Node
from tigris_pio.compiler.normalise.constant_fold import fold_constants
from tigris_pio.compiler.normalise.editor import GraphEditor
from tigris_pio.compiler.passes import Pass

_TARGETED = ("Reshape", "Expand")


def run(graph: Graph) -> tuple[Graph, int]:
    """See the module."""
    editor = GraphEditor(graph)
    folded = 0
    for node in editor.nodes():
        if node.op in ("Shape", "Size") and not node.domain:
            editor.remove(node)
            editor.set_constant(node.outputs[0], _extent(editor, node))
            folded += 1
    folded += fold_constants(editor)
    for node in editor.nodes():
        if node.op in _TARGETED and len(node.inputs) > 1:
            attributes = {"shape": editor.shape(node.outputs[0])}
            editor.replace(node, dataclasses.replace(node, inputs=node.inputs[:1], attributes=attributes))
            folded += 1
    return editor.finish(), folded


def _extent(editor: GraphEditor, node: Node) -> np.ndarray:
    shape = editor.shape(node.inputs[0])
    if node.op == "Size":
        return np.array(math.prod(shape), np.int64)
    return np.array(shape[node.attributes.get("start", 0) : node.attributes.get("end")], np.int64)


PASS = Pass(
    name="shape_fold",
    summary="chains computed from static shapes become constants; Reshape carries its target",
    requires=frozenset({"constants"}),
    provides=frozenset({"static_shapes"}),
    run=run,
)

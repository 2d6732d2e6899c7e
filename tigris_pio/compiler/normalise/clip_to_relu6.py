"""Clip to Relu6: Clip(0, 6) becomes Relu6, Clip(0, none) Relu; other constant bounds become attributes.

activation_fuse then finds one form of each activation, whatever the exporter wrote.
"""

from __future__ import annotations

import dataclasses
import math

from tigris_pio.compiler.ir.graph import Graph, Node
from tigris_pio.compiler.normalise.editor import GraphEditor
from tigris_pio.compiler.passes import Pass
from tigris_pio.errors import ModelError


def run(graph: Graph) -> tuple[Graph, int]:
    """See the module. Bounds that are computed at run time stay inputs."""
    editor = GraphEditor(graph)
    folded = 0
    for node in editor.nodes():
        bounds = _bounds(editor, node) if node.op == "Clip" and _is_data(editor, node) else None
        if bounds is not None:
            editor.replace(node, _rewritten(node, *bounds))
            folded += 1
    return editor.finish(), folded


def _is_data(editor: GraphEditor, node: Node) -> bool:
    """Whether a node's output is data; shape arithmetic on wide integers is left to the pass shape_fold."""
    tensor = editor.tensors[node.outputs[0]]
    return tensor.quantisation is not None or tensor.dtype.kind == "f" or tensor.dtype.itemsize == 1


def _bounds(editor: GraphEditor, node: Node) -> tuple[float, float] | None:
    """Lower and upper bound, from attributes up to opset 10, from inputs since; None if computed at run time."""
    found = []
    for index, name, default in ((1, "min", -math.inf), (2, "max", math.inf)):
        if index < len(node.inputs) and node.inputs[index]:
            value = editor.constant(node, index)
            if value is None:
                return None
            if value.size != 1:
                raise ModelError(f"{editor.graph.name}: node {node.name} (Clip): its {name} has {value.size} elements")
            found.append(float(value.reshape(-1)[0]))
        else:
            found.append(float(node.attributes.get(name, default)))
    return found[0], found[1]


def _rewritten(node: Node, low: float, high: float) -> Node:
    name = {(0.0, 6.0): "Relu6", (0.0, math.inf): "Relu"}.get((low, high), "Clip")
    attributes = {"min": low, "max": high} if name == "Clip" else {}
    return dataclasses.replace(node, op=name, inputs=node.inputs[:1], attributes=attributes)


PASS = Pass(
    name="clip_to_relu6",
    summary="Clip(0, 6) becomes Relu6; other constant bounds become attributes",
    requires=frozenset({"constants", "quantisation"}),
    provides=frozenset({"clip_bounds"}),
    run=run,
)

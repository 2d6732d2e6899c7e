"""SiLU decompose: Silu (and Swish) becomes Sigmoid and Mul, which have kernels.

Between quantised tensors the Sigmoid gets TensorFlow Lite's fixed output quantisation: scale 1/256 and zero point -128
for int8, scale 2^-15 and zero point 0 for int16.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from tigris_pio.compiler.ir.graph import Graph, Node, Quantisation
from tigris_pio.compiler.normalise.editor import GraphEditor
from tigris_pio.compiler.passes import Pass

_SIGMOID = Quantisation(np.array(1 / 256, np.float32), np.array(-128), np.dtype(np.int8))
_SIGMOID_INT16 = Quantisation(np.array(1 / (1 << 15), np.float32), np.array(0), np.dtype(np.int16))


def run(graph: Graph) -> tuple[Graph, int]:
    """See the module. A Swish whose alpha is not 1 multiplies the Sigmoid's input by it."""
    editor = GraphEditor(graph)
    folded = 0
    for node in editor.nodes():
        if node.op in ("Silu", "SiLU", "Swish"):
            editor.replace(node, *_decomposed(editor, node))
            folded += 1
    return editor.finish(), folded


def _decomposed(editor: GraphEditor, node: Node) -> list[Node]:
    source, result = node.inputs[0], node.outputs[0]
    tensor = editor.tensors[source]
    alpha = float(node.attributes.get("alpha", 1.0))
    nodes = []
    scaled = source
    if alpha != 1.0:
        plain = dataclasses.replace(tensor, dtype=np.dtype(np.float32), quantisation=None)
        scaled = editor.add_tensor(f"{result}/scaled", plain)
        factor = editor.add_constant(f"{result}/alpha", np.array(alpha, np.float32))
        nodes.append(Node(f"{node.name}/scale", "Mul", (source, factor), (scaled,)))
    gate = editor.add_tensor(f"{result}/sigmoid", dataclasses.replace(editor.tensors[result], quantisation=None))
    if tensor.quantisation is not None and editor.quantisation(result) is not None and alpha == 1.0:
        editor.annotate(gate, _SIGMOID_INT16 if tensor.dtype == np.int16 else _SIGMOID)
    else:
        editor.tensors[gate] = dataclasses.replace(editor.tensors[gate], dtype=np.dtype(np.float32))
    nodes.append(Node(f"{node.name}/sigmoid", "Sigmoid", (scaled,), (gate,)))
    nodes.append(Node(f"{node.name}/mul", "Mul", (source, gate), (result,)))
    return nodes


PASS = Pass(
    name="silu_decompose",
    summary="Silu becomes Sigmoid and Mul",
    requires=frozenset({"quantisation"}),
    provides=frozenset({"no_silu"}),
    run=run,
)

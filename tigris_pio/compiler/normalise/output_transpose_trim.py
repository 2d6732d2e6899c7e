"""Output transpose trim: removes Transposes right before a model output, and leaves them to the caller.

The graph records their permutations as one, with which host sessions restore the model's own element order.
"""

from __future__ import annotations

import dataclasses

from tigris_pio.compiler.ir.graph import Graph, Node
from tigris_pio.compiler.normalise.editor import GraphEditor
from tigris_pio.compiler.passes import Pass


def run(graph: Graph) -> tuple[Graph, int]:
    """See the module."""
    editor = GraphEditor(graph)
    folded = 0
    kept = {state.output for state in graph.states}  # the next run reads them in the model's own order
    for name in graph.outputs:
        while (node := editor.producer(name)) is not None and name not in kept and _trimmable(editor, node):
            rank = len(editor.shape(name))
            inner = tuple(node.attributes.get("perm", tuple(reversed(range(rank)))))
            outer = editor.permutations.get(name, tuple(range(rank)))  # of Transposes removed before
            editor.permutations[name] = tuple(inner[axis] for axis in outer)
            editor.remove(node)
            editor.tensors[name] = dataclasses.replace(editor.tensors[node.inputs[0]], name=name)
            editor.merge(name, node.inputs[0])
            folded += 1
    return editor.finish(), folded


def _trimmable(editor: GraphEditor, node: Node) -> bool:
    """Whether a node is a Transpose that no other node reads, of a computed tensor that is no output itself."""
    if node.op != "Transpose":
        return False
    source, name = node.inputs[0], node.outputs[0]
    return (
        not editor.consumers(name)
        and editor.producer(source) is not None
        and not editor.is_output(source)
        and editor.quantisation(source) == editor.quantisation(name)
    )


PASS = Pass(
    name="output_transpose_trim",
    summary="Transposes before a model output are left to the caller",
    requires=frozenset({"quantisation"}),
    provides=frozenset({"outputs_trimmed"}),
    run=run,
)

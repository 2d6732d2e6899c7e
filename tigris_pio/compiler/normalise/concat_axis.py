"""Concat axis: adds to each Concat its axis in the stored element order.

Images are stored channels-last, so a model's axis is another one there. `axis` becomes non-negative and counts the
model's axes. `stored_axis` counts the axes of the channels-last form [N, H, W, C] (or [N, L, C]).
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
        if node.op == "Concat" and not node.domain:
            rank = len(editor.shape(node.outputs[0]))
            axis = int(node.attributes["axis"]) % rank
            attributes = {"axis": axis, "stored_axis": channels_last_axis(axis, rank)}
            editor.replace(node, dataclasses.replace(node, attributes=attributes))
            folded += 1
    return editor.finish(), folded


def channels_last_axis(axis: int, rank: int) -> int:
    """The index in [N, spatial…, C] of an axis of [N, C, spatial…]; unchanged below three axes."""
    if rank < 3 or axis == 0:
        return axis
    return rank - 1 if axis == 1 else axis - 1


PASS = Pass(
    name="concat_axis",
    summary="Concat gets its axis in the channels-last order",
    requires=frozenset({"static_shapes"}),
    provides=frozenset({"stored_axes"}),
    run=run,
)

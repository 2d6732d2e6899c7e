"""Resize scales: the scale factors of Resize and Upsample become the attribute `scales`, a float for each axis.

Lowering then reads one form instead of three. The factors come from the constant input `scales` or `sizes`, or from
Upsample's old attribute. The constant inputs are removed.
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
    for node in editor.nodes():
        if node.op in ("Resize", "Upsample"):
            scales = _scales(editor, node)
            if scales is not None:
                attributes = {**node.attributes, "scales": scales}
                kept = 2 if "tf_crop_and_resize" in str(attributes.get("coordinate_transformation_mode", "")) else 1
                editor.replace(node, dataclasses.replace(node, inputs=node.inputs[:kept], attributes=attributes))
                folded += 1
    return editor.finish(), folded


def _scales(editor: GraphEditor, node: Node) -> tuple[float, ...] | None:
    source, target = editor.shape(node.inputs[0]), editor.shape(node.outputs[0])
    if len(node.inputs) == 1:
        given = node.attributes.get("scales")
        return None if given is None else tuple(float(value) for value in given)
    index = 1 if node.op == "Upsample" or editor.graph.opset < 11 else 2
    scales = editor.constant(node, index)
    if scales is not None and scales.size:
        axes = node.attributes.get("axes", tuple(range(len(source))))
        if scales.size != len(axes):
            return None
        full = [1.0] * len(source)
        for axis, value in zip(axes, scales, strict=True):
            full[axis] = float(value)
        return tuple(full)
    if editor.constant(node, 3) is None or 0 in source:
        return None
    return _size_scales(editor, node, source, target)


def _size_scales(editor: GraphEditor, node: Node, source: tuple[int, ...],
                 target: tuple[int, ...]) -> tuple[float, ...]:
    """Factors from sizes; a policy that keeps the aspect ratio has one factor for all resized axes."""
    policy = node.attributes.get("keep_aspect_ratio_policy", "stretch")
    sizes = editor.constant(node, 3)
    if policy == "stretch" or sizes is None:
        return tuple(new / old for old, new in zip(source, target, strict=True))
    axes = [int(axis) % len(source) for axis in node.attributes.get("axes", range(len(source)))]
    factors = [int(size) / source[axis] for axis, size in zip(axes, sizes.reshape(-1), strict=False)]
    common = min(factors) if policy == "not_larger" else max(factors)
    return tuple(common if axis in axes else 1.0 for axis in range(len(source)))


PASS = Pass(
    name="resize_scales",
    summary="Resize and Upsample carry their scale factors as an attribute",
    requires=frozenset({"constants", "static_shapes"}),
    provides=frozenset({"resize_scales"}),
    run=run,
)

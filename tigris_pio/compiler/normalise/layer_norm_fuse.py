"""LayerNorm fuse: what exporters before opset 17 make of layer normalisation becomes LayerNormalization again.

x - mean, divided by the root of the mean of its squares and an epsilon; then, where they follow, a factor and an offset
for each element of the normalised axes. Only where nothing is rounded between.
"""

from __future__ import annotations

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.normalise.editor import GraphEditor


def fuse_layer_norms(editor: GraphEditor) -> int:
    """How many it found. Nodes that nobody reads any more go with the next `finish`."""
    return sum(_fuse(editor, node) for node in editor.nodes() if node.op == "Div" and not node.domain)


def _fuse(editor: GraphEditor, node: Node) -> bool:
    found = _standardised(editor, node)
    if found is None:
        return False
    source, axis, epsilon = found
    shape = editor.shape(source)[axis:]
    last, factor = _following(editor, node, "Mul", shape)
    last, offset = _following(editor, last, "Add", shape)
    if not factor:
        factor = editor.add_constant(f"{node.name}/factor", np.ones(shape, np.float32))
    fused = Node(last.name, "LayerNormalization", (source, factor, offset) if offset else (source, factor),
                 last.outputs, {"axis": axis, "epsilon": epsilon})
    editor.replace(last, fused)
    return True


def _standardised(editor: GraphEditor, node: Node) -> tuple[str, int, float] | None:
    """The tensor that a Div standardises, from which axis on, and the epsilon."""
    centred = _mean_free(editor, node.inputs[0])
    root = _made_by(editor, node.inputs[1], "Sqrt")
    total = _made_by(editor, root.inputs[0], "Add") if root is not None else None
    if centred is None or total is None:
        return None
    for variance, constant in (total.inputs, total.inputs[::-1]):
        epsilon = editor.value(constant)
        mean = _made_by(editor, variance, "ReduceMean")
        if epsilon is None or epsilon.size != 1 or mean is None or _trailing_axis(editor, mean) != centred[1]:
            continue
        if _squared(editor, mean.inputs[0]) == centred and float(epsilon.reshape(-1)[0]) >= 0:
            return *centred, float(epsilon.reshape(-1)[0])
    return None


def _mean_free(editor: GraphEditor, name: str) -> tuple[str, int] | None:
    """Of x - mean(x): x, and the axis from which on the mean is taken."""
    difference = _made_by(editor, name, "Sub")
    mean = _made_by(editor, difference.inputs[1], "ReduceMean") if difference is not None else None
    if difference is None or mean is None or mean.inputs[0] != difference.inputs[0]:
        return None
    axis = _trailing_axis(editor, mean)
    return None if axis is None else (difference.inputs[0], axis)


def _squared(editor: GraphEditor, name: str) -> tuple[str, int] | None:
    """What _mean_free says of the number whose square a tensor is."""
    power, product = _made_by(editor, name, "Pow"), _made_by(editor, name, "Mul")
    if product is not None and product.inputs[0] == product.inputs[1]:
        return _mean_free(editor, product.inputs[0])
    exponent = editor.value(power.inputs[1]) if power is not None else None
    if power is None or exponent is None or exponent.size != 1 or float(exponent.reshape(-1)[0]) != 2.0:
        return None
    return _mean_free(editor, power.inputs[0])


def _made_by(editor: GraphEditor, name: str, op: str) -> Node | None:
    """The node that computes a float32 tensor, if it is of this operator and rounds nothing."""
    producer = editor.producer(name)
    if producer is None or producer.op != op or producer.domain or editor.quantisation(name) is not None:
        return None
    return producer if editor.tensors[name].dtype == np.float32 else None


def _trailing_axis(editor: GraphEditor, mean: Node) -> int | None:
    """The first of the axes of a mean, if they are the last ones of its input and stay."""
    rank = len(editor.shape(mean.inputs[0]))
    given = editor.weights.get(mean.inputs[1]) if len(mean.inputs) > 1 and mean.inputs[1] else None
    axes = mean.attributes.get("axes", ()) if given is None else given.reshape(-1).tolist()
    wanted = sorted(int(axis) % rank for axis in axes) if rank else []
    if not wanted or not mean.attributes.get("keepdims", 1) or wanted != list(range(wanted[0], rank)):
        return None
    return wanted[0]


def _following(editor: GraphEditor, node: Node, op: str, shape: tuple[int, ...]) -> tuple[Node, str]:
    """The node that alone reads another's output and joins it with a constant of this shape, and that constant; the
    node itself and nothing where there is none."""
    result = node.outputs[0]
    reader = editor.only_consumer(result)
    if reader is None or reader.op != op or reader.domain or editor.quantisation(result) is not None:
        return node, ""
    others = [name for name in reader.inputs if name != result]
    if len(others) != 1 or others[0] not in editor.weights or editor.shape(others[0]) != shape:
        return node, ""
    return reader, others[0]

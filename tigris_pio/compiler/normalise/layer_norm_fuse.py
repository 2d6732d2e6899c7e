"""LayerNorm fuse: the nodes that exporters before opset 17 write for layer normalisation become LayerNormalization.

The pattern is (x - mean) / sqrt(mean((x - mean)^2) + epsilon), optionally followed by a factor and an offset for each
element of the normalised axes. It is fused only if nothing is quantised in between.
"""

from __future__ import annotations

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.normalise.editor import GraphEditor


def fuse_layer_norms(editor: GraphEditor) -> int:
    """Fuses all layer normalisations; returns their number. `editor.finish` removes the nodes without readers."""
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
    """The tensor that a Div standardises, the first normalised axis, and the epsilon; None for any other Div."""
    centred = _mean_free(editor, node.inputs[0])
    root = _producer_of(editor, node.inputs[1], "Sqrt")
    total = _producer_of(editor, root.inputs[0], "Add") if root is not None else None
    if centred is None or total is None:
        return None
    for variance, constant in (total.inputs, total.inputs[::-1]):
        epsilon = editor.value(constant)
        mean = _producer_of(editor, variance, "ReduceMean")
        if epsilon is None or epsilon.size != 1 or mean is None or _trailing_axis(editor, mean) != centred[1]:
            continue
        if _squared(editor, mean.inputs[0]) == centred and float(epsilon.reshape(-1)[0]) >= 0:
            return *centred, float(epsilon.reshape(-1)[0])
    return None


def _mean_free(editor: GraphEditor, name: str) -> tuple[str, int] | None:
    """For a tensor x - mean(x): x, and the first axis of the mean; None for any other tensor."""
    difference = _producer_of(editor, name, "Sub")
    mean = _producer_of(editor, difference.inputs[1], "ReduceMean") if difference is not None else None
    if difference is None or mean is None or mean.inputs[0] != difference.inputs[0]:
        return None
    axis = _trailing_axis(editor, mean)
    return None if axis is None else (difference.inputs[0], axis)


def _squared(editor: GraphEditor, name: str) -> tuple[str, int] | None:
    """For the square of a tensor, the result of _mean_free for that tensor; None for any other tensor."""
    power, product = _producer_of(editor, name, "Pow"), _producer_of(editor, name, "Mul")
    if product is not None and product.inputs[0] == product.inputs[1]:
        return _mean_free(editor, product.inputs[0])
    exponent = editor.value(power.inputs[1]) if power is not None else None
    if power is None or exponent is None or exponent.size != 1 or float(exponent.reshape(-1)[0]) != 2.0:
        return None
    return _mean_free(editor, power.inputs[0])


def _producer_of(editor: GraphEditor, name: str, op: str) -> Node | None:
    """The node that computes a float32 tensor, if it is an `op` and its result is not quantised."""
    producer = editor.producer(name)
    if producer is None or producer.op != op or producer.domain or editor.quantisation(name) is not None:
        return None
    return producer if editor.tensors[name].dtype == np.float32 else None


def _trailing_axis(editor: GraphEditor, mean: Node) -> int | None:
    """The first axis of a mean over the last axes of its input, if it keeps these axes; None otherwise."""
    rank = len(editor.shape(mean.inputs[0]))
    given = editor.weights.get(mean.inputs[1]) if len(mean.inputs) > 1 and mean.inputs[1] else None
    axes = mean.attributes.get("axes", ()) if given is None else given.reshape(-1).tolist()
    wanted = sorted(int(axis) % rank for axis in axes) if rank else []
    if not wanted or not mean.attributes.get("keepdims", 1) or wanted != list(range(wanted[0], rank)):
        return None
    return wanted[0]


def _following(editor: GraphEditor, node: Node, op: str, shape: tuple[int, ...]) -> tuple[Node, str]:
    """The only reader of a node's output, if it is an `op` with a constant of `shape`, and the constant's name; or else
    the node itself and an empty name."""
    result = node.outputs[0]
    reader = editor.only_consumer(result)
    if reader is None or reader.op != op or reader.domain or editor.quantisation(result) is not None:
        return node, ""
    constants = [name for name in reader.inputs if name != result]
    if len(constants) != 1 or constants[0] not in editor.weights or editor.shape(constants[0]) != shape:
        return node, ""
    return reader, constants[0]

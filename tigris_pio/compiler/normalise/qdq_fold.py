"""QDQ fold: QuantizeLinear/DequantizeLinear pairs become annotations on tensors.

A quantised tensor and its dequantised form become one tensor, stored as integers. Constants keep their integer values.
If a value is also needed unrounded, the QuantizeLinear node stays and reads the float tensor. Constants for scales and
zero points, which exporters share among nodes, are removed with their last reader.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from tigris_pio.compiler.evaluate import evaluate
from tigris_pio.compiler.ir.graph import Graph, Node, Quantisation
from tigris_pio.compiler.normalise.byte_casts import read_casts
from tigris_pio.compiler.normalise.constant_fold import fold_constants
from tigris_pio.compiler.normalise.editor import GraphEditor
from tigris_pio.compiler.normalise.integers import RECODE, annotate_integers, foldable_quantisation
from tigris_pio.compiler.normalise.quantisation import (
    is_dequantize,
    is_quantize,
    read_quantisation,
    signed_values,
    symmetric_scale,
)
from tigris_pio.compiler.passes import Pass

#: Operators whose outputs are values of their first input: they commute with quantisation.
_MOVES = frozenset(("Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze", "Identity", "Dropout", "Slice", "Gather",
                    "Split", "Expand", "Tile", "DepthToSpace", "SpaceToDepth"))
_COMMUTING = _MOVES | {"MaxPool", "GlobalMaxPool", "Relu", "Concat"}


def run(graph: Graph) -> tuple[Graph, int]:
    """See the module."""
    editor = GraphEditor(graph)
    folded = read_casts(editor, _COMMUTING)
    annotate_integers(editor)
    for node in editor.nodes():
        if is_dequantize(node) and node.inputs[0] in editor.weights:
            folded += _fold_constant(editor, node)
        elif is_quantize(node):
            folded += _fold_quantize(editor, node)
        elif is_dequantize(node):
            folded += _fold_dequantize(editor, node)
        elif node.inputs and all(not name or name in editor.weights for name in node.inputs):
            folded += node.op in (*_MOVES, "Concat") and _move_constant(editor, node)
        elif node.op in _COMMUTING:
            _annotate_output(editor, node)
    for node in editor.nodes_reversed():
        if node.op in _COMMUTING:
            _annotate_inputs(editor, node)
    _centre(editor)
    folded += fold_constants(editor)
    return editor.finish(), folded


def _centre(editor: GraphEditor) -> None:
    """Removes the zero points of computed int16 activations: int16 kernels have none, and the larger scale costs at
    most one bit. A Clip keeps the range, which may replace a Relu. Inputs keep their zero points; so do outputs that
    are integers or moved inputs."""
    for node in editor.nodes():
        if is_quantize(node) or is_dequantize(node) or node.op == RECODE:
            continue
        for name in filter(None, node.outputs):
            own, dtype = editor.quantisation(name), editor.graph.io_dtypes.get(name)
            if own is None or own.dtype != np.int16 or not own.zero_point.any() or dtype not in (None, np.float32):
                continue
            source = editor.quantisation(node.inputs[0]) if node.op in _MOVES else None
            if dtype is not None and source is not None and source.zero_point.any():
                continue
            scale = symmetric_scale(own.scale, int(own.zero_point))
            editor.annotate(name, dataclasses.replace(own, scale=scale, zero_point=np.zeros((), np.int64)))
            if node.op not in _MOVES:
                _clip(editor, name, own)


def _clip(editor: GraphEditor, name: str, range_of: Quantisation) -> None:
    """Clips a tensor, behind the node that computes it, to the range of `range_of`."""
    node = editor.producer(name)
    assert node is not None
    limits = np.iinfo(range_of.dtype)
    ends = [(end - int(range_of.zero_point)) * float(range_of.scale) for end in (limits.min, limits.max)]
    most = float(np.finfo(np.float32).max)  # the lowest number of a mask would round to -infinity
    constants = [editor.add_constant(f"{name}/{word}", np.array(min(max(end, -most), most), np.float32))
                 for word, end in zip(("low", "high"), ends, strict=True)]
    raw = editor.add_tensor(f"{name}/unclipped", editor.tensors[name])
    clip = Node(editor.fresh(f"{node.name}/clip"), "Clip", (raw, *constants), (name,))
    outputs = tuple(raw if item == name else item for item in node.outputs)
    editor.replace(node, dataclasses.replace(node, outputs=outputs), clip)


def _fold_constant(editor: GraphEditor, node: Node) -> bool:
    """Folds DequantizeLinear of a constant: the constant keeps its integers and gets the annotation."""
    quantisation = read_quantisation(editor, node)
    result = node.outputs[0]
    if quantisation is None:
        return _dequantise_now(editor, node)
    values = signed_values(editor.weights[node.inputs[0]])
    if values.dtype != quantisation.dtype:
        return _dequantise_now(editor, node)
    editor.remove(node)
    editor.set_constant(result, values, quantisation)
    return True


def _dequantise_now(editor: GraphEditor, node: Node) -> bool:
    """Makes a float32 constant of one whose form has no annotation here, such as scales of blocks."""
    names = [name for name in node.inputs if name]
    if any(name not in editor.weights for name in names) or node.domain:
        return False
    values = evaluate(node, {name: editor.weights[name] for name in names}, editor.opsets(), editor.graph.name)
    editor.remove(node)
    editor.set_constant(node.outputs[0], values[0].astype(np.float32))
    return True


def _fold_quantize(editor: GraphEditor, node: Node) -> bool:
    """Folds QuantizeLinear of an activation; the node stays if its input is also needed unrounded."""
    quantisation = foldable_quantisation(editor, node)
    source, result = node.inputs[0], node.outputs[0]
    if quantisation is None:
        return False
    editor.annotate(result, quantisation)
    if editor.quantisation(source) != quantisation and not _may_quantise(editor, source, quantisation):
        return False
    editor.remove(node)
    editor.annotate(source, quantisation)
    editor.merge(result, source)
    return True


def _may_quantise(editor: GraphEditor, name: str, quantisation: Quantisation) -> bool:
    """Whether an activation is float32, and all its readers are QuantizeLinear nodes with this annotation."""
    if editor.quantisation(name) is not None or editor.is_output(name) or editor.tensors[name].dtype != np.float32:
        return False
    return all(is_quantize(reader) and read_quantisation(editor, reader) == quantisation
               for reader in editor.consumers(name))


def _fold_dequantize(editor: GraphEditor, node: Node) -> bool:
    """Folds DequantizeLinear of an activation: its input and its output become one tensor."""
    quantisation = foldable_quantisation(editor, node)
    source, result = node.inputs[0], node.outputs[0]
    if quantisation is None or editor.quantisation(source) != quantisation:
        return False
    editor.remove(node)
    editor.annotate(result, quantisation)
    editor.merge(result, source)
    return True


def _move_constant(editor: GraphEditor, node: Node) -> bool:
    """Applies an operator that moves values, between quantised constants and their reader, to the integers."""
    quantisation = editor.quantisation(node.inputs[0])
    names = node.inputs if node.op == "Concat" else node.inputs[:1]
    if quantisation is None or any(editor.quantisation(name) != quantisation for name in names):
        return False
    axis = quantisation.axis
    if axis is not None and node.op != "Identity":
        if node.op != "Transpose":
            return False
        rank = len(editor.shape(node.inputs[0]))
        axis = tuple(node.attributes.get("perm", tuple(reversed(range(rank))))).index(axis)
    values = {name: editor.weights[name] for name in node.inputs if name}
    results = evaluate(node, values, editor.opsets(), editor.graph.name)
    editor.remove(node)
    for name, moved in zip(node.outputs, results, strict=False):
        if name:
            editor.set_constant(name, np.asarray(moved, order="C"), dataclasses.replace(quantisation, axis=axis))
    return True


def _annotate_output(editor: GraphEditor, node: Node) -> None:
    """Annotates the outputs of an operator that moves values like its quantised input."""
    names = node.inputs if node.op == "Concat" else node.inputs[:1]
    found = [editor.quantisation(name) for name in names]
    if found[0] is None or found[0].axis is not None or any(item != found[0] for item in found):
        return
    for name in filter(None, node.outputs if node.op == "Split" else node.outputs[:1]):
        tensor = editor.tensors[name]
        if tensor.quantisation is None and tensor.dtype == np.float32:
            if _is_requantised(editor, name, found[0]):
                continue
            editor.annotate(name, found[0])


def _is_requantised(editor: GraphEditor, name: str, quantisation: Quantisation) -> bool:
    """Whether a QuantizeLinear with another annotation follows: the operator then writes that one directly."""
    return any(is_quantize(reader) and read_quantisation(editor, reader) != quantisation
               for reader in editor.consumers(name))


def _annotate_inputs(editor: GraphEditor, node: Node) -> None:
    """Annotates the inputs of an operator that moves values like its output: rounding before it gives the same."""
    quantisation = editor.quantisation(node.outputs[0]) if node.outputs[0] else None
    if quantisation is None or any(editor.quantisation(name) not in (None, quantisation) for name in node.outputs
                                   if name):
        return
    for name in node.inputs if node.op == "Concat" else node.inputs[:1]:
        tensor = editor.tensors[name]
        if tensor.quantisation is None and tensor.dtype == np.float32 and name not in editor.weights:
            reader = editor.only_consumer(name)
            if reader is not None and reader.outputs == node.outputs and not editor.is_input(name):
                editor.annotate(name, quantisation)


PASS = Pass(
    name="qdq_fold",
    summary="QuantizeLinear/DequantizeLinear pairs become annotations; constants keep their integers",
    requires=frozenset({"constants"}),
    provides=frozenset({"quantisation"}),
    run=run,
)

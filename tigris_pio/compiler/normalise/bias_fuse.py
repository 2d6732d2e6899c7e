"""Bias fuse: Add of a constant, one number an output channel, becomes the bias of the layer before it.

Exporters write a fully connected layer as MatMul and Add, with nothing quantised between; as one layer it is int8.
"""

from __future__ import annotations

import dataclasses

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.normalise.editor import GraphEditor

#: Operators that take a bias as their third input, and the axis of their output channels.
_BIASED = {"Conv": 1, "DepthwiseConv": 1, "Conv1D": 1, "ConvTranspose": 1, "Gemm": -1, "MatMul": -1}


def fuse_biases(editor: GraphEditor) -> int:
    """How many Add nodes it took out. A MatMul with a bias has three inputs afterwards."""
    return sum(_fuse(editor, node) for node in editor.nodes() if node.op == "Add" and not node.domain)


def _fuse(editor: GraphEditor, node: Node) -> bool:
    for layer_input, bias in (node.inputs, node.inputs[::-1]):
        layer = editor.producer(layer_input)
        if layer is not None and bias in editor.weights and _takes(editor, layer, node, bias):
            inputs = (*layer.inputs[:2], bias)
            attributes = {**layer.attributes, **node.attributes}
            editor.remove(node)
            editor.replace(layer, dataclasses.replace(layer, inputs=inputs, outputs=node.outputs,
                                                      attributes=attributes))
            return True
    return False


def _takes(editor: GraphEditor, layer: Node, node: Node, bias: str) -> bool:
    """Whether nobody else sees the layer's output, which has no bias, activation or rounding of its own."""
    result = layer.outputs[0]
    if layer.domain or layer.op not in _BIASED or any(layer.inputs[2:]) or "activation_min" in layer.attributes:
        return False
    if editor.only_consumer(result) is None or editor.quantisation(result) is not None:
        return False
    if layer.inputs[1] not in editor.weights or layer.inputs[0] in editor.weights:
        return False
    matrix = editor.shape(layer.inputs[1])
    if layer.op == "MatMul" and (len(matrix) < 2 or any(size != 1 for size in matrix[:-2])):
        return False
    return editor.shape(node.outputs[0]) == editor.shape(result) and _fits(editor, bias, result, _BIASED[layer.op])


def _fits(editor: GraphEditor, bias: str, result: str, axis: int) -> bool:
    """Whether a constant has one number an output channel, and one scale or as many."""
    shape = editor.shape(result)
    wanted = tuple(size if index == axis % len(shape) else 1 for index, size in enumerate(shape))
    quantisation = editor.quantisation(bias)
    scales = 1 if quantisation is None else quantisation.scale.size
    given = editor.shape(bias)
    return (1,) * (len(shape) - len(given)) + given == wanted and scales in (1, shape[axis])

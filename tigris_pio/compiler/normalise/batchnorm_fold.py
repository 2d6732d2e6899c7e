"""BatchNorm fold: a BatchNormalization behind a Conv is folded into the Conv's weights and bias.

First, the pass fuses nodes into which exporters split an operator: layer normalisations (layer_norm_fuse.py) and
functions of one tensor (table_fuse.py).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from tigris_pio.compiler.ir.graph import Graph, Node
from tigris_pio.compiler.normalise.editor import GraphEditor
from tigris_pio.compiler.normalise.layer_norm_fuse import fuse_layer_norms
from tigris_pio.compiler.normalise.table_fuse import fuse_tables
from tigris_pio.compiler.passes import Pass
from tigris_pio.errors import ModelError


def run(graph: Graph) -> tuple[Graph, int]:
    """See the module. Quantised weights and outputs with several readers stay."""
    editor = GraphEditor(graph)
    folded = fuse_layer_norms(editor) + fuse_tables(editor)
    for node in editor.nodes():
        if node.op == "BatchNormalization":
            folded += _fold(editor, node)
    return editor.finish(), folded


def scale_and_offset(editor: GraphEditor, node: Node) -> tuple[np.ndarray, np.ndarray] | None:
    """The factor and offset of a BatchNormalization in inference, a float64 vector of channels each; None if they are
    computed at run time. Raises ModelError for a variance below 0."""
    if node.attributes.get("training_mode", 0) or len([name for name in node.outputs if name]) > 1:
        return None
    values = [editor.constant(node, index) for index in range(1, 5)]
    if any(value is None for value in values):
        return None
    terms = factor_and_offset(node, [value for value in values if value is not None])
    if terms is None:
        raise ModelError(f"{editor.graph.name}: node {node.name} (BatchNormalization) has a variance below 0")
    return terms


def factor_and_offset(node: Node, constants: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray] | None:
    """Factor and offset of each channel in float64, from `constants`: scale, bias, mean and variance.

    None if a variance plus epsilon is not positive.
    """
    gamma, beta, mean, variance = (np.asarray(value, np.float64).reshape(-1) for value in constants)
    squared = variance + float(node.attributes.get("epsilon", 1e-5))
    if not np.all(squared > 0):
        return None
    factor = gamma / np.sqrt(squared)
    return factor, beta - mean * factor


def _fold(editor: GraphEditor, node: Node) -> bool:
    conv = editor.producer(node.inputs[0])
    terms = scale_and_offset(editor, node)
    if conv is None or terms is None or conv.op != "Conv" or editor.only_consumer(node.inputs[0]) is None:
        return False
    if editor.quantisation(node.inputs[0]) is not None:
        return False
    weights = editor.weights.get(conv.inputs[1])
    bias = editor.constant(conv, 2) if len(conv.inputs) > 2 and conv.inputs[2] else np.zeros(1, np.float32)
    if weights is None or bias is None or editor.quantisation(conv.inputs[1]) is not None:
        return False
    factor, offset = terms
    column = factor.reshape((-1,) + (1,) * (weights.ndim - 1))
    new_weights = editor.add_constant(f"{conv.inputs[1]}/batchnorm", (weights * column).astype(weights.dtype))
    new_bias = editor.add_constant(f"{conv.name}/bias", (bias * factor + offset).astype(weights.dtype))
    editor.remove(node)
    inputs = (conv.inputs[0], new_weights, new_bias)
    editor.replace(conv, dataclasses.replace(conv, inputs=inputs, outputs=node.outputs[:1]))
    return True


PASS = Pass(
    name="batchnorm_fold",
    summary="BatchNormalization becomes part of its Conv; split layer normalisations and functions become one node",
    requires=frozenset({"constants", "quantisation"}),
    provides=frozenset({"batchnorm"}),
    run=run,
)

"""Bias fuse: Add, Sub, Mul, Div and BatchNormalization with one constant an output channel are folded into the bias and
the weights of the layer before them.

Exporters write a fully connected layer as MatMul and Add, with no quantisation between. Fused into one layer it runs in
int8. A Reshape may stand between, if the channels stay an axis of their own.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

import numpy as np

from tigris_pio.compiler.ir.graph import Node, Quantisation
from tigris_pio.compiler.normalise.batchnorm_fold import scale_and_offset
from tigris_pio.compiler.normalise.editor import GraphEditor

#: Operators that take a bias as their third input, and the axis of their output channels.
_BIASED = {"Conv": 1, "DepthwiseConv": 1, "Conv1D": 1, "ConvTranspose": 1, "Gemm": -1, "MatMul": -1}
_ARITHMETIC = ("Add", "Sub", "Mul", "Div")
_RESHAPES = ("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity")


@dataclasses.dataclass(frozen=True)
class _Terms:
    """y = factor * x + offset for each channel of the layer; `bias`: the constant that holds the offset, or empty."""

    factor: np.ndarray
    offset: np.ndarray
    bias: str = ""


@dataclasses.dataclass(frozen=True)
class _Layer:
    """A layer, the reshapes between it and the node to fold, and the axis of its channels behind them."""

    node: Node
    between: tuple[Node, ...]
    axis: int


def fuse_biases(editor: GraphEditor) -> int:
    """Folds arithmetic into layers; returns the number of folded nodes. A MatMul with a bias then has three inputs."""
    return sum(_fuse(editor, node) for node in editor.nodes() if not node.domain)


def _fuse(editor: GraphEditor, node: Node) -> bool:
    for result, terms, layer in _candidates(editor, node):
        if terms is not None and _absorb(editor, layer, terms):
            editor.remove(node)
            _rename(editor, result, node.outputs[0], layer)
            return True
    return False


def _candidates(editor: GraphEditor, node: Node) -> Iterator[tuple[str, _Terms | None, _Layer]]:
    """Each input of a node that a layer computes, with the node's terms for it and the layer."""
    if node.op == "BatchNormalization":
        layer = _layer(editor, node.inputs[0])
        terms = scale_and_offset(editor, node) if layer is not None and layer.axis == 1 else None
        if layer is not None and terms is not None:
            yield node.inputs[0], _Terms(*terms), layer
    elif node.op in _ARITHMETIC and len(node.inputs) == 2 and node.inputs[0] != node.inputs[1]:
        for index, name in enumerate(node.inputs):
            layer = _layer(editor, name) if node.inputs[1 - index] in editor.weights else None
            if layer is not None and editor.shape(node.outputs[0]) == editor.shape(name):
                yield name, _terms(editor, node, index, layer), layer


def _terms(editor: GraphEditor, node: Node, index: int, layer: _Layer) -> _Terms | None:
    """The terms that a node applies to its input `index`; its other input is a constant."""
    name = node.inputs[1 - index]
    shape = editor.shape(node.inputs[index])
    values = _channel_values(editor, name, shape, layer.axis)
    if values is None or (node.op == "Div" and (index != 0 or not np.all(values))):
        return None
    zeros, ones = np.zeros(len(values)), np.ones(len(values))
    if node.op == "Add":
        quantisation = editor.quantisation(name)
        scales = 1 if quantisation is None else quantisation.scale.size
        whole = editor.weights[name].size == len(values) and scales in (1, len(values))
        return _Terms(ones, values, name if whole else "")
    if node.op == "Sub":
        return _Terms(ones, -values) if index == 0 else _Terms(-ones, values)
    return _Terms(values if node.op == "Mul" else 1.0 / values, zeros)


def _channel_values(editor: GraphEditor, name: str, shape: tuple[int, ...], axis: int) -> np.ndarray | None:
    """A constant as a float64 vector of channels; None if it differs along another axis."""
    values = editor.value(name)
    if values is None or values.ndim > len(shape) or not np.issubdtype(values.dtype, np.floating):
        return None
    given = (1,) * (len(shape) - values.ndim) + values.shape
    if any(size not in (1, shape[axis] if index == axis else 1) for index, size in enumerate(given)):
        return None
    return np.broadcast_to(values.reshape(-1).astype(np.float64), (shape[axis],))


def _layer(editor: GraphEditor, name: str) -> _Layer | None:
    """The layer with constant weights that computes a tensor; None if the tensor has other readers, or if it is rounded
    or clamped on the way."""
    between: list[Node] = []
    producer = _only_producer(editor, name)
    while producer is not None and not producer.domain and producer.op in _RESHAPES:
        between.append(producer)
        producer = _only_producer(editor, producer.inputs[0])
    if producer is None or producer.domain or producer.op not in _BIASED or "activation_min" in producer.attributes:
        return None
    if producer.inputs[1] not in editor.weights or producer.inputs[0] in editor.weights:
        return None
    matrix = editor.shape(producer.inputs[1])
    if producer.op == "MatMul" and (len(matrix) < 2 or any(size != 1 for size in matrix[:-2])):
        return None
    own = editor.shape(producer.outputs[0])
    axis = _same_axis(own, _BIASED[producer.op] % len(own), editor.shape(name))
    return None if axis is None else _Layer(producer, tuple(between), axis)


def _only_producer(editor: GraphEditor, name: str) -> Node | None:
    if editor.only_consumer(name) is None or editor.quantisation(name) is not None:
        return None
    return editor.producer(name)


def _same_axis(before: tuple[int, ...], axis: int, after: tuple[int, ...]) -> int | None:
    """The index of an axis after a reshape; None if it is no axis of its own then."""
    for index, size in enumerate(after):
        if size == before[axis] and math.prod(after[:index]) == math.prod(before[:axis]) and (
                size > 1 or index == axis):
            return index
    return None


def _absorb(editor: GraphEditor, layer: _Layer, terms: _Terms) -> bool:
    """Changes weights and bias of the layer; returns False, and changes nothing, if that is impossible."""
    node = layer.node
    old = node.inputs[2] if len(node.inputs) > 2 else ""
    if not (np.all(np.isfinite(terms.factor)) and np.all(np.isfinite(terms.offset))):
        return False
    weights = node.inputs[1]
    if np.any(terms.factor != 1.0):
        scaled = _scaled_weights(editor, node, terms.factor)
        if scaled is None:
            return False
        weights = scaled
    bias = terms.bias if not old else _bias(editor, node, old, terms)
    if bias is None:
        return False
    if not bias and np.any(terms.offset):
        # A new bias is not scaled, so Gemm's beta is dropped below.
        bias = editor.add_constant(f"{node.name}/bias", terms.offset.astype(np.float32))
    attributes = dict(node.attributes)
    if not old:
        attributes.pop("beta", None)
    inputs = (node.inputs[0], weights, bias) if bias else (node.inputs[0], weights)
    editor.replace(node, dataclasses.replace(node, inputs=inputs, attributes=attributes))
    return True


def _bias(editor: GraphEditor, node: Node, old: str, terms: _Terms) -> str | None:
    """The layer's bias with the terms applied; None if it is computed at run time or differs along another axis."""
    values = editor.value(old)
    if values is None or values.size not in (1, len(terms.factor)) or not np.issubdtype(values.dtype, np.floating):
        return None
    beta = float(node.attributes.get("beta", 1.0))
    if beta == 0.0:
        return None
    fresh = values.reshape(-1).astype(np.float64) * terms.factor + terms.offset / beta
    return editor.add_constant(f"{node.name}/bias", fresh.astype(np.float32)) if np.all(np.isfinite(fresh)) else None


def _scaled_weights(editor: GraphEditor, node: Node, factor: np.ndarray) -> str | None:
    """A constant with the weights times `factor`; for quantised weights the scale changes, and signs if needed."""
    name = node.inputs[1]
    values, quantisation = editor.weights[name], editor.quantisation(name)
    axis = _weight_axis(node, values.ndim)
    if values.shape[axis] != len(factor) or len(editor.consumers(name)) > 1:
        return None  # groups of a ConvTranspose; or shared weights, which would be stored twice
    column = factor.reshape([-1 if index == axis else 1 for index in range(values.ndim)])
    if quantisation is None:
        scaled = (values * column).astype(np.float32) if np.issubdtype(values.dtype, np.floating) else None
    else:
        scaled = _with_sign(values, column, quantisation)
        quantisation = _scaled(quantisation, factor, axis)
    if scaled is None or not np.all(np.isfinite(scaled)) or (quantisation is None and scaled.dtype != np.float32):
        return None
    return editor.add_constant(f"{name}/scaled", scaled, quantisation)


def _with_sign(values: np.ndarray, column: np.ndarray, quantisation: Quantisation) -> np.ndarray | None:
    """Integer weights, negated where the factor is negative; None if one of them cannot be negated in its type."""
    negative = column < 0
    if not np.any(negative):
        return values
    if np.any(quantisation.zero_point) or values.min() == np.iinfo(values.dtype).min:
        return None
    turned: np.ndarray = np.where(negative, -values, values).astype(values.dtype)
    return turned


def _scaled(quantisation: Quantisation, factor: np.ndarray, axis: int) -> Quantisation | None:
    """The quantisation with a scale for each channel; None if a scale is not positive, or belongs to another axis."""
    scale = (quantisation.scale.astype(np.float64) * np.abs(factor)).astype(np.float32)
    if quantisation.axis not in (None, axis) or not (np.all(np.isfinite(scale)) and np.all(scale > 0)):
        return None
    zero_point = np.broadcast_to(quantisation.zero_point, scale.shape).copy()
    return Quantisation(scale, zero_point, quantisation.dtype, axis)


def _weight_axis(node: Node, rank: int) -> int:
    """The axis of output channels in a layer's weights."""
    if node.op == "Gemm":
        return 0 if node.attributes.get("transB", 0) else 1
    return {"MatMul": rank - 1, "ConvTranspose": 1}.get(node.op, 0)


def _rename(editor: GraphEditor, result: str, name: str, layer: _Layer) -> None:
    """Gives the layer's `result` the `name` of the folded node's output, and its annotation to the tensors before.

    Reshapes keep integers as they are.
    """
    quantisation = editor.quantisation(name)
    producer = editor.producer(result)
    assert producer is not None
    editor.replace(producer, dataclasses.replace(producer, outputs=(name, *producer.outputs[1:])))
    if quantisation is not None and quantisation.axis is None:
        for node in layer.between:
            editor.annotate(node.inputs[0], quantisation)

"""Rounds weights to 4 bits (--weights): the layers that may have them, and the scale of each output channel."""

from collections.abc import Collection
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tigris_pio.host.io import Array
from tigris_pio.quantize.prepare import LayerNodes, Prepared

#: `auto` gives a layer 4 bits if the cosine of its own error is at least this, which is an error of 14 %.
LEAST_COSINE = 0.99
#: The integers of weights; onnxruntime's per-channel scales are symmetric, with 127 steps to the largest.
_LOW, _HIGH, _INT8_STEPS = -8, 7, 127
#: Factors of the scale with which the largest weight becomes 7; a smaller scale clips a few weights.
_FACTORS = np.linspace(0.6, 1.0, 17)


def narrow_layers(prepared: Prepared) -> tuple[LayerNodes, ...]:
    """The layers whose weights plans store in 4 bits: products with constants, and convolutions of one group."""
    nodes = {node.name: node for node in prepared.model.graph.node}
    constants = {item.name for item in prepared.model.graph.initializer}
    return tuple(layer for layer in prepared.layers if _axis(nodes[layer.nodes[0]], constants) is not None)


def narrow_weights(graph: onnx.GraphProto, layers: Collection[LayerNodes]) -> dict[str, list[dict[str, Any]]]:
    """Rounds the weights of `layers` in `graph`; returns onnxruntime's overrides, which keep the integers."""
    weights = {item.name: item for item in graph.initializer}
    names = {layer.nodes[0] for layer in layers}
    found: dict[str, list[dict[str, Any]]] = {}
    for node in graph.node:
        axis = _axis(node, weights) if node.name in names else None
        if axis is None or node.input[1] in found:
            continue
        item = weights[node.input[1]]
        rounded, scales = _rounded(np.moveaxis(numpy_helper.to_array(item), axis, 0))
        item.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(np.moveaxis(rounded, 0, axis)), item.name))
        found[item.name] = [{"axis": axis, "rmin": np.float32(-end), "rmax": np.float32(end)}
                            for end in _INT8_STEPS * scales]
    return found


def _axis(node: onnx.NodeProto, constants: Collection[str]) -> int | None:
    """The axis of the output channels in a node's weights; None for a node without weights of 4 bits."""
    attributes = {item.name: helper.get_attribute_value(item) for item in node.attribute}
    if len(node.input) < 2 or node.input[1] not in constants:
        return None
    if node.op_type == "Conv":
        return 0 if attributes.get("group", 1) == 1 else None
    if node.op_type == "Gemm":
        return 0 if attributes.get("transB", 0) else 1
    return 1 if node.op_type == "MatMul" else None


def _rounded(weights: Array) -> tuple[Array, Array]:
    """Weights [outputs][...] at multiples of their channel's scale, and the scales; the squared error is the least."""
    flat = weights.reshape(len(weights), -1).astype(np.float64)
    largest = np.maximum(np.abs(flat).max(axis=1, initial=0.0), np.finfo(np.float32).tiny) / _HIGH
    scales = largest
    least = np.full(len(flat), np.inf)
    best = np.zeros_like(flat)
    for factor in _FACTORS:
        tried = (largest * factor)[:, np.newaxis]
        values = np.clip(np.rint(flat / tried), _LOW, _HIGH) * tried
        errors = ((values - flat) ** 2).sum(axis=1)
        better = errors < least
        best[better], scales = values[better], np.where(better, tried[:, 0], scales)
        least = np.minimum(least, errors)
    return best.reshape(weights.shape).astype(np.float32), scales

"""Reads QuantizeLinear and DequantizeLinear nodes, and converts unsigned integers to signed ones."""

from __future__ import annotations

import numpy as np

from tigris_pio.compiler.ir.graph import Node, Quantisation
from tigris_pio.compiler.normalise.editor import GraphEditor
from tigris_pio.errors import ModelError
from tigris_pio.text import counted

_DOMAINS = ("", "com.microsoft")
#: Element types narrower than a byte; their values are stored as int8.
_NARROW = {"int4": 0, "uint4": 0, "int2": 0, "uint2": 0}


def is_quantize(node: Node) -> bool:
    """Whether the node is QuantizeLinear, ONNX's or onnxruntime's."""
    return node.op == "QuantizeLinear" and node.domain in _DOMAINS


def is_dequantize(node: Node) -> bool:
    """Whether the node is DequantizeLinear, ONNX's or onnxruntime's."""
    return node.op == "DequantizeLinear" and node.domain in _DOMAINS


def signed_values(values: np.ndarray) -> np.ndarray:
    """uint8 less 128 as int8, uint16 less 32768 as int16, narrower types as int8; other types unchanged."""
    if values.dtype == np.uint8:
        return (values.astype(np.int16) - 128).astype(np.int8)
    if values.dtype == np.uint16:
        return (values.astype(np.int32) - (1 << 15)).astype(np.int16)
    return values.astype(np.int8) if values.dtype.name in _NARROW else values


def read_quantisation(editor: GraphEditor, node: Node) -> Quantisation | None:
    """The node's scale and zero point, for the signed form of its integers.

    None, and the node stays, if they are computed at run time, belong to blocks, or the integers are neither int8,
    int16 nor int32 in signed form. Raises ModelError for a scale that is not a positive number.
    """
    scale = editor.weights.get(node.inputs[1])
    zero_point = editor.weights.get(node.inputs[2]) if len(node.inputs) > 2 and node.inputs[2] else None
    if scale is None or node.attributes.get("block_size", 0) or scale.ndim > 1:
        return None
    if zero_point is None and len(node.inputs) > 2 and node.inputs[2]:
        return None
    stored = _stored_dtype(editor, node, zero_point)
    real = np.asarray(scale, np.float32)
    if not (np.all(np.isfinite(real)) and np.all(real > 0)):
        raise ModelError(
            f"{editor.graph.name}: node {node.name} ({node.op}) has scale {_shown(real)}; "
            "a scale must be a positive number"
        )
    zero = np.zeros(real.shape, np.int64) if zero_point is None else np.asarray(zero_point).astype(np.int64)
    if zero.size != real.size:
        raise ModelError(
            f"{editor.graph.name}: node {node.name} ({node.op}) has {counted(real.size, 'scale')} and "
            f"{counted(zero.size, 'zero point')}"
        )
    return _annotation(editor, node, real, zero, stored)


def _stored_dtype(editor: GraphEditor, node: Node, zero_point: np.ndarray | None) -> np.dtype[np.generic]:
    if zero_point is not None:
        return zero_point.dtype
    name = node.outputs[0] if is_quantize(node) else node.inputs[0]
    value = editor.weights.get(name)
    return editor.tensors[name].dtype if value is None else value.dtype


def _annotation(editor: GraphEditor, node: Node, scale: np.ndarray, zero: np.ndarray,
                stored: np.dtype[np.generic]) -> Quantisation | None:
    if stored == np.uint8:
        zero = zero - 128
    elif stored == np.uint16:
        zero = zero - (1 << 15)
    elif stored.name not in _NARROW and stored not in (np.int8, np.int16, np.int32):
        return None
    dtype: np.dtype[np.generic] = np.dtype(np.int32) if stored == np.int32 else np.dtype(np.int8)
    if stored in (np.int16, np.uint16):
        dtype = np.dtype(np.int16)
    if scale.size == 1:
        return Quantisation(scale.reshape(()), zero.reshape(()), dtype)
    shape = editor.shape(node.inputs[0])
    axis = int(node.attributes.get("axis", 1))
    if not -len(shape) <= axis < len(shape) or shape[axis] != scale.size:
        raise ModelError(
            f"{editor.graph.name}: node {node.name} ({node.op}) has {scale.size} scales along axis {axis} "
            f"of a tensor of shape {list(shape)}"
        )
    return Quantisation(scale, zero, dtype, axis % len(shape))


def _shown(values: np.ndarray) -> str:
    bad = values.reshape(-1)[~(np.isfinite(values.reshape(-1)) & (values.reshape(-1) > 0))]
    return str(bad[0])


def symmetric_scale(scale: np.ndarray, zero_point: int) -> np.ndarray:
    """The smallest scale, float32 [], with which int16 without a zero point covers the range of int16 with one."""
    limits = np.iinfo(np.int16)
    # In float64: with the scale of a mask of float32's lowest number, products overflow float32.
    return np.asarray(float(scale) * max(limits.max - zero_point, zero_point - limits.min) / limits.max, np.float32)

"""Operators whose elements depend on whole vectors: normalisations, LogSoftmax, Hardmax, CumSum, LRN."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import channels_last, default_dims
from tigris_pio.compiler.lower.operators.compose import Composer
from tigris_pio.compiler.lower.operators.int8_normalization import Standardisation, normalise_groups, normalise_vectors
from tigris_pio.compiler.lower.operators.vectors import rowwise_map, settle_vector_rows, vectors
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import operator
from tigris_pio.compiler.lower.storage import FLOAT
from tigris_pio.format.enums import DType, OpKind, VectorFunction
from tigris_pio.format.params import LrnParams, VectorParams

#: The first opset with a single axis; earlier opsets use all axes from `axis` on.
_SINGLE_AXIS_SINCE = 13
#: The first opset in which GroupNormalization has a factor for each channel; earlier opsets have one for each group.
_PER_CHANNEL_SINCE = 21
_INTERNAL = {"TigrisStandardise": VectorFunction.STANDARDISE, "TigrisRms": VectorFunction.RMS}
#: Functions that depend on the order of elements.
_ORDERED = frozenset((VectorFunction.HARDMAX, VectorFunction.CUMULATIVE_SUM, VectorFunction.CUMULATIVE_PRODUCT))


def emit_vector(builder: Builder, node: Node, function: VectorFunction, axes: Sequence[int], epsilon: float = 0.0,
                exclusive: bool = False, reverse: bool = False) -> None:
    """Emits VECTOR along `axes` from the node's first input to its first output."""
    found = vectors(builder, node.inputs[0], axes, ordered=function in _ORDERED)
    params = VectorParams(function, found.length, found.inner, epsilon, int(exclusive), int(reverse))
    rows = settle_vector_rows(builder, found)
    storage = found.value.storage if rows is None else rows[0]
    dims = builder.dims(storage)
    whole_image = math.prod(dims[1:]) % (found.length * found.inner) == 0
    if rows is None and whole_image:
        storage = builder.with_dims(found.value, dims)
    builder.emit(OpKind.VECTOR, DType.FLOAT32, [(storage, rowwise_map(rows is not None))], node.outputs[0],
                 found.value.layout, FLOAT, builder.storages[storage].cell, params, per_image=whole_image)


def _from_axis(builder: Builder, node: Node, default: int) -> tuple[int, ...]:
    rank = len(builder.shape(node.inputs[0]))
    return tuple(range(int(node.attributes.get("axis", default)) % rank, rank))


@operator("LogSoftmax", "Hardmax", summary="any axis; computed in float32")
def lower_vector(builder: Builder, node: Node) -> None:
    """VECTOR."""
    function = VectorFunction.HARDMAX if node.op == "Hardmax" else VectorFunction.LOG_SOFTMAX
    if builder.graph.opset >= _SINGLE_AXIS_SINCE:
        axes: tuple[int, ...] = (int(node.attributes.get("axis", -1)) % len(builder.shape(node.inputs[0])),)
    else:
        axes = _from_axis(builder, node, 1)
    emit_vector(builder, node, function, axes)


@operator("CumSum", "CumProd", summary="constant axis; computed in float32")
def lower_cumulative_sum(builder: Builder, node: Node) -> None:
    """VECTOR."""
    if not builder.is_constant(node.inputs[1]):
        raise Refusal("its axis is computed at run time")
    axis = int(builder.graph.weights[node.inputs[1]].reshape(-1)[0]) % len(builder.shape(node.inputs[0]))
    function = VectorFunction.CUMULATIVE_SUM if node.op == "CumSum" else VectorFunction.CUMULATIVE_PRODUCT
    emit_vector(builder, node, function, (axis,),
                exclusive=bool(node.attributes.get("exclusive", 0)), reverse=bool(node.attributes.get("reverse", 0)))


@operator("LpNormalization", summary="p 1 and 2; computed in float32")
def lower_lp_normalization(builder: Builder, node: Node) -> None:
    """VECTOR."""
    order = int(node.attributes.get("p", 2))
    if order not in (1, 2):
        raise Refusal(f"p is {order}; 1 and 2 are supported")
    axis = int(node.attributes.get("axis", -1)) % len(builder.shape(node.inputs[0]))
    emit_vector(builder, node, VectorFunction.L1 if order == 1 else VectorFunction.L2, (axis,))


@operator("MeanVarianceNormalization", summary="any axes; computed in float32")
def lower_mean_variance(builder: Builder, node: Node) -> None:
    """VECTOR. ONNX's function adds 1e-9 to the standard deviation."""
    rank = len(builder.shape(node.inputs[0]))
    axes = sorted(axis % rank for axis in node.attributes.get("axes", (0, 2, 3)))
    emit_vector(builder, node, VectorFunction.STANDARDISE_OUTSIDE, axes, 1e-9)


@operator("LRN", summary="across channels; computed in float32")
def lower_lrn(builder: Builder, node: Node) -> None:
    """LRN. If `size` is even, the longer half lies after the channel."""
    name, size = node.inputs[0], int(node.attributes["size"])
    if size < 1:
        raise Refusal(f"its size is {size}")
    layout = channels_last(builder.shape(name))
    value = builder.value_in_order(name, layout, FLOAT)
    storage = builder.with_dims(value, default_dims(layout.stored_shape))
    params = LrnParams((size - 1) // 2, size // 2, float(node.attributes.get("alpha", 1e-4)) / size,
                       float(node.attributes.get("beta", 0.75)), float(node.attributes.get("bias", 1.0)))
    builder.emit(OpKind.LRN, DType.FLOAT32, [(storage, RowMap.same())], node.outputs[0], layout, FLOAT,
                 builder.storages[storage].cell, params)


@operator(*_INTERNAL, summary="")
def lower_part(builder: Builder, node: Node) -> None:
    """VECTOR: a normalisation without factors and offsets."""
    emit_vector(builder, node, _INTERNAL[node.op], node.attributes["axes"], float(node.attributes["epsilon"]))


@operator("LayerNormalization", "RMSNormalization", summary="int8 with constant factors; anything in float32")
def lower_layer_normalization(builder: Builder, node: Node) -> None:
    """NORMALISE, or VECTOR, Mul, Add."""
    if any(name and builder.is_read(name) for name in node.outputs[1:]):
        raise Refusal("its mean or deviation is used")
    composer = Composer(builder, node)
    source, scale, bias = (*node.inputs, "")[:3]
    shape = builder.shape(source)
    axes = _from_axis(builder, node, -1)
    terms = [_constant(builder, name, shape[axes[0] :], start) for name, start in ((scale, 1.0), (bias, 0.0))]
    standardisation = Standardisation(float(node.attributes.get("epsilon", 1e-5)), node.op == "LayerNormalization")
    factor, offset = terms
    if (factor is not None and offset is not None
            and normalise_vectors(builder, node, axes, standardisation, factor, offset)):
        return
    attributes = {"axes": axes, "epsilon": node.attributes.get("epsilon", 1e-5)}
    part = "TigrisRms" if node.op == "RMSNormalization" else "TigrisStandardise"
    result = composer.add(part, [source], shape, attributes)
    if bias:
        result = composer.add("Mul", [result, scale], shape)
        composer.finish("Add", [result, bias])
    else:
        composer.finish("Mul", [result, scale])


def _constant(builder: Builder, name: str, shape: Sequence[int], default: float) -> np.ndarray | None:
    """A constant broadcast to `shape`; None if it is computed at run time, or differs along other axes."""
    if not name:
        return np.full(shape, default)
    if not builder.is_constant(name):
        return None
    values = builder.float_constant(name)
    while values.ndim > len(shape) and values.shape[0] == 1:
        values = values[0]
    return np.broadcast_to(values, shape) if values.ndim <= len(shape) else None


def _groups(node: Node) -> int:
    if "num_groups" not in node.attributes:
        raise Refusal("it has no num_groups")
    return int(node.attributes["num_groups"])


def _emit_int8(builder: Builder, node: Node) -> bool:
    """Emits an Instance- or GroupNormalization as NORMALISE; False if that is impossible."""
    shape = builder.shape(node.inputs[0])
    if len(shape) < 2:
        raise Refusal(f"its input {list(shape)} has no channels")
    groups = shape[1] if node.op == "InstanceNormalization" else _groups(node)
    per_group = node.op == "GroupNormalization" and builder.graph.opset < _PER_CHANNEL_SINCE
    wanted = groups if per_group else shape[1]
    for name in node.inputs[1:3]:
        if math.prod(builder.shape(name)) != wanted:
            raise Refusal(f"its factors {name} have shape {list(builder.shape(name))}, not [{wanted}]")
    terms = [_constant(builder, name, (groups if per_group else shape[1],), 0.0) for name in node.inputs[1:3]]
    if groups < 1 or shape[1] % groups or terms[0] is None or terms[1] is None:
        return False
    factor, offset = (np.repeat(item, shape[1] // groups) if per_group else item for item in (terms[0], terms[1]))
    standardisation = Standardisation(float(node.attributes.get("epsilon", 1e-5)))
    return normalise_groups(builder, node, groups, standardisation, factor, offset)


@operator("InstanceNormalization", "GroupNormalization", summary="int8 with constant factors; anything in float32")
def lower_group_normalization(builder: Builder, node: Node) -> None:
    """NORMALISE, or VECTOR over the pixels of each channel or group of channels, Mul and Add."""
    if _emit_int8(builder, node):
        return
    composer = Composer(builder, node)
    source, scale, bias = node.inputs
    shape = builder.shape(source)
    epsilon = {"epsilon": node.attributes.get("epsilon", 1e-5)}
    column = (shape[1],) + (1,) * (len(shape) - 2)
    if node.op == "InstanceNormalization":
        result = composer.add("TigrisStandardise", [source], shape, {"axes": tuple(range(2, len(shape))), **epsilon})
    else:
        groups = _groups(node)
        if groups < 1 or shape[1] % groups:
            raise Refusal(f"num_groups = {groups} does not divide its channels, {shape[1]}")
        grouped = (shape[0], groups, math.prod(shape[1:]) // groups)
        result = composer.add("Reshape", [source], grouped)
        result = composer.add("TigrisStandardise", [result], grouped, {"axes": (2,), **epsilon})
        if builder.graph.opset < _PER_CHANNEL_SINCE:
            result = _scaled(composer, result, scale, bias, (groups, 1), grouped)
        result = composer.add("Reshape", [result], shape)
        if builder.graph.opset < _PER_CHANNEL_SINCE:
            composer.finish("Identity", [result])
            return
    factors = [composer.add("Reshape", [name], column) for name in (scale, bias)]
    composer.finish("Add", [composer.add("Mul", [result, factors[0]], shape), factors[1]])


def _scaled(composer: Composer, name: str, scale: str, bias: str, column: Sequence[int], shape: Sequence[int]) -> str:
    factors = [composer.add("Reshape", [item], column) for item in (scale, bias)]
    return composer.add("Add", [composer.add("Mul", [name, factors[0]], shape), factors[1]], shape)

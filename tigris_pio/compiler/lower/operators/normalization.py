"""Operators whose elements depend on whole vectors: normalisations, LogSoftmax, Hardmax, CumSum, LRN.

Normalisations of int8 tensors are one NORMALISE; NormaliseInt8Params defines its arithmetic. TensorFlow Lite has no
such kernel. Results differ by at most one output step from the rounded exact value.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import channels_last, default_dims
from tigris_pio.compiler.lower.operators.calls import emit_same
from tigris_pio.compiler.lower.operators.compose import Composer
from tigris_pio.compiler.lower.operators.vectors import emit_vectors, vectors
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import operator
from tigris_pio.compiler.lower.storage import FLOAT, Numeric, Value
from tigris_pio.format.enums import DType, OpKind, VectorFunction
from tigris_pio.format.params import LrnParams, NormaliseInt8Params, VectorParams

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
    emit_vectors(builder, OpKind.VECTOR, found, node.outputs[0], FLOAT, params)


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
    emit_same(builder, OpKind.LRN, DType.FLOAT32, Value(storage, layout), node.outputs[0], FLOAT, params)


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


_MOST_ELEMENTS = 1 << 17
#: Fraction bits of an output, the most that fit 32 bits are used: fewer than the last would change results.
_OUTPUT_BITS = range(20, 5, -1)
_MOST_VARIANCE_BITS = 16


@dataclasses.dataclass(frozen=True)
class Standardisation:
    """The normalisation of each vector before factors and offsets. centred: whether the mean is subtracted"""

    epsilon: float
    centred: bool = True


@dataclasses.dataclass(frozen=True)
class _Shape:
    """The size and step fields of NormaliseInt8Params."""

    points: int
    groups: int
    channels: int
    point_term_step: int
    group_term_step: int
    channel_term_step: int


def normalise_vectors(builder: Builder, node: Node, axes: Sequence[int], standardisation: Standardisation,
                      factor: np.ndarray, offset: np.ndarray) -> bool:
    """Emits NORMALISE along trailing axes, with a factor and an offset for each element of a vector.

    False if a tensor is not int8, or the constants do not fit.
    """
    name = node.inputs[0]
    length = math.prod(builder.shape(name)[axis] for axis in axes)
    if not builder.is_int8(name, node.outputs[0]):
        return False
    found = vectors(builder, name, axes, ordered=True, numeric=builder.numeric(name))
    shape = _Shape(1, 1, length, 0, 0, 1) if found.inner == 1 else _Shape(length, found.inner, 1, 1, 0, 0)
    params = _params(builder, node, shape, standardisation, (factor, offset))
    if params is None:
        return False
    emit_vectors(builder, OpKind.NORMALISE, found, node.outputs[0], builder.numeric(node.outputs[0]), params[0],
                 {"terms": params[1]})
    return True


def normalise_groups(builder: Builder, node: Node, groups: int, standardisation: Standardisation, factor: np.ndarray,
                     offset: np.ndarray) -> bool:
    """Emits NORMALISE over the pixels of groups of channels, with a factor and an offset for each channel.

    False if a tensor is not int8, or the constants do not fit.
    """
    name = node.inputs[0]
    shape = builder.shape(name)
    if not builder.is_int8(name, node.outputs[0]) or len(shape) < 3:
        return False
    channels = shape[1] // groups
    form = _Shape(math.prod(shape[2:]), groups, channels, 0, channels, 1)
    params = _params(builder, node, form, standardisation, (factor, offset))
    if params is None:
        return False
    layout = channels_last(shape)
    value = builder.value_in_order(name, layout, builder.numeric(name))
    storage = builder.with_dims(value, default_dims(layout.stored_shape))
    builder.emit(OpKind.NORMALISE, DType.INT8, [(storage, None)], node.outputs[0], layout,
                 builder.numeric(node.outputs[0]), builder.storages[storage].cell, params[0],
                 blobs={"terms": params[1]})
    return True


def _params(builder: Builder, node: Node, shape: _Shape, standardisation: Standardisation,
            terms: tuple[np.ndarray, np.ndarray]) -> tuple[NormaliseInt8Params, np.ndarray] | None:
    """The parameters and the pairs of factor and offset; None if they do not fit."""
    source, result = builder.numeric(node.inputs[0]), builder.numeric(node.outputs[0])
    length = shape.points * shape.channels
    if length > _MOST_ELEMENTS or not all(np.all(np.isfinite(values)) for values in terms):
        return None
    size = max(1, math.ceil(math.log2(length))) if length > 1 else 1
    fraction_bits = 29 - -(-size // 2)
    epsilon = standardisation.epsilon / source.scale**2 * length**2
    variance_bits = min(_MOST_VARIANCE_BITS, 62 - 16 - 2 * size) & ~1
    while variance_bits > 0 and epsilon * 2.0**variance_bits >= 2.0**61:
        variance_bits -= 2
    if epsilon >= 2.0**61 or not epsilon >= 0:
        return None
    fixed = round(epsilon * 2.0**variance_bits)
    found = _terms(result, length, fraction_bits, *terms)
    if found is None:
        return None
    bits, pairs = found
    return NormaliseInt8Params(
        **dataclasses.asdict(shape), centred=int(standardisation.centred), input_zero_point=source.zero_point,
        fraction_bits=fraction_bits, variance_bits=variance_bits, epsilon_low=fixed & 0xFFFFFFFF,
        epsilon_high=fixed >> 32, output_bits=bits, terms=0), pairs


def _terms(result: Numeric, length: int, fraction_bits: int, factor: np.ndarray,
           offset: np.ndarray) -> tuple[int, np.ndarray] | None:
    """The most fraction bits without overflow, and pairs of factor and offset in fixed point; None if none fit."""
    steps = np.asarray(factor, np.float64).reshape(-1) / result.scale
    start = np.asarray(offset, np.float64).reshape(-1) / result.scale + result.zero_point
    largest = float(np.max(np.abs(steps) * math.sqrt(length) + np.abs(start))) + 1.0
    for bits in _OUTPUT_BITS:
        scaled = np.rint(steps * 2.0 ** (bits + 32 - fraction_bits))
        if largest * 2.0**bits < 2.0**31 and np.max(np.abs(scaled)) < 2.0**31:
            shifted = np.rint(start * 2.0**bits) + 2.0 ** (bits - 1)
            return bits, np.stack([scaled, shifted], axis=1).astype(np.int32)
    return None

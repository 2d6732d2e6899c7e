"""Normalisations of int8 tensors as one NORMALISE; NormaliseInt8Params defines its arithmetic.

TensorFlow Lite has no such kernel. Results differ by at most one output step from the rounded exact value.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import channels_last, default_dims
from tigris_pio.compiler.lower.operators.vectors import rowwise_map, settle_vector_rows, vectors
from tigris_pio.compiler.lower.storage import Numeric
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import NormaliseInt8Params

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
    rows = settle_vector_rows(builder, found)
    storage = found.value.storage if rows is None else rows[0]
    dims = builder.dims(storage)
    whole_image = math.prod(dims[1:]) % (found.length * found.inner) == 0
    if rows is None and whole_image:
        storage = builder.with_dims(found.value, dims)
    builder.emit(OpKind.NORMALISE, DType.INT8, [(storage, rowwise_map(rows is not None))], node.outputs[0],
                 found.value.layout, builder.numeric(node.outputs[0]), builder.storages[storage].cell, params[0],
                 blobs={"terms": params[1]}, per_image=whole_image)
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

"""Normalisations of int8 tensors as one operator each; the record says its arithmetic.

TensorFlow Lite has none of its own. Results are within one step of the output from the exact value rounded.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import channels_last, fold
from tigris_pio.compiler.lower.operators.vectors import row_by_row, same_rows, vectors
from tigris_pio.compiler.lower.storage import Numeric
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import NormaliseInt8Params

_MOST_ELEMENTS = 1 << 17
#: Bits below an output's step: fewer would show in results, more change nothing.
_OUTPUT_BITS = range(20, 5, -1)
_MOST_VARIANCE_BITS = 16


@dataclasses.dataclass(frozen=True)
class Standard:
    """What is done to each vector before factors and offsets."""

    epsilon: float
    centred: bool = True


@dataclasses.dataclass(frozen=True)
class _Shape:
    """The sizes and steps of the record."""

    points: int
    groups: int
    channels: int
    point_term_step: int
    group_term_step: int
    channel_term_step: int


def normalise_vectors(builder: Builder, node: Node, axes: Sequence[int], standard: Standard, factor: np.ndarray,
                      offset: np.ndarray) -> bool:
    """NORMALISE along trailing axes, with a factor and an offset for each element of a vector; False where float32 must
    do."""
    name = node.inputs[0]
    length = math.prod(builder.shape(name)[axis] for axis in axes)
    if not builder.is_int8(name, node.outputs[0]):
        return False
    found = vectors(builder, name, axes, ordered=True, numeric=builder.numeric(name))
    shape = _Shape(1, 1, length, 0, 0, 1) if found.inner == 1 else _Shape(length, found.inner, 1, 1, 0, 0)
    params = _params(builder, node, shape, standard, (factor, offset))
    if params is None:
        return False
    rows = row_by_row(builder, found)
    storage = found.value.storage if rows is None else rows[0]
    dims = builder.dims(storage)
    whole_image = math.prod(dims[1:]) % (found.length * found.inner) == 0
    if rows is None and whole_image:
        storage = builder.with_dims(found.value, dims)
    builder.emit(OpKind.NORMALISE, DType.INT8, [(storage, same_rows(rows is not None))], node.outputs[0],
                 found.value.layout, builder.numeric(node.outputs[0]), builder.storages[storage].cell, params[0],
                 blobs={"terms": params[1]}, per_image=whole_image)
    return True


def normalise_groups(builder: Builder, node: Node, groups: int, standard: Standard, factor: np.ndarray,
                     offset: np.ndarray) -> bool:
    """NORMALISE of the pixels of groups of channels, with a factor and an offset for each channel; False where float32
    must do."""
    name = node.inputs[0]
    shape = builder.shape(name)
    if not builder.is_int8(name, node.outputs[0]) or len(shape) < 3:
        return False
    channels = shape[1] // groups
    form = _Shape(math.prod(shape[2:]), groups, channels, 0, channels, 1)
    params = _params(builder, node, form, standard, (factor, offset))
    if params is None:
        return False
    layout = channels_last(shape)
    storage = builder.with_dims(builder.arranged(name, layout, builder.numeric(name)), fold(layout.stored_shape))
    builder.emit(OpKind.NORMALISE, DType.INT8, [(storage, None)], node.outputs[0], layout,
                 builder.numeric(node.outputs[0]), builder.storages[storage].cell, params[0],
                 blobs={"terms": params[1]})
    return True


def _params(builder: Builder, node: Node, shape: _Shape, standard: Standard,
            terms: tuple[np.ndarray, np.ndarray]) -> tuple[NormaliseInt8Params, np.ndarray] | None:
    """The record and its pairs of factors and offsets; None where they do not fit."""
    source, result = builder.numeric(node.inputs[0]), builder.numeric(node.outputs[0])
    length = shape.points * shape.channels
    if length > _MOST_ELEMENTS or not all(np.all(np.isfinite(values)) for values in terms):
        return None
    size = max(1, math.ceil(math.log2(length))) if length > 1 else 1
    fraction_bits = 29 - -(-size // 2)
    epsilon = standard.epsilon / source.scale**2 * length**2
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
        **dataclasses.asdict(shape), centred=int(standard.centred), input_zero_point=source.zero_point,
        fraction_bits=fraction_bits, variance_bits=variance_bits, epsilon_low=fixed & 0xFFFFFFFF,
        epsilon_high=fixed >> 32, output_bits=bits, terms=0), pairs


def _terms(result: Numeric, length: int, fraction_bits: int, factor: np.ndarray,
           offset: np.ndarray) -> tuple[int, np.ndarray] | None:
    """Output bits, and pairs of factor and offset in fixed point, with as many bits as no sum overflows with."""
    steps = np.asarray(factor, np.float64).reshape(-1) / result.scale
    start = np.asarray(offset, np.float64).reshape(-1) / result.scale + result.zero_point
    largest = float(np.max(np.abs(steps) * math.sqrt(length) + np.abs(start))) + 1.0
    for bits in _OUTPUT_BITS:
        scaled = np.rint(steps * 2.0 ** (bits + 32 - fraction_bits))
        if largest * 2.0**bits < 2.0**31 and np.max(np.abs(scaled)) < 2.0**31:
            shifted = np.rint(start * 2.0**bits) + 2.0 ** (bits - 1)
            return bits, np.stack([scaled, shifted], axis=1).astype(np.int32)
    return None

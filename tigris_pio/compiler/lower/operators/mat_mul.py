"""Products of two activations, or of a constant and an activation: MatMul and Gemm beyond FULLY_CONNECTED."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower import numerics
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import fold, plain, refine
from tigris_pio.compiler.lower.operators import fused
from tigris_pio.compiler.lower.operators.int16.layers import constants
from tigris_pio.compiler.lower.operators.int16.types import Types, types
from tigris_pio.compiler.lower.operators.weights import warn_float
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.storage import FLOAT, Cell, Numeric
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import MatMulFloatParams, MatMulInt8Params, MatMulInt16Params
from tigris_pio.format.record import Record

_BATCH_AXES = 3
_MOST_INT8_TERMS = 32768


def emit_product(builder: Builder, node: Node, first: str, second: str) -> None:
    """MAT_MUL of graph tensors `first` and `second` with numpy's rules; int8 when both and the output are."""
    output = node.outputs[0]
    int8 = all(_is_int8(builder, name) for name in (first, second, output))
    numerics_of = [builder.numeric(name) if int8 else FLOAT for name in (first, second, output)]
    int16 = types(builder, (first, second), output)
    if int16 is not None:
        numerics_of = [*int16.inputs, int16.output]
    a_shape, b_shape = builder.shape(first), builder.shape(second)
    a_storage, a_steps = _strided(builder, first, numerics_of[0])
    b_storage, b_steps = _strided(builder, second, numerics_of[1])
    if len(a_shape) == 1:
        a_shape, a_steps = (1, *a_shape), (0, *a_steps)
    if len(b_shape) == 1:
        b_shape, b_steps = (*b_shape, 1), (*b_steps, 0)
    rank = max(len(a_shape), len(b_shape)) - 2
    batch, a_batch, b_batch = _batch(_padded(a_shape, a_steps, rank), _padded(b_shape, b_steps, rank))
    rows, depth, columns = a_shape[-2], a_shape[-1], b_shape[-1]
    geometry = (batch, rows, depth, columns, a_batch, a_steps[-2], a_steps[-1], b_batch, b_steps[-2], b_steps[-1])
    params: Record
    dtype = DType.INT16 if int16 is not None else DType.INT8 if int8 else DType.FLOAT32
    if int16 is not None:
        params = MatMulInt16Params(*geometry, **_int16_fields(node, int16))
    elif int8 and depth <= _MOST_INT8_TERMS:
        params = MatMulInt8Params(*geometry, **_int8_fields(node, *numerics_of))
    elif int8:
        raise Refusal(f"sums of {depth} terms in int8; at most {_MOST_INT8_TERMS} fit 32 bits")
    else:
        for name in (first, second):
            warn_float(builder, node, name)
        params = MatMulFloatParams(*geometry, **fused.float_fields(node))
    result = builder.shape(output)
    builder.emit(OpKind.MAT_MUL, dtype, [(a_storage, None), (b_storage, None)], output,
                 plain(result), numerics_of[2], Cell(fold(result)), params, per_image=False,
                 macs=math.prod(batch) * rows * depth * columns)


def _is_int8(builder: Builder, name: str) -> bool:
    """Whether a tensor is int8 with one scale; constants may have one a channel, activations may not."""
    quantisation = builder.tensors[name].quantisation
    return quantisation is not None and quantisation.axis is None and quantisation.dtype == np.int8


def _int8_fields(node: Node, first: Numeric, second: Numeric, result: Numeric) -> dict[str, Any]:
    try:
        multiplier, shift = numerics.quantize_multiplier(first.scale * second.scale / result.scale)
    except ValueError as error:
        raise Refusal(str(error)) from None
    return {"zero_point": (first.zero_point, second.zero_point), "output_zero_point": result.zero_point,
            "output_multiplier": multiplier, "output_shift": shift, **fused.int8_fields(node, result)}


def _int16_fields(node: Node, found: Types) -> dict[str, Any]:
    products = np.array([found.inputs[0].scale * found.inputs[1].scale])
    made = constants(products, np.zeros(1, np.int64), found, 64)
    return {"output_multiplier": int(made.multiplier[0]), "output_shift": int(made.shift[0]),
            **fused.int8_fields(node, found.output)}


def _strided(builder: Builder, name: str, numeric: Numeric) -> tuple[str, tuple[int, ...]]:
    """A storage of the tensor and the step of each of its axes."""
    shape = builder.shape(name)
    value = None if builder.is_constant(name) else builder.value(name, numeric)
    steps = None
    if value is not None:
        fine = refine(value.layout, shape)
        if fine is not None:
            steps = _axis_steps(fine[0].factors, fine[0].order, fine[1])
    if value is None or steps is None:
        value = builder.arranged(name, plain(shape), numeric)
        steps = tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
    return value.storage, steps


def _axis_steps(factors: Sequence[int], order: Sequence[int],
                groups: Sequence[Sequence[int]]) -> tuple[int, ...] | None:
    """The step of each axis in memory; None when an axis has none of its own."""
    stride, strides = 1, {}
    for part in reversed(order):
        strides[part] = stride
        stride *= factors[part]
    for parts in groups:
        for outer, inner in itertools.pairwise(parts):
            if strides[outer] != strides[inner] * factors[inner]:
                return None
    return tuple(strides[parts[-1]] if parts else 0 for parts in groups)


def _padded(shape: Sequence[int], steps: Sequence[int], rank: int) -> list[tuple[int, int]]:
    """(size, step) of each batch axis; 0 where the matrix is repeated."""
    own = [(size, step if size > 1 else 0) for size, step in zip(shape[:-2], steps[:-2], strict=True)]
    return [(1, 0)] * (rank - len(own)) + own


def _batch(first: Sequence[tuple[int, int]], second: Sequence[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    """Sizes and steps of three axes, outermost first; axes that advance evenly are merged."""
    axes: list[tuple[int, int, int]] = []
    for (a_size, a_step), (b_size, b_step) in zip(first, second, strict=True):
        size = max(a_size, b_size)
        if size == 1:
            continue
        if axes and axes[-1][1] == a_step * size and axes[-1][2] == b_step * size:
            axes[-1] = (axes[-1][0] * size, a_step, b_step)
        else:
            axes.append((size, a_step, b_step))
    if len(axes) > _BATCH_AXES:
        raise Refusal(f"its matrices are repeated along more than {_BATCH_AXES} groups of axes")
    axes = [(1, 0, 0)] * (_BATCH_AXES - len(axes)) + axes
    return tuple(tuple(axis[field] for axis in axes) for field in range(3))

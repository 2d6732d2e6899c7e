"""MAT_MUL: products of two activations, or of a constant and an activation, that are not FULLY_CONNECTED."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower import numerics
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import Layout, default_dims, refined, row_major
from tigris_pio.compiler.lower.operators import fused
from tigris_pio.compiler.lower.operators.int16.types import Int16Types, int16_types, sum_constants
from tigris_pio.compiler.lower.operators.vectors import settle_contiguous_vectors
from tigris_pio.compiler.lower.operators.weights import warn_float
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.storage import FLOAT, Cell, Dims, Numeric
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import MatMulFloatParams, MatMulInt8Params, MatMulInt16Params
from tigris_pio.format.record import Record

_BATCH_AXES = 3
_MOST_INT8_TERMS = 32768


def emit_product(builder: Builder, node: Node, first: str, second: str) -> None:
    """Emits MAT_MUL of graph tensors `first` and `second` with numpy's rules; int8 if both and the output are."""
    output = node.outputs[0]
    int8 = all(_is_int8(builder, name) for name in (first, second, output))
    numerics_of = [builder.numeric(name) if int8 else FLOAT for name in (first, second, output)]
    int16 = int16_types(builder, (first, second), output)
    if int16 is not None:
        numerics_of = [*int16.inputs, int16.output]
    a_shape, b_shape = builder.shape(first), builder.shape(second)
    a_storage, a_steps = _strided_operand(builder, first, numerics_of[0])
    b_storage, b_steps = _strided_operand(builder, second, numerics_of[1])
    if len(a_shape) == 1:
        a_shape, a_steps = (1, *a_shape), (0, *a_steps)
    if len(b_shape) == 1:
        b_shape, b_steps = (*b_shape, 1), (*b_steps, 0)
    rank = max(len(a_shape), len(b_shape)) - 2
    products = _Products(_batch_axes(a_shape, a_steps, rank), _batch_axes(b_shape, b_steps, rank), a_shape[-2],
                         a_shape[-1], b_shape[-1], (a_steps[-2], a_steps[-1]), (b_steps[-2], b_steps[-1]))
    call = _rowwise_call(builder, products, a_storage, b_storage) or _whole_call(products, builder.shape(output))
    products, depth = call.products, products.depth
    geometry = products.geometry(call.interleaved)
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
    layout = row_major(builder.shape(output))
    if call.interleaved:
        row = rank  # the axis of rows follows the batch axes
        order = [*range(call.outer), row, *range(call.outer, row), *range(row + 1, len(layout.order))]
        layout = Layout(layout.factors, tuple(order))
    builder.emit(OpKind.MAT_MUL, dtype, [(a_storage, call.rows), (b_storage, None)], output, layout, numerics_of[2],
                 call.cell, params, per_image=call.per_image)


@dataclasses.dataclass(frozen=True)
class _Products:
    """The products of a call.

    a_axes, b_axes: (size, stride) of each batch axis of A and B
    rows, depth, columns: sizes of one product
    a_steps: strides of A from row to row and from term to term
    b_steps: strides of B from term to term and from column to column
    """

    a_axes: Sequence[tuple[int, int]]
    b_axes: Sequence[tuple[int, int]]
    rows: int
    depth: int
    columns: int
    a_steps: tuple[int, int]
    b_steps: tuple[int, int]

    @property
    def count(self) -> int:
        """The number of products."""
        return math.prod(max(a, b) for (a, _), (b, _) in zip(self.a_axes, self.b_axes, strict=True))

    def reach(self) -> int:
        """Elements from the first term of a row of A to its last term of any product, inclusive."""
        axes = (*self.a_axes, (self.depth, self.a_steps[1]))
        return 1 + sum((size - 1) * step for size, step in axes)

    def geometry(self, interleaved: bool) -> tuple[Any, ...]:
        """The first fields of the parameter records."""
        batch, a_batch, b_batch = _merged_axes(self.a_axes, self.b_axes)
        return (batch, self.rows, self.depth, self.columns, a_batch, *self.a_steps, b_batch, *self.b_steps,
                int(interleaved))


@dataclasses.dataclass(frozen=True)
class _Call:
    """A kernel call.

    products: of one image if the call is per image, all otherwise
    rows: the row map of A, None to read all rows
    interleaved: whether output rows alternate between products
    outer: the number of first axes that count images
    """

    products: _Products
    rows: RowMap | None
    cell: Cell
    interleaved: bool
    per_image: bool
    outer: int = 0


def _whole_call(products: _Products, shape: Sequence[int]) -> _Call:
    """A call that computes one product after the other from whole operands."""
    return _Call(products, None, Cell(default_dims(shape)), False, False)


def _rowwise_call(builder: Builder, products: _Products, first: str, second: str) -> _Call | None:
    """A call that computes row r of all products before row r + 1, as token by token with all heads in attention.

    None unless rows of A are stored in this order. Each image has its own call.
    """
    row = products.a_steps[0]
    if products.rows < 2 or not row or builder.storages[first].constant is not None:
        return None
    dims = settle_contiguous_vectors(builder, first, row)
    if dims is None:
        return None
    outer = _image_axes(builder, products, dims, second)
    if outer is None:
        return None
    one = dataclasses.replace(products, a_axes=products.a_axes[outer:], b_axes=products.b_axes[outer:])
    batch, height, width, channels = dims
    if one.rows * row != height * width * channels or one.reach() > row:
        return None
    together = width * channels // row
    cell = Cell((batch, height, together * one.count, one.columns), fixed_rows=True)
    return _Call(one, RowMap.same(), cell, one.count > 1, True, outer)


def _image_axes(builder: Builder, products: _Products, dims: Dims, second: str) -> int | None:
    """The number of first axes that count images of A, which has the dimensions `dims`.

    None unless B has as many images, or one for all.
    """
    batch, image = dims[0], math.prod(dims[1:])
    if batch == 1:
        return 0
    outer = next((i for i, (size, _) in enumerate(products.a_axes) if size > 1), None)
    if outer is None or products.a_axes[outer] != (batch, image):
        return None
    own = builder.dims(second)
    matching = (1, 0) if own[0] == 1 else (batch, math.prod(own[1:]))
    if products.b_axes[outer] != matching or own[0] not in (1, batch):
        return None
    if any(size > 1 for size, _ in products.b_axes[:outer]):
        return None
    builder.storages[second].cell.settle(own)
    return outer + 1


def _is_int8(builder: Builder, name: str) -> bool:
    """Whether a tensor is int8 with one scale for all channels."""
    quantisation = builder.tensors[name].quantisation
    return quantisation is not None and quantisation.axis is None and quantisation.dtype == np.int8


def _int8_fields(node: Node, first: Numeric, second: Numeric, result: Numeric) -> dict[str, Any]:
    multiplier, shift = numerics.quantize_multiplier(first.scale * second.scale / result.scale)
    return {"zero_point": (first.zero_point, second.zero_point), "output_zero_point": result.zero_point,
            "output_multiplier": multiplier, "output_shift": shift, **fused.int8_fields(node, result)}


def _int16_fields(node: Node, found: Int16Types) -> dict[str, Any]:
    products = np.array([found.inputs[0].scale * found.inputs[1].scale])
    made = sum_constants(products, np.zeros(1, np.int64), found, 64)
    return {"output_multiplier": int(made.multiplier[0]), "output_shift": int(made.shift[0]),
            **fused.int8_fields(node, found.output)}


def _strided_operand(builder: Builder, name: str, numeric: Numeric) -> tuple[str, tuple[int, ...]]:
    """A storage of the tensor and the stride of each axis."""
    shape = builder.shape(name)
    value = None if builder.is_constant(name) else builder.value(name, numeric)
    steps = None
    if value is not None:
        fine = refined(value.layout, shape)
        if fine is not None:
            steps = _axis_steps(fine[0].factors, fine[0].order, fine[1])
    if value is None or steps is None:
        value = builder.value_in_order(name, row_major(shape), numeric)
        steps = tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
    return value.storage, steps


def _axis_steps(factors: Sequence[int], order: Sequence[int],
                groups: Sequence[Sequence[int]]) -> tuple[int, ...] | None:
    """The stride of each axis in memory; None if an axis has no single stride."""
    stride, strides = 1, {}
    for part in reversed(order):
        strides[part] = stride
        stride *= factors[part]
    for parts in groups:
        for outer, inner in itertools.pairwise(parts):
            if strides[outer] != strides[inner] * factors[inner]:
                return None
    return tuple(strides[parts[-1]] if parts else 0 for parts in groups)


def _batch_axes(shape: Sequence[int], steps: Sequence[int], rank: int) -> list[tuple[int, int]]:
    """(size, stride) of each of `rank` batch axes, with stride 0 if the matrix is broadcast."""
    own = [(size, step if size > 1 else 0) for size, step in zip(shape[:-2], steps[:-2], strict=True)]
    return [(1, 0)] * (rank - len(own)) + own


def _merged_axes(first: Sequence[tuple[int, int]], second: Sequence[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    """Sizes and strides of three batch axes, outermost first; contiguous axes are merged."""
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

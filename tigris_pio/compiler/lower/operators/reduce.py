"""Reductions over any axes, ArgMax and ArgMin."""

from __future__ import annotations

import math

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower import numerics
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import default_dims
from tigris_pio.compiler.lower.operators.int16.types import int16_types
from tigris_pio.compiler.lower.operators.vectors import Vectors, rowwise_map, settle_vector_rows, vectors
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import operator
from tigris_pio.compiler.lower.storage import FLOAT, Cell, Numeric
from tigris_pio.format.enums import DType, OpKind, ReduceFunction
from tigris_pio.format.params import ArgReduceParams, ReduceInt8Params, ReduceParams
from tigris_pio.format.record import Record

_FUNCTIONS = {
    "ReduceSum": ReduceFunction.SUM,
    "ReduceMean": ReduceFunction.MEAN,
    "ReduceMax": ReduceFunction.MAXIMUM,
    "ReduceMin": ReduceFunction.MINIMUM,
    "ReduceProd": ReduceFunction.PRODUCT,
    "ReduceL1": ReduceFunction.L1,
    "ReduceL2": ReduceFunction.L2,
    "ReduceSumSquare": ReduceFunction.SUM_SQUARE,
    "ReduceLogSum": ReduceFunction.LOG_SUM,
    "ReduceLogSumExp": ReduceFunction.LOG_SUM_EXP,
}
_SUMS = frozenset((ReduceFunction.SUM, ReduceFunction.MEAN))
_EXTREMES = frozenset((ReduceFunction.MAXIMUM, ReduceFunction.MINIMUM))
_LONGEST = 1 << 24
#: The most int8 elements, and int16 elements, whose sum always fits 32 bits.
_LONGEST_INT8 = 1 << 22
_LONGEST_INT16 = 1 << 16


@operator(*_FUNCTIONS, summary="any constant axes; Sum, Mean, Max and Min in int8 and float32, others in float32")
def lower_reduce(builder: Builder, node: Node) -> None:
    """REDUCE. A maximum or minimum keeps the scale of its input; the kernel of a sum or mean rescales."""
    function, axes, name, output = _FUNCTIONS[node.op], _axes(builder, node), node.inputs[0], node.outputs[0]
    count = math.prod(builder.shape(name)[axis] for axis in axes)
    if 0 < count <= _LONGEST_INT8 and (builder.is_int8(name, output) if function in _SUMS else
                                       builder.is_int8(name) and function in _EXTREMES):
        source = builder.numeric(name)
        result = builder.numeric(output) if function in _SUMS else source
        found = vectors(builder, name, axes, numeric=source)
        _emit(builder, node, OpKind.REDUCE, found, _int8_params(function, found, source, result), result)
        return
    int16 = int16_types(builder, (name,), output) if function in _SUMS | _EXTREMES else None
    if int16 is not None and 0 < count <= _LONGEST_INT16:
        source = int16.inputs[0]
        result = int16.output if function in _SUMS else source
        found = vectors(builder, name, axes, numeric=source)
        _emit(builder, node, OpKind.REDUCE, found, _int8_params(function, found, source, result), result)
        return
    found = vectors(builder, name, axes)
    _emit(builder, node, OpKind.REDUCE, found, ReduceParams(function, found.length, found.inner), FLOAT)


def _int8_params(function: ReduceFunction, found: Vectors, source: Numeric, result: Numeric) -> ReduceInt8Params:
    """The parameters, with TensorFlow Lite's constants of SUM and MEAN."""
    multiplier, shift = 0, 0
    if function in _SUMS:
        multiplier, shift = numerics.mean_multiplier(
            source.scale / result.scale, found.length if function == ReduceFunction.MEAN else 1)
    return ReduceInt8Params(function, found.length, found.inner, source.zero_point, result.zero_point, multiplier,
                            shift)


@operator("ArgMax", "ArgMin", summary="any axis, int8 and float32")
def lower_arg_reduce(builder: Builder, node: Node) -> None:
    """ARG_REDUCE."""
    name = node.inputs[0]
    axis = int(node.attributes.get("axis", 0)) % len(builder.shape(name))
    int8 = builder.is_int8(name)
    found = vectors(builder, name, (axis,), ordered=True, numeric=builder.numeric(name) if int8 else FLOAT)
    if found.length > _LONGEST:
        raise Refusal(f"its axis has {found.length} elements; at most {_LONGEST} are supported")
    last = int(bool(node.attributes.get("select_last_index", 0)))
    params = ArgReduceParams(int(node.op == "ArgMin"), last, found.length, found.inner)
    _emit(builder, node, OpKind.ARG_REDUCE, found, params, FLOAT, DType.INT8 if int8 else DType.FLOAT32)


def _axes(builder: Builder, node: Node) -> tuple[int, ...]:
    rank = len(builder.shape(node.inputs[0]))
    axes = node.attributes.get("axes")  # an input since opset 18, of ReduceSum since 13
    if axes is None and len(node.inputs) > 1 and node.inputs[1]:
        if not builder.is_constant(node.inputs[1]):
            raise Refusal("its axes are computed at run time")
        axes = tuple(int(axis) for axis in builder.graph.weights[node.inputs[1]].reshape(-1))
    if axes:
        return tuple(sorted(axis % rank for axis in axes))
    return () if node.attributes.get("noop_with_empty_axes", 0) else tuple(range(rank))


def _emit(builder: Builder, node: Node, kind: OpKind, found: Vectors, params: Record, result: Numeric,
          dtype: DType | None = None) -> None:
    rows = settle_vector_rows(builder, found)
    if rows is None:
        storage, cell = found.value.storage, Cell(default_dims(found.kept.stored_shape))
    else:
        storage, (batch, height, width, channels) = rows
        left = width * channels // found.length
        column = channels if width % found.length == 0 and left % channels == 0 else 1
        cell = Cell((batch, height, left // column, column), fixed=True)
    builder.emit(kind, dtype or result.dtype, [(storage, rowwise_map(rows is not None))], node.outputs[0], found.kept,
                 result, cell, params, per_image=rows is not None)

"""Softmax."""

from __future__ import annotations

import math

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower import numerics
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.element_order import Layout, refined
from tigris_pio.compiler.lower.fixed_point import softmax_exponentials
from tigris_pio.compiler.lower.operators.calls import emit_same
from tigris_pio.compiler.lower.operators.int16.lines import populate_lut
from tigris_pio.compiler.lower.operators.int16.types import int16_types
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import operator
from tigris_pio.compiler.lower.storage import FLOAT, Numeric, Value
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import SoftmaxFloatParams, SoftmaxInt8Params, SoftmaxInt16Params
from tigris_pio.format.record import Record

_OUTPUT = Numeric(DType.INT8, 1 / 256, -128)
_OUTPUT_INT16 = Numeric(DType.INT16, 1 / (1 << 15))
_LONGEST_INT16 = 1 << 16
#: An attribute of TensorFlow Lite's int8 and int16 Softmax: the factor of its input.
BETA = "beta"
#: The int8 kernel's results have a step of 1/256; outputs with a finer step are computed in float32.
_COARSE_ENOUGH = 0.999 / 256
#: The first opset with a single axis; earlier opsets use all axes from `axis` on.
_SINGLE_AXIS_SINCE = 13


@operator("Softmax", summary="any axis; int8 unless the output's scale is below 1/256")
def lower_softmax(builder: Builder, node: Node) -> None:
    """SOFTMAX of contiguous vectors; a TRANSPOSE stores the axis last if necessary."""
    name, output = node.inputs[0], node.outputs[0]
    wide = _is_int8_to_int16(builder, name, output)
    int8 = wide or (builder.is_int8(name, output) and builder.numeric(output).scale >= _COARSE_ENOUGH)
    found = None if wide else int16_types(builder, (name,), output)
    source = builder.numeric(name) if int8 else FLOAT if found is None else found.inputs[0]
    axes = _axes(builder, node)
    length = math.prod(builder.shape(name)[axis] for axis in axes)
    value = last_vectors(builder, name, axes, source)
    if found is not None and length <= _LONGEST_INT16:
        _emit_int16(builder, node, value, length, source.scale)
        return
    if found is not None:
        raise Refusal(f"int16 vectors of {length} elements; at most {_LONGEST_INT16} fit 32 bits")
    beta = float(node.attributes.get(BETA, 1.0))
    if beta != 1.0 and not int8:
        raise Refusal("its beta is not 1, which only int8 and int16 kernels support")
    result = builder.numeric(output) if wide else _OUTPUT if int8 else FLOAT
    params: Record = SoftmaxInt8Params(length, 0) if int8 else SoftmaxFloatParams(length)
    blobs = {"exponentials": softmax_exponentials(*numerics.softmax_scaling(source.scale * beta))} if int8 else {}
    emit_same(builder, OpKind.SOFTMAX, DType.INT8 if int8 else DType.FLOAT32, value, output, result, params, blobs)


def _is_int8_to_int16(builder: Builder, name: str, output: str) -> bool:
    """Whether this is TensorFlow Lite's Softmax of int8 to int16. The step is 1/65536; its converter writes 1/65535."""
    result = builder.numeric(output)
    return (builder.is_int8(name) and result.dtype == DType.INT16 and result.zero_point == numerics.INT16_MIN
            and abs(result.scale * (1 << 16) - 1) < 1e-3)


def _emit_int16(builder: Builder, node: Node, value: Value, length: int, scale: float) -> None:
    """Emits TensorFlow Lite's int16 Softmax, with differences from -65535, which stands for -10, to 0."""
    factor = scale * float(node.attributes.get(BETA, 1.0)) / (10.0 / 65535.0)
    if factor < 0:
        raise Refusal(f"its beta is {node.attributes[BETA]:g}, below 0")
    multiplier, shift = numerics.quantize_multiplier(factor)
    blobs = {"exponentials": populate_lut(np.exp, 10.0, numerics.INT16_MAX),
             "reciprocals": populate_lut(lambda x: 1 / (1 + x), 1.0, numerics.INT16_MIN)}
    params = SoftmaxInt16Params(length, multiplier, shift, 0, 0)
    emit_same(builder, OpKind.SOFTMAX, DType.INT16, value, node.outputs[0], _OUTPUT_INT16, params, blobs)


def _axes(builder: Builder, node: Node) -> tuple[int, ...]:
    rank = len(builder.shape(node.inputs[0]))
    if builder.graph.opset >= _SINGLE_AXIS_SINCE:
        return (int(node.attributes.get("axis", -1)) % rank,)
    return tuple(range(int(node.attributes.get("axis", 1)) % rank, rank))


def last_vectors(builder: Builder, name: str, axes: tuple[int, ...], numeric: Numeric) -> Value:
    """The tensor with these axes stored last, in channels that hold whole vectors along them."""
    value = _with_last(builder, name, axes, numeric)
    length, dims = math.prod(builder.shape(name)[axis] for axis in axes), builder.dims(value.storage)
    if dims[3] != length:
        dims = (1, 1, math.prod(dims) // length, length)
    return Value(builder.with_dims(value, dims), value.layout)


def _with_last(builder: Builder, name: str, axes: tuple[int, ...], numeric: Numeric) -> Value:
    shape = builder.shape(name)
    if not builder.is_constant(name):
        value = builder.value(name, numeric)
        fine = refined(value.layout, shape)
        if fine is not None:
            layout, groups = fine
            last = tuple(part for axis in axes for part in groups[axis])
            if not last or layout.order[-len(last) :] == last:
                return Value(value.storage, layout)
    order = (*(axis for axis in range(len(shape)) if axis not in axes), *axes)
    return builder.value_in_order(name, Layout(shape, order), numeric)

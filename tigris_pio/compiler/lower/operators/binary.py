"""Add, Sub, Mul, Div and Sum of activations and constants, with broadcasting."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from tigris_pio.compiler.ir.graph import Node, Tensor
from tigris_pio.compiler.lower import numerics
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.operators import fused
from tigris_pio.compiler.lower.operators.binary_function import emit_function
from tigris_pio.compiler.lower.operators.binary_int8 import emit_divide
from tigris_pio.compiler.lower.operators.broadcast import BroadcastCall, Operand, bound_masks, broadcast
from tigris_pio.compiler.lower.operators.int16.elementwise import emit_binary
from tigris_pio.compiler.lower.operators.per_channel import emit_per_channel
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import operator
from tigris_pio.compiler.lower.storage import FLOAT, Numeric
from tigris_pio.format.enums import BinaryFunction, DType, OpKind
from tigris_pio.format.params import BinaryFloatParams, BinaryInt8Params
from tigris_pio.format.record import Record

_KINDS = {"Add": OpKind.ADD, "Sub": OpKind.SUB, "Mul": OpKind.MUL, "Div": OpKind.MUL}
_LEFT_SHIFT = 20


@operator("Sum", summary="any number of inputs in float32, two in int8; any broadcasting")
def lower_sum(builder: Builder, node: Node) -> None:
    """A chain of Adds. Partial sums have no scale, so they are float32."""
    if len(node.inputs) == 1:
        builder.add_alias(node.inputs[0], node.outputs[0], [value.layout for value in builder.values[node.inputs[0]]])
        return
    total = node.inputs[0]
    for index, name in enumerate(node.inputs[1:], 2):
        last = index == len(node.inputs)
        result = node.outputs[0] if last else builder.fresh(f"{node.outputs[0]}/sum")
        if not last:
            shape = np.broadcast_shapes(builder.shape(total), builder.shape(name))
            builder.tensors[result] = Tensor(result, shape, np.dtype(np.float32))
        attributes = node.attributes if last else {}
        lower_binary(builder, dataclasses.replace(node, op="Add", inputs=(total, name), outputs=(result,),
                                                  attributes=attributes))
        total = result


@operator("Div", summary="any broadcasting, int8 and float32")
def lower_div(builder: Builder, node: Node) -> None:
    """DIVIDE, MUL by the reciprocal of a constant without a scale, or BINARY in float32."""
    divisor = node.inputs[1]
    if emit_divide(builder, node):
        return
    is_known = builder.is_constant(divisor) and not builder.is_constant(node.inputs[0])
    if is_known and np.all(builder.float_constant(divisor)):
        lower_binary(builder, node)
    else:
        emit_function(builder, node, BinaryFunction.DIVIDE)


@operator("Add", "Sub", "Mul", summary="any broadcasting; constants and activations")
def lower_binary(builder: Builder, node: Node) -> None:
    """ADD, SUB or MUL: in int8 if the output and all activations are int8, in float32 otherwise."""
    output = node.outputs[0]
    if emit_binary(builder, node):
        return
    activations = [name for name in node.inputs if not builder.is_constant(name)]
    int8 = builder.is_int8(output, *activations)
    if int8 and len(activations) == 1 and _emit_per_channel(builder, node, activations[0]):
        return
    operands = [_operand(builder, node, index, int8) for index in (0, 1)]
    int8 = all(item.numeric.dtype == DType.INT8 for item in operands) and int8
    if not int8:
        operands = [_operand(builder, node, index, False) for index in (0, 1)]
    result = builder.numeric(output) if int8 else FLOAT
    if int8 and node.op in ("Add", "Sub"):
        operands = bound_masks(builder, operands, result)
    call = broadcast(builder, operands, builder.shape(output))
    params: Record
    if int8:
        params = _int8_params(node, call, operands[0].numeric, operands[1].numeric, result)
    else:
        params = BinaryFloatParams(**fused.float_fields(node), **call.steps)
    builder.emit(_KINDS[node.op], DType.INT8 if int8 else DType.FLOAT32, call.sources, output, call.layout,
                 result, call.cell, params)


def _operand(builder: Builder, node: Node, index: int, int8: bool) -> Operand:
    name = node.inputs[index]
    shape = builder.shape(name)
    if not builder.is_constant(name):
        return Operand(shape, builder.numeric(name) if int8 else FLOAT, name)
    real = builder.float_constant(name)
    if node.op == "Div":
        real = (1 / real.astype(np.float64)).astype(np.float32)
    if not int8:
        return Operand(shape, FLOAT, name, real)
    quantisation = builder.tensors[name].quantisation
    if quantisation is not None and quantisation.axis is None and quantisation.dtype == np.int8 and node.op != "Div":
        return Operand(shape, builder.numeric(name), name, builder.graph.weights[name])
    if real.size == 1:  # with 127 as its stored value, one number is exact
        value = float(real.reshape(-1)[0])
        numeric = Numeric(DType.INT8, float(np.float32(abs(value) / 127)) if value else 1.0, 0)
        return Operand(shape, numeric, name, numerics.quantize(real, numeric.scale, 0))
    return Operand(shape, FLOAT, name, real)


def _emit_per_channel(builder: Builder, node: Node, name: str) -> bool:
    """Emits a depthwise 1x1 convolution if the constant is one unquantised number for each channel; False if not."""
    constant = next(item for item in node.inputs if builder.is_constant(item))
    shape, full = builder.shape(constant), builder.shape(node.outputs[0])
    if builder.shape(name) != full or len(full) < 2 or builder.tensors[constant].quantisation is not None:
        return False
    padded = (1,) * (len(full) - len(shape)) + shape
    if full[1] == 1 or padded != tuple(size if axis == 1 else 1 for axis, size in enumerate(full)):
        return False
    real = builder.float_constant(constant).reshape(-1).astype(np.float64)
    ones, zeros = np.ones_like(real), np.zeros_like(real)
    first = node.inputs[0] == name
    terms = {
        "Add": (ones, real), "Sub": (ones, -real) if first else (-ones, real), "Mul": (real, zeros),
        "Div": (1 / real, zeros) if node.op == "Div" else (ones, zeros),
    }
    emit_per_channel(builder, node, name, *terms[node.op])
    return True


def _int8_params(node: Node, call: BroadcastCall, first: Numeric, second: Numeric, result: Numeric) -> BinaryInt8Params:
    """TensorFlow Lite's constants of Add (PrepareGeneral), Sub and Mul."""
    try:
        if _KINDS[node.op] == OpKind.MUL:
            pairs = [(0, 0), (0, 0)]
            output = numerics.quantize_multiplier(first.scale * second.scale / result.scale)
        else:
            twice = 2 * max(first.scale, second.scale)
            pairs = [numerics.quantize_multiplier(item.scale / twice) for item in (first, second)]
            output = numerics.quantize_multiplier(twice / (math.ldexp(1.0, _LEFT_SHIFT) * result.scale))
    except ValueError as error:
        raise Refusal(str(error)) from None
    return BinaryInt8Params(
        zero_point=(first.zero_point, second.zero_point),
        multiplier=(pairs[0][0], pairs[1][0]),
        shift=(pairs[0][1], pairs[1][1]),
        left_shift=0 if _KINDS[node.op] == OpKind.MUL else _LEFT_SHIFT,
        output_zero_point=result.zero_point,
        output_multiplier=output[0],
        output_shift=output[1],
        **fused.int8_fields(node, result),
        **call.steps,
    )

"""Functions of two tensors, with broadcasting: sums, products, other arithmetic, comparison, logic; Where."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from tigris_pio.compiler.ir.graph import Node, Tensor
from tigris_pio.compiler.lower import numerics
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.operators import fused
from tigris_pio.compiler.lower.operators.activation import Unary, emit_unary
from tigris_pio.compiler.lower.operators.binary_int8 import emit_divide, emit_extreme, emit_prelu
from tigris_pio.compiler.lower.operators.broadcast import Operand, arithmetic_params, bound_masks, broadcast
from tigris_pio.compiler.lower.operators.compose import Composer
from tigris_pio.compiler.lower.operators.int16 import elementwise
from tigris_pio.compiler.lower.operators.int16.elementwise import emit_binary
from tigris_pio.compiler.lower.operators.int16.types import has_int16
from tigris_pio.compiler.lower.operators.per_channel import emit_per_channel
from tigris_pio.compiler.lower.registry import operator
from tigris_pio.compiler.lower.storage import FLOAT, Numeric
from tigris_pio.format.enums import BinaryFunction, DType, OpKind, UnaryFunction
from tigris_pio.format.params import BinaryFloatParams, BinaryFunctionParams, WhereParams
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
        params = arithmetic_params(node, call, [item.numeric for item in operands], result, _LEFT_SHIFT)
    else:
        params = BinaryFloatParams(**fused.float_fields(node), **call.steps)
    call.emit(builder, node, _KINDS[node.op], DType.INT8 if int8 else DType.FLOAT32, result, params)


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


_FUNCTIONS = {
    "Less": BinaryFunction.LESS,
    "LessOrEqual": BinaryFunction.LESS_OR_EQUAL,
    "Greater": BinaryFunction.GREATER,
    "GreaterOrEqual": BinaryFunction.GREATER_OR_EQUAL,
    "Equal": BinaryFunction.EQUAL,
    "And": BinaryFunction.AND,
    "Or": BinaryFunction.OR,
    "Xor": BinaryFunction.XOR,
}
_VARIADIC = {"Max": BinaryFunction.MAXIMUM, "Min": BinaryFunction.MINIMUM}


def emit_function(builder: Builder, node: Node, function: BinaryFunction) -> None:
    """Emits a node's output as a function of its two inputs, in float32."""
    operands = _operands(builder, node.inputs)
    call = broadcast(builder, operands, builder.shape(node.outputs[0]))
    call.emit(builder, node, OpKind.BINARY, DType.FLOAT32, FLOAT, BinaryFunctionParams(function, **call.steps))


def _operands(builder: Builder, names: Sequence[str]) -> list[Operand]:
    constants = [builder.float_constant(name) if builder.is_constant(name) else None for name in names]
    return [Operand(builder.shape(name), FLOAT, name, value) for name, value in zip(names, constants, strict=True)]


@operator(*_FUNCTIONS, summary="any broadcasting; computed in float32")
def lower_function(builder: Builder, node: Node) -> None:
    """BINARY."""
    emit_function(builder, node, _FUNCTIONS[node.op])


@operator("PRelu", summary="any broadcasting; int8 with constant slopes or ones that have a scale, and float32")
def lower_prelu(builder: Builder, node: Node) -> None:
    """PRELU or BINARY."""
    if not emit_prelu(builder, node):
        emit_function(builder, node, BinaryFunction.PRELU)


@operator("Mod", summary="float32, any broadcasting")
def lower_mod(builder: Builder, node: Node) -> None:
    """BINARY. With fmod the result has the sign of the dividend, without it that of the divisor."""
    fmod = node.attributes.get("fmod", 0)
    emit_function(builder, node, BinaryFunction.TRUNCATE_MOD if fmod else BinaryFunction.FLOOR_MOD)


@operator("Pow", summary="any broadcasting; computed in float32")
def lower_pow(builder: Builder, node: Node) -> None:
    """UNARY for squares, roots and reciprocals, BINARY for other exponents."""
    exponent = builder.float_constant(node.inputs[1]) if builder.is_constant(node.inputs[1]) else None
    if exponent is not None and exponent.size == 1 and builder.shape(node.inputs[0]) == builder.shape(node.outputs[0]):
        kernel = {2.0: UnaryFunction.SQUARE, 0.5: UnaryFunction.SQRT, -1.0: UnaryFunction.RECIPROCAL}.get(
            float(exponent.reshape(-1)[0]))
        if kernel is not None:
            power = float(exponent.reshape(-1)[0])
            emit_unary(builder, node, Unary(lambda x: np.power(x, power), kernel))
            return
    emit_function(builder, node, BinaryFunction.POWER)


@operator(*_VARIADIC, summary="any number of inputs, any broadcasting")
def lower_extreme(builder: Builder, node: Node) -> None:
    """A chain of EXTREME or BINARY. Rounding is monotone, so partial results may be rounded."""
    names = list(node.inputs)
    if len(names) == 1:
        Composer(builder, node).finish("Identity", names)
        return
    composer = Composer(builder, node)
    activations = [name for name in names if not builder.is_constant(name)]
    int8 = builder.is_int8(node.outputs[0], *activations) or has_int16(builder, node.outputs[0], *activations)
    while len(names) > 2:
        shape = np.broadcast_shapes(builder.shape(names[0]), builder.shape(names[1]))
        if int8:
            part = builder.declare(f"{node.outputs[0]}/part", shape, node.outputs[0])
            composer.add_as(node.op, names[:2], part)
        else:
            part = composer.add(node.op, names[:2], shape)
        names[:2] = [part]
    node = dataclasses.replace(node, inputs=tuple(names))
    if not emit_extreme(builder, node) and not elementwise.emit_extreme(builder, node):
        emit_function(builder, node, _VARIADIC[node.op])


@operator("Mean", summary="any number of inputs, any broadcasting")
def lower_mean(builder: Builder, node: Node) -> None:
    """A Sum and a factor."""
    composer = Composer(builder, node)
    if len(node.inputs) == 1:
        composer.finish("Identity", node.inputs)
        return
    total = composer.add("Sum", node.inputs, builder.shape(node.outputs[0]))
    composer.finish("Mul", [total, composer.constant(1 / len(node.inputs))])


@operator("Where", summary="any broadcasting; computed in float32")
def lower_where(builder: Builder, node: Node) -> None:
    """WHERE."""
    operands = _operands(builder, node.inputs)
    call = broadcast(builder, operands, builder.shape(node.outputs[0]))
    call.emit(builder, node, OpKind.WHERE, DType.FLOAT32, FLOAT, WhereParams(**call.steps))

"""Functions of two tensors that are neither sums nor products: arithmetic, comparison, logic; and Where."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.operators.activation import Unary, emit_unary
from tigris_pio.compiler.lower.operators.binary_int8 import emit_extreme, emit_prelu
from tigris_pio.compiler.lower.operators.broadcast import Operand, broadcast
from tigris_pio.compiler.lower.operators.compose import Composer
from tigris_pio.compiler.lower.operators.int16 import elementwise
from tigris_pio.compiler.lower.operators.int16.types import has_int16
from tigris_pio.compiler.lower.operators.select import declare
from tigris_pio.compiler.lower.registry import operator
from tigris_pio.compiler.lower.storage import FLOAT
from tigris_pio.format.enums import BinaryFunction, DType, OpKind, UnaryFunction
from tigris_pio.format.params import BinaryFunctionParams, WhereParams

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
    builder.emit(OpKind.BINARY, DType.FLOAT32, call.sources, node.outputs[0], call.layout, FLOAT, call.cell,
                 BinaryFunctionParams(function, **call.steps))


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
            part = declare(builder, f"{node.outputs[0]}/part", shape, node.outputs[0])
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
    builder.emit(OpKind.WHERE, DType.FLOAT32, call.sources, node.outputs[0], call.layout, FLOAT, call.cell,
                 WhereParams(**call.steps))

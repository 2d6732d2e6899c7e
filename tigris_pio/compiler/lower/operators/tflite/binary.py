"""Operators of two int8 tensors.

Comparisons scale both before, as in TensorFlow Lite Micro's kernels/comparisons.cc. Scaling rounds, so values that are
close compare as equal.
"""

from __future__ import annotations

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower import numerics
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.operators.binary_int8 import emit_divide, emit_squared_difference
from tigris_pio.compiler.lower.operators.broadcast import Operand, broadcast
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import TFLITE, operator
from tigris_pio.compiler.lower.storage import FLOAT
from tigris_pio.format.enums import BinaryFunction, DType, OpKind
from tigris_pio.format.params import CompareInt8Params


@operator("SQUARED_DIFFERENCE", domain=TFLITE, summary="int8, any broadcasting")
def lower_squared_difference(builder: Builder, node: Node) -> None:
    """SQUARED_DIFFERENCE."""
    if not emit_squared_difference(builder, node):
        raise Refusal("its inputs and output are not all int8 with a scale")


@operator("DIV", domain=TFLITE, summary="int8, any broadcasting")
def lower_divide(builder: Builder, node: Node) -> None:
    """DIVIDE."""
    if not emit_divide(builder, node):
        raise Refusal("its inputs and output are not all int8 with a scale")


_FUNCTIONS = {
    "EQUAL": BinaryFunction.EQUAL, "LESS": BinaryFunction.LESS, "LESS_EQUAL": BinaryFunction.LESS_OR_EQUAL,
    "GREATER": BinaryFunction.GREATER, "GREATER_EQUAL": BinaryFunction.GREATER_OR_EQUAL,
}


@operator(*_FUNCTIONS, domain=TFLITE, summary="int8, scales below 1")
def lower_comparison(builder: Builder, node: Node) -> None:
    """BINARY in int8."""
    if not builder.is_int8(*node.inputs):
        raise Refusal("its inputs are not both int8 with a scale")
    numbers = [builder.numeric(name) for name in node.inputs]
    operands = [Operand(builder.shape(name), numeric, name, builder.graph.weights.get(name))
                for name, numeric in zip(node.inputs, numbers, strict=True)]
    call = broadcast(builder, operands, builder.shape(node.outputs[0]))
    multipliers, shifts = zip(*(numerics.quantize_multiplier(numeric.scale) for numeric in numbers), strict=True)
    params = CompareInt8Params(_FUNCTIONS[node.op], tuple(numeric.zero_point for numeric in numbers), multipliers,
                               shifts, **call.steps)
    call.emit(builder, node, OpKind.BINARY, DType.INT8, FLOAT, params)

"""Operators of two int8 tensors."""

from __future__ import annotations

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.operators.binary_int8 import emit_divide, emit_squared_difference
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import TFLITE, operator


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

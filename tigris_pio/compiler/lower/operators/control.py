"""If and Loop. The loader resolves those that the compiler can decide; all others depend on data and are refused."""

from __future__ import annotations

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import operator, why_data_dependent


@operator("If", summary="a condition that is known when compiling: from constants, shapes, inputs that are set")
@operator("Loop", summary="a number of trips that follows from constants, shapes or inputs that are set; unrolled")
def lower_control(builder: Builder, node: Node) -> None:
    """Always refuses."""
    raise Refusal(why_data_dependent(node))

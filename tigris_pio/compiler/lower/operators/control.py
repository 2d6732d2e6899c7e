"""If and Loop: the loader settles those that are decided on when compiling; what is left depends on data."""

from __future__ import annotations

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import decided_by_data, operator


@operator("If", summary="a condition that is known when compiling: from constants, shapes, inputs that are set")
def lower_if(builder: Builder, node: Node) -> None:
    """Never."""
    raise Refusal(decided_by_data(node))


@operator("Loop", summary="a number of trips that follows from constants, shapes or inputs that are set; unrolled")
def lower_loop(builder: Builder, node: Node) -> None:
    """Never."""
    raise Refusal(decided_by_data(node))

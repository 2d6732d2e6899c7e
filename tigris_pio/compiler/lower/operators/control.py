"""If: the loader settles those whose condition is known; what is left depends on data."""

from __future__ import annotations

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import branch_on_data, operator


@operator("If", summary="a condition that is known when compiling: from constants, shapes, inputs that are set")
def lower_if(builder: Builder, node: Node) -> None:
    """Never."""
    raise Refusal(branch_on_data(node))

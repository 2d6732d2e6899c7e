"""QuantizeLinear that stayed in the graph, because its input is needed unrounded too."""

from __future__ import annotations

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.registry import Refusal, operator


@operator("QuantizeLinear", summary="per tensor, int8 and uint8; folded into its neighbours where possible")
def lower_quantize(builder: Builder, node: Node) -> None:
    """QUANTIZE, or a requantisation by table when the input is int8 already."""
    name, output = node.inputs[0], node.outputs[0]
    if builder.tensors[output].quantisation is None:
        raise Refusal("only constant per-tensor scales and zero points of int8 or uint8 are supported")
    builder.convert(output, builder.value(name), builder.numeric(output), output)


@operator("DequantizeLinear", summary="per tensor, int8 and uint8; constants also per channel and narrower")
def lower_dequantize(builder: Builder, node: Node) -> None:
    """All supported ones are folded before lowering."""
    raise Refusal("its input is no constant and not quantised to int8 or uint8 with the same parameters")

"""A table of 256 bytes that normalisation made of several int8 nodes."""

from __future__ import annotations

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.registry import operator
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import LookupParams


@operator("TigrisTable", summary="")
def lower_table(builder: Builder, node: Node) -> None:
    """LOOKUP in the element order of the input."""
    value, output = builder.value(node.inputs[0]), node.outputs[0]
    builder.emit(OpKind.LOOKUP, DType.INT8, [(value.storage, RowMap.same())], output, value.layout,
                 builder.numeric(output), builder.storages[value.storage].cell, LookupParams(0),
                 blobs={"table": builder.graph.weights[node.inputs[1]]})

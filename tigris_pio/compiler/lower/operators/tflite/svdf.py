"""The newest row of the memory of an int8 SVDF."""

from __future__ import annotations

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.registry import TFLITE, operator
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import LookupParams


@operator("SVDF", domain=TFLITE, summary="the newest row of its memory")
def lower_memory(builder: Builder, node: Node) -> None:
    """LOOKUP. As in the reference, the zero point is added after clamping to int8, and the sum wraps to 8 bits."""
    name, output = node.inputs[0], node.outputs[0]
    value, result = builder.value(name), builder.numeric(output)
    shifted = np.arange(-128, 128) + result.zero_point - builder.numeric(name).zero_point
    table = ((shifted + 128) % 256 - 128).astype(np.int8)
    builder.emit(OpKind.LOOKUP, DType.INT8, [(value.storage, RowMap.same())], output, value.layout, result,
                 builder.storages[value.storage].cell, LookupParams(0), blobs={"table": table})

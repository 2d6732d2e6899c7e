"""QUANTIZE and DEQUANTIZE between two tensors of the model."""

from __future__ import annotations

import numpy as np

from tigris_pio.compiler.ir.graph import Node
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower import numerics
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.refusal import Refusal
from tigris_pio.compiler.lower.registry import TFLITE, operator
from tigris_pio.compiler.lower.storage import FLOAT
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import LookupParams


@operator("QUANTIZE", domain=TFLITE, summary="float32, int8 and uint8 to int8 and uint8")
def lower_quantize(builder: Builder, node: Node) -> None:
    """QUANTIZE from float32; from int8 a LOOKUP with the results of fixed-point rescaling."""
    name, output = node.inputs[0], node.outputs[0]
    result = builder.numeric(output)
    if not builder.is_quantised(name):
        value = builder.value(name, FLOAT)
        builder.convert(output, value, result, output)
        return
    source, value = builder.numeric(name), builder.value(name)
    if source == result:
        builder.add_alias(name, output, [item.layout for item in builder.values[name]])
        return
    if DType.INT16 in (source.dtype, result.dtype):
        builder.convert(output, value, result, output)
        return
    try:
        multiplier, shift = numerics.quantize_multiplier(source.scale / result.scale)
    except ValueError as error:
        raise Refusal(str(error)) from None
    codes = np.arange(-128, 128) - source.zero_point
    table = np.clip(numerics.multiply_rounded(codes, multiplier, shift) + result.zero_point, -128, 127).astype(np.int8)
    builder.emit(OpKind.LOOKUP, DType.INT8, [(value.storage, RowMap.same())], output, value.layout, result,
                 builder.storages[value.storage].cell, LookupParams(0), blobs={"table": table})


@operator("DEQUANTIZE", domain=TFLITE, summary="int8 and uint8 to float32")
def lower_dequantize(builder: Builder, node: Node) -> None:
    """DEQUANTIZE."""
    name, output = node.inputs[0], node.outputs[0]
    builder.convert(output, builder.value(name), builder.numeric(output), output)

"""QuantizeLinear that stayed in the graph, because its input is needed unrounded too."""

from __future__ import annotations

import numpy as np

from tigris_pio.compiler.ir.graph import Node, Tensor
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower.builder import Builder
from tigris_pio.compiler.lower.registry import Refusal, operator
from tigris_pio.compiler.lower.storage import FLOAT
from tigris_pio.compiler.normalise.integers import RECODE
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import LookupParams, QuantizeParams
from tigris_pio.format.record import Record


@operator("QuantizeLinear", summary="per tensor, int8 and uint8; folded into its neighbours where possible")
def lower_quantize(builder: Builder, node: Node) -> None:
    """QUANTIZE, or a requantisation by table when the input is int8 already."""
    name, output = node.inputs[0], node.outputs[0]
    if builder.tensors[output].quantisation is None:
        raise Refusal("only constant per-tensor scales and zero points of int8 or uint8 are supported")
    value = builder.value(name) if builder.tensors[name].quantisation else builder.value(name, FLOAT)
    builder.convert(output, value, builder.numeric(output), output)


@operator("DequantizeLinear", summary="per tensor, int8 and uint8; constants also per channel and narrower")
def lower_dequantize(builder: Builder, node: Node) -> None:
    """All supported ones are folded before lowering."""
    raise Refusal("its input is no constant and not quantised to int8 or uint8 with the same parameters")


@operator(RECODE, summary="integers of eight bits read otherwise")
def lower_recode(builder: Builder, node: Node) -> None:
    """The same integers: under another scale by a table, as numbers or from numbers with a scale of one."""
    source, result = builder.tensors[node.inputs[0]], builder.tensors[node.outputs[0]]
    written = FLOAT if result.quantisation is None else builder.numeric(result.name)
    value = builder.value(source.name)
    params: Record
    blobs: dict[str, np.ndarray] = {}
    if source.quantisation is not None and result.quantisation is not None:
        kind, params, blobs = OpKind.LOOKUP, LookupParams(0), {"table": np.arange(-128, 128).astype(np.int8)}
    elif result.quantisation is None:
        kind, params = OpKind.DEQUANTIZE, QuantizeParams(1.0, _shift(result))
    else:
        kind, params = OpKind.QUANTIZE, QuantizeParams(1.0, _shift(source))
    builder.emit(kind, DType.INT8, [(value.storage, RowMap.same())], result.name, value.layout, written,
                 builder.storages[value.storage].cell, params, blobs=blobs)


def _shift(numbers: Tensor) -> int:
    """The stored integer of zero: uint8 is stored as int8, less 128."""
    return -128 if numbers.dtype == np.uint8 else 0

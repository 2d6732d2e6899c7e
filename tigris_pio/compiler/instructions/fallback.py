"""Kernels that no measured network has: instructions for a multiplication and for an element, by their kinds.

As `python -m bench.operators` counts them under QEMU: integers on RV32IMC, float32 there by the compiler's library and
on a Cortex-M7 by its FPU. Within a quarter or so.
"""

from __future__ import annotations

from collections.abc import Mapping

from tigris_pio.compiler.instructions.call import Call
from tigris_pio.compiler.ir.program import ProgramOp
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.kinds import TRAITS

#: For a multiplication, and for an element of what is written or, where that is more, read.
Cost = tuple[float, float]

_CONVOLUTIONS: Mapping[OpKind, Cost] = {
    OpKind.CONV_2D: (2.5, 20), OpKind.DEPTHWISE_CONV_2D: (4.5, 0), OpKind.FULLY_CONNECTED: (3.3, 25),
    OpKind.SUM_PRODUCTS: (3.3, 5), OpKind.SCALE_SUMS: (0, 25),
    OpKind.MAT_MUL: (3.6, 30), OpKind.TRANSPOSE_CONV: (6, 40), OpKind.ASYMMETRIC_CONV_2D: (6, 40),
    OpKind.ASYMMETRIC_DEPTHWISE_CONV_2D: (9, 40), OpKind.ASYMMETRIC_FULLY_CONNECTED: (5, 30),
}
_INTEGERS: Mapping[OpKind, Cost] = {
    **_CONVOLUTIONS,
    **{kind: (0, each) for kind, each in (
        (OpKind.ADD, 43), (OpKind.SUB, 43), (OpKind.MUL, 22), (OpKind.DIVIDE, 40), (OpKind.PRELU, 19),
        (OpKind.EXTREME, 12), (OpKind.SOFTMAX, 60), (OpKind.LOOKUP, 7), (OpKind.QUANTIZE, 60), (OpKind.DEQUANTIZE, 9),
        (OpKind.COPY, 2), (OpKind.COMMIT, 2), (OpKind.CONCAT, 2), (OpKind.SELECT, 4), (OpKind.TRANSPOSE, 4),
        (OpKind.AVERAGE_POOL, 7), (OpKind.MAX_POOL, 5), (OpKind.SUM_MAP, 3), (OpKind.MEAN_OF_SUMS, 30),
        (OpKind.REDUCE, 6), (OpKind.NORMALISE, 30), (OpKind.RESAMPLE, 40), (OpKind.LEVEL, 90),
    )},
    OpKind.SPECTRUM: (21.5, 0),
}  # fmt: skip
#: Of int16. DEQUANTIZE and QUANTIZE compute in float32, at their cost where that is the compiler's library's.
_INT16: Mapping[OpKind, Cost] = {
    OpKind.CONV_2D: (5.5, 150), OpKind.DEPTHWISE_CONV_2D: (12, 150), OpKind.FULLY_CONNECTED: (5, 100),
    OpKind.MAT_MUL: (10, 100), OpKind.TRANSPOSE_CONV: (12, 150), OpKind.ADD: (0, 67), OpKind.SUB: (0, 67),
    OpKind.MUL: (0, 29), OpKind.EXTREME: (0, 9), OpKind.RESCALE: (0, 54), OpKind.LOGISTIC: (0, 30),
    OpKind.LOOKUP: (0, 20), OpKind.SOFTMAX: (0, 70), OpKind.AVERAGE_POOL: (0, 14), OpKind.MAX_POOL: (0, 10),
    OpKind.REDUCE: (0, 12), OpKind.QUANTIZE: (0, 336), OpKind.DEQUANTIZE: (0, 162),
}  # fmt: skip
_OTHER_INTEGERS: Cost = (6, 25)
_SOFT_FLOAT: Cost = (165, 150)
_FPU: Mapping[OpKind, Cost] = {
    OpKind.CONV_2D: (3.6, 60), OpKind.DEPTHWISE_CONV_2D: (14, 30), OpKind.FULLY_CONNECTED: (8.5, 30),
    OpKind.SUM_PRODUCTS: (8.5, 5),
}
_OTHER_FLOATS: Cost = (9, 25)
#: Starting a call.
_CALL = 60.0


def fallback(call: Call, processor: str) -> float:
    """Instructions of a call."""
    product, element = _cost(call.op, processor != "rv32imc")
    share = call.rows / max(1, call.output.height) / call.op.images
    most = call.elements if call.op.macs else max(call.elements, call.read)
    return _CALL + call.op.macs * share * product + most * element


def _cost(op: ProgramOp, fpu: bool) -> Cost:
    if op.dtype is DType.INT16 and op.kind in _INT16 and not (fpu and op.kind in (OpKind.QUANTIZE, OpKind.DEQUANTIZE)):
        return _INT16[op.kind]
    if op.dtype is not DType.FLOAT32 or TRAITS[op.kind].moves or op.kind in (OpKind.QUANTIZE, OpKind.DEQUANTIZE):
        return _INTEGERS.get(op.kind, _OTHER_INTEGERS)
    return _FPU.get(op.kind, _OTHER_FLOATS) if fpu else _SOFT_FLOAT

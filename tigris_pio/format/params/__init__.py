"""Kernel parameter records, one per (kind, dtype).

Fields that name data ("weights", "bias", …) hold byte offsets into the stage's weight block;
every such array starts on a 16-byte boundary. Names, signs and rounding follow the TensorFlow
Lite int8 specification: real = (q - zero_point) * scale, requantisation by a Q0.31 multiplier and
a power of two, shift > 0 meaning left.
"""

from __future__ import annotations

from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params.convolution import (
    ConvFloatParams,
    ConvInt8Params,
    TransposeConvFloatParams,
    TransposeConvInt8Params,
)
from tigris_pio.format.params.elementwise import (
    BinaryFloatParams,
    BinaryFunctionParams,
    BinaryInt8Params,
    CastParams,
    LookupParams,
    QuantizeParams,
    UnaryFloatParams,
    WhereParams,
)
from tigris_pio.format.params.matrix import (
    FullyConnectedFloatParams,
    FullyConnectedInt8Params,
    MatMulFloatParams,
    MatMulInt8Params,
)
from tigris_pio.format.params.movement import (
    ConcatParams,
    CopyParams,
    ResampleParams,
    SelectParams,
    TransposeParams,
)
from tigris_pio.format.params.pool import (
    MeanOfSumsFloatParams,
    MeanOfSumsInt8Params,
    PoolFloatParams,
    PoolInt8Params,
    SumMapParams,
)
from tigris_pio.format.params.vector import (
    ArgReduceParams,
    LrnParams,
    ReduceParams,
    SoftmaxFloatParams,
    SoftmaxInt8Params,
    VectorParams,
)
from tigris_pio.format.record import Record

__all__ = [
    "PARAMS",
    "ArgReduceParams",
    "BinaryFloatParams",
    "BinaryFunctionParams",
    "BinaryInt8Params",
    "CastParams",
    "ConcatParams",
    "ConvFloatParams",
    "ConvInt8Params",
    "CopyParams",
    "FullyConnectedFloatParams",
    "FullyConnectedInt8Params",
    "LookupParams",
    "LrnParams",
    "MatMulFloatParams",
    "MatMulInt8Params",
    "MeanOfSumsFloatParams",
    "MeanOfSumsInt8Params",
    "PoolFloatParams",
    "PoolInt8Params",
    "QuantizeParams",
    "Record",
    "ReduceParams",
    "ResampleParams",
    "SelectParams",
    "SoftmaxFloatParams",
    "SoftmaxInt8Params",
    "SumMapParams",
    "TransposeConvFloatParams",
    "TransposeConvInt8Params",
    "TransposeParams",
    "UnaryFloatParams",
    "VectorParams",
    "WhereParams",
    "parameter_records",
]

#: The record that the kernel of (kind, dtype) takes.
PARAMS: dict[tuple[OpKind, DType], type[Record]] = {
    (OpKind.CONV_2D, DType.INT8): ConvInt8Params,
    (OpKind.CONV_2D, DType.FLOAT32): ConvFloatParams,
    (OpKind.DEPTHWISE_CONV_2D, DType.INT8): ConvInt8Params,
    (OpKind.DEPTHWISE_CONV_2D, DType.FLOAT32): ConvFloatParams,
    (OpKind.FULLY_CONNECTED, DType.INT8): FullyConnectedInt8Params,
    (OpKind.FULLY_CONNECTED, DType.FLOAT32): FullyConnectedFloatParams,
    (OpKind.AVERAGE_POOL, DType.INT8): PoolInt8Params,
    (OpKind.AVERAGE_POOL, DType.FLOAT32): PoolFloatParams,
    (OpKind.MAX_POOL, DType.INT8): PoolInt8Params,
    (OpKind.MAX_POOL, DType.FLOAT32): PoolFloatParams,
    (OpKind.ADD, DType.INT8): BinaryInt8Params,
    (OpKind.ADD, DType.FLOAT32): BinaryFloatParams,
    (OpKind.SUB, DType.INT8): BinaryInt8Params,
    (OpKind.SUB, DType.FLOAT32): BinaryFloatParams,
    (OpKind.MUL, DType.INT8): BinaryInt8Params,
    (OpKind.MUL, DType.FLOAT32): BinaryFloatParams,
    (OpKind.SOFTMAX, DType.INT8): SoftmaxInt8Params,
    (OpKind.SOFTMAX, DType.FLOAT32): SoftmaxFloatParams,
    (OpKind.LOOKUP, DType.INT8): LookupParams,
    (OpKind.UNARY, DType.FLOAT32): UnaryFloatParams,
    (OpKind.COPY, DType.INT8): CopyParams,
    (OpKind.COPY, DType.FLOAT32): CopyParams,
    (OpKind.TRANSPOSE, DType.INT8): TransposeParams,
    (OpKind.TRANSPOSE, DType.FLOAT32): TransposeParams,
    (OpKind.CONCAT, DType.INT8): ConcatParams,
    (OpKind.CONCAT, DType.FLOAT32): ConcatParams,
    (OpKind.QUANTIZE, DType.INT8): QuantizeParams,
    (OpKind.DEQUANTIZE, DType.INT8): QuantizeParams,
    (OpKind.SELECT, DType.INT8): SelectParams,
    (OpKind.SELECT, DType.FLOAT32): SelectParams,
    (OpKind.RESAMPLE, DType.INT8): ResampleParams,
    (OpKind.RESAMPLE, DType.FLOAT32): ResampleParams,
    (OpKind.TRANSPOSE_CONV, DType.INT8): TransposeConvInt8Params,
    (OpKind.TRANSPOSE_CONV, DType.FLOAT32): TransposeConvFloatParams,
    (OpKind.TRIGONOMETRIC, DType.FLOAT32): UnaryFloatParams,
    (OpKind.BINARY, DType.FLOAT32): BinaryFunctionParams,
    (OpKind.WHERE, DType.FLOAT32): WhereParams,
    (OpKind.REDUCE, DType.FLOAT32): ReduceParams,
    (OpKind.ARG_REDUCE, DType.FLOAT32): ArgReduceParams,
    (OpKind.VECTOR, DType.FLOAT32): VectorParams,
    (OpKind.LRN, DType.FLOAT32): LrnParams,
    (OpKind.MAT_MUL, DType.FLOAT32): MatMulFloatParams,
    (OpKind.MAT_MUL, DType.INT8): MatMulInt8Params,
    (OpKind.CAST, DType.FLOAT32): CastParams,
    (OpKind.SUM_MAP, DType.INT8): SumMapParams,
    (OpKind.SUM_MAP, DType.FLOAT32): SumMapParams,
    (OpKind.MEAN_OF_SUMS, DType.INT8): MeanOfSumsInt8Params,
    (OpKind.MEAN_OF_SUMS, DType.FLOAT32): MeanOfSumsFloatParams,
    (OpKind.PLAIN_CONV_2D, DType.INT8): ConvInt8Params,
    (OpKind.PLAIN_DEPTHWISE_CONV_2D, DType.INT8): ConvInt8Params,
    (OpKind.PLAIN_FULLY_CONNECTED, DType.INT8): FullyConnectedInt8Params,
}


def parameter_records() -> tuple[type[Record], ...]:
    """Each parameter record once, in the order of the table."""
    return tuple(dict.fromkeys(PARAMS.values()))

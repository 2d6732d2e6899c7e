"""Kernel parameter records, one per (kind, dtype).

Fields that name data ("weights", "bias", …) hold byte offsets into the stage's weight block;
every such array starts on a 16-byte boundary. Names, signs and rounding follow the TensorFlow
Lite int8 specification: real = (q - zero_point) * scale, requantisation by a Q0.31 multiplier and
a power of two, shift > 0 meaning left.
"""

from __future__ import annotations

from tigris_pio.format.params.convolution import (
    AsymmetricConvInt8Params,
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
    CompareInt8Params,
    DivideInt8Params,
    ExtremeParams,
    LookupParams,
    PreluInt8Params,
    QuantizeParams,
    UnaryFloatParams,
    WhereParams,
)
from tigris_pio.format.params.int16 import (
    ConvInt16Params,
    FullyConnectedInt16Params,
    LogisticInt16Params,
    LookupInt16Params,
    MatMulInt16Params,
    QuantizeInt16Params,
    RescaleParams,
    SoftmaxInt16Params,
    TransposeConvInt16Params,
)
from tigris_pio.format.params.levels import LevelParams, SpectrumParams
from tigris_pio.format.params.matrix import (
    AsymmetricFullyConnectedInt8Params,
    FullyConnectedFloatParams,
    FullyConnectedInt8Params,
    FullyConnectedInt32Params,
    MatMulFloatParams,
    MatMulInt8Params,
    ScaleSumsFloatParams,
    ScaleSumsInt8Params,
    SumProductsParams,
)
from tigris_pio.format.params.movement import (
    ConcatParams,
    CopyParams,
    GatherParams,
    ResampleParams,
    ScatterParams,
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
from tigris_pio.format.params.recurrent import RecurrentInt16Params, RecurrentParams
from tigris_pio.format.params.state import CommitParams
from tigris_pio.format.params.stream import RowsParams
from tigris_pio.format.params.vector import (
    ArgReduceParams,
    CumulativeInt8Params,
    LogSoftmaxInt8Params,
    LrnParams,
    NormaliseInt8Params,
    ReduceInt8Params,
    ReduceParams,
    SoftmaxFloatParams,
    SoftmaxInt8Params,
    SuppressParams,
    TopKParams,
    VectorParams,
)
from tigris_pio.format.record import Record

__all__ = [
    "ArgReduceParams",
    "AsymmetricConvInt8Params",
    "AsymmetricFullyConnectedInt8Params",
    "BinaryFloatParams",
    "BinaryFunctionParams",
    "BinaryInt8Params",
    "CastParams",
    "CommitParams",
    "CompareInt8Params",
    "ConcatParams",
    "ConvFloatParams",
    "ConvInt8Params",
    "ConvInt16Params",
    "CopyParams",
    "CumulativeInt8Params",
    "DivideInt8Params",
    "ExtremeParams",
    "FullyConnectedFloatParams",
    "FullyConnectedInt8Params",
    "FullyConnectedInt16Params",
    "FullyConnectedInt32Params",
    "GatherParams",
    "LevelParams",
    "LogSoftmaxInt8Params",
    "LogisticInt16Params",
    "LookupInt16Params",
    "LookupParams",
    "LrnParams",
    "MatMulFloatParams",
    "MatMulInt8Params",
    "MatMulInt16Params",
    "MeanOfSumsFloatParams",
    "MeanOfSumsInt8Params",
    "NormaliseInt8Params",
    "PoolFloatParams",
    "PoolInt8Params",
    "PreluInt8Params",
    "QuantizeInt16Params",
    "QuantizeParams",
    "Record",
    "RecurrentInt16Params",
    "RecurrentParams",
    "ReduceInt8Params",
    "ReduceParams",
    "ResampleParams",
    "RescaleParams",
    "RowsParams",
    "ScaleSumsFloatParams",
    "ScaleSumsInt8Params",
    "ScatterParams",
    "SelectParams",
    "SoftmaxFloatParams",
    "SoftmaxInt8Params",
    "SoftmaxInt16Params",
    "SpectrumParams",
    "SumMapParams",
    "SumProductsParams",
    "SuppressParams",
    "TopKParams",
    "TransposeConvFloatParams",
    "TransposeConvInt8Params",
    "TransposeConvInt16Params",
    "TransposeParams",
    "UnaryFloatParams",
    "VectorParams",
    "WhereParams",
]

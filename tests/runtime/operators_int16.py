"""One small valid operator per kernel of int16."""

import numpy as np

from tests.runtime.kernel_harness import SAME, Operator, operator
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower.selection import NO_TABLE
from tigris_pio.format import params as p
from tigris_pio.format.enums import DType, OpKind, ReduceFunction
from tigris_pio.format.record import Record

INT8, INT16, FLOAT32 = DType.INT8, DType.INT16, DType.FLOAT32
SHAPE = (1, 6, 4, 4)
#: Of a 3x3 window, and of a transposed one that doubles rows and columns.
GEOMETRY = {"kernel_height": 3, "kernel_width": 3, "stride_height": 1, "stride_width": 1, "dilation_height": 1,
            "dilation_width": 1, "pad_left": 1}
TURNED = {**GEOMETRY, "stride_height": 2, "stride_width": 2, "pad_top": 1, "groups": 1}
STEPS = {"row_step": (16, 16), "column_step": (4, 4), "channel_step": (1, 1)}
WINDOW, WHOLE = RowMap.window(3, 1, 1, 1), RowMap.whole(6)
RANGE = {"activation_min": -30000, "activation_max": 32767}
CONSTANTS = {"weights": 0, "bias": 0, "multiplier": 0, "shift": 0}


def data(shape: tuple[int, ...] = SHAPE, dtype: type[np.generic] = np.int16) -> np.ndarray:
    """Values all over the range."""
    values = np.arange(np.prod(shape)).reshape(shape) * 7919 % 65521 - 32768
    return (values if dtype == np.int16 else values >> 8).astype(dtype)


def _operator(kind: OpKind, params: Record, inputs: int = 1, rows: RowMap = SAME,
              output: tuple[int, int, int, int] = SHAPE, output_dtype: DType = INT16, **blobs: np.ndarray) -> Operator:
    given = (data(), data()[:, ::-1])[:inputs]
    return operator(kind, params, *given, rows=rows, out=output, output_dtype=output_dtype, **blobs)


def _sums(weights: tuple[int, ...], sum_bits: int, dtype: type[np.generic] = np.int8) -> dict[str, np.ndarray]:
    multiplier = (1 << 14) + 1 if sum_bits == 64 else (1 << 30) + 12345
    return {"weights": data(weights, dtype), "bias": np.arange(4, dtype=np.int64) << 18,
            "multiplier": np.full(4, multiplier, np.int32), "shift": np.full(4, -9, np.int8)}


def _layers() -> list[Operator]:
    """Operators with weights, with sums of 64 and of 32 bits."""
    result = []
    for bits in (64, 32):
        fields = {**GEOMETRY, "groups": 1, "sum_bits": bits, **RANGE, **CONSTANTS}
        own = (p.ConvInt16Params(**fields, weight_bytes=1), p.ConvInt16Params(**fields, weight_bytes=2))
        result += [
            _operator(OpKind.CONV_2D, own[0], rows=WINDOW, **_sums((4, 3, 3, 4), bits)),
            _operator(OpKind.CONV_2D, own[1], rows=WINDOW, **_sums((4, 3, 3, 4), bits, np.int16)),
            _operator(OpKind.DEPTHWISE_CONV_2D, own[0], rows=WINDOW, **_sums((3, 3, 4), bits)),
            _operator(OpKind.FULLY_CONNECTED, p.FullyConnectedInt16Params(24, 4, 4, bits, **RANGE, **CONSTANTS),
                      **_sums((4, 4), bits)),
            _operator(OpKind.TRANSPOSE_CONV, p.TransposeConvInt16Params(**TURNED, sum_bits=bits, **RANGE, **CONSTANTS),
                      rows=RowMap(1, 2, 0, 1), output=(1, 11, 7, 4), **_sums((4, 3, 3, 4), bits)),
        ]
    return result


def _arithmetic() -> list[Operator]:
    """Operators of two tensors, and pooling."""
    product = p.MatMulInt16Params((1, 1, 2), 3, 4, 4, (0, 0, 48), 16, 1, (0, 0, 16), 4, 1, 0, 1 << 14, -7, **RANGE)
    pool = {**GEOMETRY, "include_pad": 0, "input_zero_point": 0, "output_zero_point": 0, **RANGE}
    means = {"multiplier": np.full(9, 1 << 30, np.int32), "shift": np.full(9, -2, np.int8)}
    result = []
    for kind, left in ((OpKind.ADD, 15), (OpKind.SUB, 15), (OpKind.MUL, 0)):
        params = p.BinaryInt8Params((0, 0), (1 << 30, 1 << 30), (0, -1), left, 0, 1 << 30, -13, **RANGE, **STEPS)
        result.append(_operator(kind, params, 2))
    return [
        *result,
        _operator(OpKind.EXTREME, p.ExtremeParams(1, **STEPS), 2),
        _operator(OpKind.MAT_MUL, product, 2, WHOLE, (1, 2, 3, 4)),
        _operator(OpKind.AVERAGE_POOL, p.PoolInt8Params(**pool, rescale=0, multiplier=0, shift=0), rows=WINDOW),
        _operator(OpKind.AVERAGE_POOL, p.PoolInt8Params(**pool, rescale=1, multiplier=0, shift=0), rows=WINDOW,
                  **means),
        _operator(OpKind.MAX_POOL, p.PoolInt8Params(**pool, rescale=0, multiplier=0, shift=0), rows=WINDOW),
        _operator(OpKind.REDUCE, p.ReduceInt8Params(ReduceFunction.MEAN, 4, 1, 0, 0, 1 << 29, 0), output=(1, 6, 4, 1)),
        _operator(OpKind.REDUCE, p.ReduceInt8Params(ReduceFunction.MINIMUM, 24, 4, 0, 0, 0, 0), rows=WHOLE,
                  output=(1, 1, 1, 4)),
    ]


def _functions() -> list[Operator]:
    """Functions of elements and of vectors, and conversions to other types."""
    line = (np.arange(513) * 113 - 29000).astype(np.int16)
    logistic = {"table": np.linspace(32768, 65535, 256).astype(np.uint16)}
    rescale = p.RescaleParams(0, 5, (1 << 30, 1 << 29), (1, -3), 2, -30000, 30000)
    narrow = p.RescaleParams(0, 5, (1 << 30, 1 << 29), (-7, -3), 0, -128, 127)
    wide = p.RescaleParams(5, 0, (1 << 30, 1 << 30), (7, 7), 0, -32768, 32767)
    softmax = p.SoftmaxInt16Params(4, 1 << 30, 1, 0, 0)
    quantise = p.QuantizeInt16Params(0.25, 3, 0)
    return [
        _operator(OpKind.RESCALE, rescale),
        _operator(OpKind.RESCALE, narrow, output_dtype=INT8),
        operator(OpKind.RESCALE, wide, data(SHAPE, np.int8), dtype=INT16),
        _operator(OpKind.LOOKUP, p.LookupInt16Params(0), table=line.astype(np.int32) * 20),
        _operator(OpKind.LOGISTIC, p.LogisticInt16Params(20000, 3, 0, 0), **logistic),
        _operator(OpKind.LOGISTIC, p.LogisticInt16Params(6, 0, 1, 0), **logistic),
        _operator(OpKind.SOFTMAX, softmax, exponentials=np.abs(line), reciprocals=np.abs(line)),
        operator(OpKind.QUANTIZE, quantise, data().astype(np.float32), dtype=INT16),
        _operator(OpKind.DEQUANTIZE, quantise, output_dtype=FLOAT32),
    ]


def _moves() -> list[Operator]:
    transpose = p.TransposeParams(4, 2, (1, 4, 6, 4, 1, 1, 1, 1), (96, 4, 16, 1, 0, 0, 0, 0))
    select = p.SelectParams(NO_TABLE, 0, NO_TABLE, (1, 1, -1), (2, 1, 1), (0, 0, 3), 0x8001)
    positions = np.array([2, 0, -1, 9], np.float32).reshape(1, 1, 1, 4)
    flat, update = data((1, 1, 1, 24)), data((1, 1, 1, 8))
    gather, scatter = p.GatherParams(1, 12, 2, 4, (0, 1, 0)), p.ScatterParams(1, 12, 2, 4, (0, 1, 0), 0)
    one = RowMap.whole(1)
    return [
        _operator(OpKind.COPY, p.CopyParams(192), rows=WHOLE, output=(1, 2, 6, 8)),
        _operator(OpKind.TRANSPOSE, transpose, rows=WHOLE, output=(1, 4, 6, 4)),
        _operator(OpKind.CONCAT, p.ConcatParams(2), 2, output=(1, 6, 4, 8)),
        _operator(OpKind.SELECT, select, rows=RowMap(1, 2, 0, 0), output=(1, 12, 4, 4),
                  column_table=np.array([3, -1, 0, 2], np.int32)),
        operator(OpKind.GATHER, gather, flat, positions, rows=one, out=(1, 1, 1, 8)),
        operator(OpKind.SCATTER, scatter, flat, positions, update, rows=one),
    ]


def int16_operators() -> list[Operator]:
    """Every kernel at least once."""
    return [*_layers(), *_arithmetic(), *_functions(), *_moves()]

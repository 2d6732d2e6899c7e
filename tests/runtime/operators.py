"""One small valid operator per kernel, for tests that damage plans."""

from __future__ import annotations

import dataclasses

import numpy as np

from tests.runtime.kernel_harness import Operator
from tests.runtime.operators_int16 import int16_operators
from tigris_pio.compiler.backends.shape import PLAIN_KINDS
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower.numerics import dequantise_table, quantise_table
from tigris_pio.compiler.lower.selection import NO_TABLE
from tigris_pio.format import params as p
from tigris_pio.format.enums import (
    BinaryFunction,
    DType,
    OpKind,
    RecurrentCell,
    ReduceFunction,
    UnaryFunction,
    VectorFunction,
)
from tigris_pio.host.io import NUMPY_TYPES

INT8, FLOAT32 = DType.INT8, DType.FLOAT32
SHAPE = (1, 6, 4, 4)
WINDOW = RowMap.window(3, 1, 1, 1)
GEOMETRY = {
    "kernel_height": 3,
    "kernel_width": 3,
    "stride_height": 1,
    "stride_width": 1,
    "dilation_height": 1,
    "dilation_width": 1,
    "pad_left": 1,
}
RANGE = {"activation_min": -128, "activation_max": 127}
FLOAT_RANGE = {"activation_min": -1e30, "activation_max": 1e30}
STEPS = {"row_step": (16, 16), "column_step": (4, 4), "channel_step": (1, 1)}
SCALED = {"multiplier": np.full(4, 1 << 30, np.int32), "shift": np.full(4, -7, np.int8)}


def _data(dtype: DType, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    values = np.arange(np.prod(shape)).reshape(shape) * 37 % 251 - 125
    return values.astype(np.int8 if dtype == INT8 else np.float32)


def _conv(kind: OpKind, dtype: DType) -> Operator:
    shape = (4, 3, 3, 4) if kind == OpKind.CONV_2D else (3, 3, 4)
    weights = _data(dtype, shape)
    if dtype == INT8:
        fields = {"input_zero_point": 3, "output_zero_point": -4, **RANGE}
        params: p.Record = p.ConvInt8Params(**GEOMETRY, groups=1, **fields, weights=0, bias=0, multiplier=0, shift=0)
        blobs = {"weights": weights, "bias": np.arange(4, dtype=np.int32), **SCALED}
    else:
        params = p.ConvFloatParams(**GEOMETRY, groups=1, **FLOAT_RANGE, weights=0, bias=0)
        blobs = {"weights": weights, "bias": np.arange(4, dtype=np.float32)}
    return Operator(kind, dtype, params, (_data(dtype),), (WINDOW,), SHAPE, dtype, blobs)


def _fully_connected(dtype: DType) -> Operator:
    weights = _data(dtype, (4, 4))
    sizes = {"rows": 24, "in_features": 4, "out_features": 4}
    if dtype == INT8:
        params: p.Record = p.FullyConnectedInt8Params(
            **sizes, requantise_step=1, output_zero_point=1, **RANGE, weights=0, bias=0, multiplier=0, shift=0
        )
        blobs = {"weights": weights, "bias": np.arange(4, dtype=np.int32), **SCALED}
    else:
        params = p.FullyConnectedFloatParams(**sizes, **FLOAT_RANGE, weights=0, bias=0)
        blobs = {"weights": weights, "bias": np.arange(4, dtype=np.float32)}
    return Operator(OpKind.FULLY_CONNECTED, dtype, params, (_data(dtype),), (RowMap.same(),), SHAPE, dtype, blobs)


def _pool(kind: OpKind, dtype: DType) -> Operator:
    blobs: dict[str, np.ndarray] = {}
    if dtype == FLOAT32:
        params: p.Record = p.PoolFloatParams(**GEOMETRY, include_pad=0, **FLOAT_RANGE)
    else:
        average = kind == OpKind.AVERAGE_POOL
        params = p.PoolInt8Params(
            **GEOMETRY,
            rescale=int(average),
            include_pad=0,
            input_zero_point=2,
            output_zero_point=1,
            **RANGE,
            multiplier=0,
            shift=0,
        )
        if average:
            blobs = {"multiplier": np.full(9, 1 << 30, np.int32), "shift": np.full(9, -2, np.int8)}
    return Operator(kind, dtype, params, (_data(dtype),), (WINDOW,), SHAPE, dtype, blobs)


def _binary(kind: OpKind, dtype: DType) -> Operator:
    if dtype == INT8:
        params: p.Record = p.BinaryInt8Params(
            zero_point=(1, 2),
            multiplier=(1 << 30, 1 << 30),
            shift=(0, -1),
            left_shift=0 if kind == OpKind.MUL else 20,
            output_zero_point=3,
            output_multiplier=1 << 30,
            output_shift=-19,
            **RANGE,
            **STEPS,
        )
    else:
        params = p.BinaryFloatParams(**FLOAT_RANGE, **STEPS)
    inputs = (_data(dtype), _data(dtype)[:, ::-1])
    return Operator(kind, dtype, params, inputs, (RowMap.same(), RowMap.same()), SHAPE, dtype)


def _simple(kind: OpKind, dtype: DType, params: p.Record, **fields: object) -> Operator:
    values: dict[str, object] = {
        "inputs": (_data(dtype),),
        "rows": (RowMap.same(),),
        "output_shape": SHAPE,
        "output_dtype": dtype,
        **fields,
    }
    return Operator(kind, dtype, params, **values)  # type: ignore[arg-type]


def _movement(dtype: DType) -> list[Operator]:
    transpose = p.TransposeParams(4, dtype.bytes, (1, 4, 6, 4, 1, 1, 1, 1), (96, 4, 16, 1, 0, 0, 0, 0))
    rows = RowMap.whole(6)
    pair = (_data(dtype), _data(dtype))
    return [
        _simple(OpKind.COPY, dtype, p.CopyParams(96 * dtype.bytes), rows=(rows,), output_shape=(1, 2, 6, 8)),
        _simple(OpKind.TRANSPOSE, dtype, transpose, rows=(rows,), output_shape=(1, 4, 6, 4)),
        _simple(
            OpKind.CONCAT,
            dtype,
            p.ConcatParams(0),
            inputs=pair,
            rows=(RowMap.shifted(0), RowMap.shifted(-6)),
            output_shape=(1, 12, 4, 4),
        ),
        _simple(
            OpKind.CONCAT,
            dtype,
            p.ConcatParams(2),
            inputs=pair,
            rows=(RowMap.same(), RowMap.same()),
            output_shape=(1, 6, 4, 8),
        ),
    ]


def _resampling(dtype: DType) -> list[Operator]:
    table = np.array([3, -1, 0, 2], np.int32)
    select = p.SelectParams(
        row_table=NO_TABLE, column_table=0, channel_table=NO_TABLE, numerator=(1, 1, -1),
        denominator=(2, 1, 1), first=(0, 0, 3), fill=9,
    )
    taps = np.ones((12, 2), np.int16 if dtype == INT8 else np.float32) * (512 if dtype == INT8 else 0.5)
    blobs = {
        "row_start": np.arange(12, dtype=np.int32) // 3, "row_weight": taps,
        "column_start": np.array([0, 1, 2, 2], np.int32), "column_weight": taps[:4],
    }
    resample = p.ResampleParams(row_taps=2, column_taps=2, row_start=0, row_weight=0, column_start=0, column_weight=0)
    return [
        _simple(OpKind.SELECT, dtype, select, rows=(RowMap(1, 2, 0, 0),), output_shape=(1, 12, 4, 4),
                blobs={"column_table": table}),
        _simple(OpKind.RESAMPLE, dtype, resample, rows=(RowMap(1, 3, 0, 3),), output_shape=(1, 12, 4, 4), blobs=blobs),
        _transpose_conv(dtype),
    ]


def _transpose_conv(dtype: DType) -> Operator:
    geometry = {**{key: value for key, value in GEOMETRY.items() if "stride" not in key},
                "stride_height": 2, "stride_width": 2, "pad_top": 1, "groups": 1, "weights": 0, "bias": 0}
    weights = _data(dtype, (4, 3, 3, 4))
    if dtype == INT8:
        params: p.Record = p.TransposeConvInt8Params(
            **geometry, input_zero_point=3, output_zero_point=-4, **RANGE, multiplier=0, shift=0
        )
        blobs = {"weights": weights, "bias": np.arange(4, dtype=np.int32), **SCALED}
    else:
        params = p.TransposeConvFloatParams(**geometry, **FLOAT_RANGE)
        blobs = {"weights": weights, "bias": np.arange(4, dtype=np.float32)}
    return _simple(OpKind.TRANSPOSE_CONV, dtype, params, rows=(RowMap(1, 2, 0, 1),), output_shape=(1, 11, 7, 4),
                   blobs=blobs)


def _float_functions() -> list[Operator]:
    """Functions of whole vectors, two or three inputs, and casts."""
    pair, same = (_data(FLOAT32), _data(FLOAT32)[:, ::-1]), (RowMap.same(), RowMap.same())
    triple = {name: (*values, values[0]) for name, values in STEPS.items()}
    whole = (RowMap.whole(6),)
    geometry = ((1, 1, 2), 3, 4, 4, (0, 0, 48), 16, 1, (0, 0, 16), 4, 1, 0)
    int8_product = p.MatMulInt8Params(*geometry, (1, 2), 3, 1 << 30, -5, **RANGE)
    int8_pair = (_data(INT8), _data(INT8)[:, ::-1])
    product = p.MatMulFloatParams(*geometry, **FLOAT_RANGE)
    return [
        _simple(OpKind.TRIGONOMETRIC, FLOAT32, p.UnaryFloatParams(UnaryFunction.SIN, 0.0, 0.0)),
        _simple(OpKind.BINARY, FLOAT32, p.BinaryFunctionParams(BinaryFunction.MAXIMUM, **STEPS), inputs=pair,
                rows=same),
        _simple(OpKind.WHERE, FLOAT32, p.WhereParams(**triple), inputs=(*pair, pair[0]), rows=(*same, same[0])),
        _simple(OpKind.REDUCE, FLOAT32, p.ReduceParams(ReduceFunction.SUM, 4, 1), output_shape=(1, 6, 4, 1)),
        _simple(OpKind.REDUCE, FLOAT32, p.ReduceParams(ReduceFunction.MEAN, 24, 4), rows=whole,
                output_shape=(1, 1, 1, 4)),
        _simple(OpKind.REDUCE, INT8, p.ReduceInt8Params(ReduceFunction.MEAN, 4, 1, 2, 3, 1 << 29, 0),
                output_shape=(1, 6, 4, 1)),
        _simple(OpKind.REDUCE, INT8, p.ReduceInt8Params(ReduceFunction.MINIMUM, 24, 4, 0, 0, 0, 0), rows=whole,
                output_shape=(1, 1, 1, 4)),
        _simple(OpKind.ARG_REDUCE, INT8, p.ArgReduceParams(1, 1, 4, 4), output_shape=(1, 6, 1, 4),
                output_dtype=FLOAT32),
        _simple(OpKind.ARG_REDUCE, FLOAT32, p.ArgReduceParams(0, 0, 4, 4), output_shape=(1, 6, 1, 4)),
        _simple(OpKind.VECTOR, FLOAT32, p.VectorParams(VectorFunction.STANDARDISE, 4, 1, 1e-5, 0, 0)),
        _simple(OpKind.VECTOR, FLOAT32, p.VectorParams(VectorFunction.CUMULATIVE_SUM, 6, 16, 0.0, 0, 1), rows=whole),
        _simple(OpKind.LRN, FLOAT32, p.LrnParams(1, 1, 1e-4, 0.75, 1.0)),
        _simple(OpKind.MAT_MUL, FLOAT32, product, inputs=pair, rows=(RowMap.whole(6), RowMap.whole(6)),
                output_shape=(1, 2, 3, 4)),
        _simple(OpKind.MAT_MUL, INT8, int8_product, inputs=int8_pair, rows=(RowMap.whole(6), RowMap.whole(6)),
                output_shape=(1, 2, 3, 4)),
        *(_cast(source, target) for source, target in zip(DType, (*list(DType)[1:], DType.INT8), strict=True)),
        *(_cast(FLOAT32, target) for target in (INT8, DType.UINT8, DType.INT16, DType.INT32, DType.INT64)),
    ]


def _cast(source: DType, target: DType) -> Operator:
    inputs = (_data(FLOAT32).astype(NUMPY_TYPES[source]),)
    return _simple(OpKind.CAST, FLOAT32, p.CastParams(source, target), inputs=inputs, output_dtype=target)


def _int8_pairs() -> list[Operator]:
    """The operators of two int8 tensors that are no sums or products."""
    pair, same = (_data(INT8), _data(INT8)[:, ::-1]), (RowMap.same(), RowMap.same())
    prelu = p.PreluInt8Params((1, 2), 1 << 30, -7, 3, 0, **STEPS)
    divide = p.DivideInt8Params((1, 2), 1 << 30, -4, **RANGE, headroom=0, power=0, reciprocal=0, modulo=1, **STEPS)
    tables = {"headroom": np.full(512, 23, np.int8), "power": np.full(256, 3, np.int8),
              "reciprocal": np.full(256, 3 << 30, np.uint32)}
    square = p.BinaryInt8Params((1, 2), (1 << 30, 1 << 30), (0, -1), 7, 3, 1 << 30, -19, **RANGE, **STEPS)
    compare = p.CompareInt8Params(BinaryFunction.LESS, (1, 2), (1 << 30, 1 << 30), (0, -1), **STEPS)
    return [
        _simple(OpKind.EXTREME, INT8, p.ExtremeParams(1, **STEPS), inputs=pair, rows=same),
        _simple(OpKind.PRELU, INT8, prelu, inputs=pair, rows=same,
                blobs={"table": np.arange(-128, 128).astype(np.int8)}),
        _simple(OpKind.DIVIDE, INT8, divide, inputs=pair, rows=same, blobs=tables),
        _simple(OpKind.SQUARED_DIFFERENCE, INT8, square, inputs=pair, rows=same),
        _simple(OpKind.BINARY, INT8, compare, inputs=pair, rows=same, output_dtype=FLOAT32),
    ]


def _asymmetric() -> list[Operator]:
    """Layers whose weights have zero points."""
    conv, depthwise, full = (_conv(OpKind.CONV_2D, INT8), _conv(OpKind.DEPTHWISE_CONV_2D, INT8), _fully_connected(INT8))
    zeros = {"weight_zero_points": np.array([5, -100, 0, 127], np.int8)}
    own = {OpKind.ASYMMETRIC_CONV_2D: (conv, p.AsymmetricConvInt8Params),
           OpKind.ASYMMETRIC_FULLY_CONNECTED: (full, p.AsymmetricFullyConnectedInt8Params)}
    wide = {**depthwise.blobs, "weights": depthwise.blobs["weights"].astype(np.int16) * 2}
    return [
        *(dataclasses.replace(op, kind=kind, params=record(**dataclasses.asdict(op.params), weight_zero_points=0),
                              blobs={**op.blobs, **zeros}) for kind, (op, record) in own.items()),
        dataclasses.replace(depthwise, kind=OpKind.ASYMMETRIC_DEPTHWISE_CONV_2D, blobs=wide),
    ]


def _plain() -> list[Operator]:
    """The operators that kernel libraries may run."""
    packed = (_conv(OpKind.CONV_2D, INT8), _conv(OpKind.DEPTHWISE_CONV_2D, INT8), _fully_connected(INT8))
    shifts = {"shift": SCALED["shift"].astype(np.int32)}
    return [
        dataclasses.replace(op, kind=PLAIN_KINDS[op.kind], blobs={**op.blobs, **shifts}) for op in packed
    ]


def _lstm() -> Operator:
    """Three steps in one row, which hidden and cell begin."""
    gates = {"input_multiplier": (1 << 30,) * 4, "input_shift": (-3,) * 4, "recurrent_multiplier": (1 << 30,) * 4,
             "recurrent_shift": (-2,) * 4}
    params = p.RecurrentInt16Params(RecurrentCell.LSTM, 3, 1, 4, 4, 0, 0, 0, 0, 0, 0, **gates,
                                    cell_multiplier=1 << 30, cell_shift=-18, cell_min=-9000, cell_max=9000,
                                    tanh_multiplier=6, tanh_shift=0, output_multiplier=1 << 30, output_shift=-22,
                                    output_zero_point=3)
    blobs = {"input_weights": _data(INT8, (16, 4)), "recurrent_weights": _data(INT8, (16, 4)),
             "input_bias": np.arange(16, dtype=np.int32), "recurrent_bias": np.zeros(16, np.int32),
             "table": np.arange(32768, 65536, 128).astype(np.uint16)}
    inputs = (_data(INT8, (1, 1, 3, 4)), _data(INT8, (1, 1, 1, 4)), np.arange(4, dtype=np.int16).reshape(1, 1, 1, 4))
    return _simple(OpKind.RECURRENT, DType.INT16, params, inputs=inputs, rows=(RowMap.whole(1),) * 3,
                   output_shape=(1, 1, 3, 12), output_dtype=INT8, blobs=blobs, scratch_bytes=32)


def _suppress() -> Operator:
    """Four boxes of three classes, some of which overlap."""
    boxes = np.array([[0, 0, 2, 2], [0, 1, 2, 3], [5, 5, 9, 9], [5, 5, 9, 8]], np.float32).reshape(1, 1, 4, 4)
    scores = (np.arange(12, dtype=np.float32) % 5).reshape(1, 1, 4, 3)
    params = p.SuppressParams(4, 3, 4, 3, 1, 1, 0.5, 0.3)
    return _simple(OpKind.SUPPRESS, FLOAT32, params, inputs=(boxes, scores), rows=(RowMap.whole(1),) * 2,
                   output_shape=(1, 1, 1, 12), scratch_bytes=4)


def operators() -> list[Operator]:
    """Every kernel at least once."""
    result: list[Operator] = []
    for dtype in (INT8, FLOAT32):
        result += [_conv(kind, dtype) for kind in (OpKind.CONV_2D, OpKind.DEPTHWISE_CONV_2D)]
        result.append(_fully_connected(dtype))
        result += [_pool(kind, dtype) for kind in (OpKind.AVERAGE_POOL, OpKind.MAX_POOL)]
        result += [_binary(kind, dtype) for kind in (OpKind.ADD, OpKind.SUB, OpKind.MUL)]
        result += _movement(dtype)
        result += _resampling(dtype)
    table = {"table": np.arange(-128, 128)[::-1].astype(np.int8)}
    quantize = p.QuantizeParams(0.5, 3, 0)
    exponentials = {"exponentials": np.arange(256, dtype=np.int32)[::-1] << 22}
    keys, numbers = {"table": quantise_table(0.5, 3)}, {"table": dequantise_table(0.5, 3)}
    result += [
        _simple(OpKind.SOFTMAX, INT8, p.SoftmaxInt8Params(4, 0), blobs=exponentials),
        _simple(OpKind.SOFTMAX, INT8, p.SoftmaxInt8Params(4, 0), output_dtype=DType.INT16, blobs=exponentials),
        _simple(OpKind.SOFTMAX, INT8, p.SoftmaxInt8Params(4, 0), output_dtype=DType.INT16,
                blobs={"exponentials": np.ones(256, np.int32)}),  # no exponentials: of 0 the first is 1
        _simple(OpKind.SOFTMAX, FLOAT32, p.SoftmaxFloatParams(4)),
        _simple(OpKind.LOG_SOFTMAX, INT8, p.LogSoftmaxInt8Params(4, -200, 1 << 30, -22, 0, 0),
                blobs={**exponentials, "differences": np.arange(256, dtype=np.int32) * -(1 << 22)}),
        _simple(OpKind.LOOKUP, INT8, p.LookupParams(0), blobs=table),
        _simple(OpKind.UNARY, FLOAT32, p.UnaryFloatParams(UnaryFunction.TANH, 0.0, 0.0)),
        _simple(OpKind.QUANTIZE, INT8, quantize, inputs=(_data(FLOAT32),), blobs=keys),
        _simple(OpKind.DEQUANTIZE, INT8, quantize, output_dtype=FLOAT32, blobs=numbers),
        _simple(OpKind.NORMALISE, INT8, p.NormaliseInt8Params(1, 1, 4, 0, 0, 1, 1, 3, 28, 16, 9, 0, 16, 0),
                blobs={"terms": np.array([[1 << 28, 1 << 15]] * 4, np.int32)}),
        _simple(OpKind.VECTOR, INT8, p.CumulativeInt8Params(4, 1, 0, 1, 5, -5, 1 << 30, -18, 3)),
        *_float_functions(),
        *_plain(),
        *_int8_pairs(),
        *_asymmetric(),
        _lstm(),
        _suppress(),
        *int16_operators(),
    ]
    return result

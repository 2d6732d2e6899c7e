"""One small valid operator per kernel, for tests that damage plans."""

import dataclasses
from typing import Any

import numpy as np

from tests.runtime.kernel_harness import Operator, Shape, operator
from tests.runtime.operators_int16 import GEOMETRY, STEPS, TURNED, WINDOW, int16_operators
from tigris_pio.compiler.ir.program import RowMap
from tigris_pio.compiler.lower.numerics import dequantise_table, quantise_table
from tigris_pio.compiler.lower.selection import NO_TABLE
from tigris_pio.format import enums as e
from tigris_pio.format import params as p
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.kinds import INT4_KINDS, PLAIN_KINDS
from tigris_pio.host.io import NUMPY_TYPES

INT8, FLOAT32 = DType.INT8, DType.FLOAT32
SHAPE = (1, 6, 4, 4)
RANGE = {"activation_min": -128, "activation_max": 127}
FLOAT_RANGE = {"activation_min": -1e30, "activation_max": 1e30}
#: Offsets of constants, which the plan builder fills in.
PLACED = {"weights": 0, "bias": 0}
SCALED = {"multiplier": np.full(4, 1 << 30, np.int32), "shift": np.full(4, -7, np.int8)}
OF_INT8 = {**RANGE, **PLACED, "multiplier": 0, "shift": 0}
OF_FLOAT = {**FLOAT_RANGE, **PLACED}
WHOLE = RowMap.whole(6)


def _data(dtype: DType, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    values = np.arange(np.prod(shape)).reshape(shape) * 37 % 251 - 125
    return values.astype(np.int8 if dtype == INT8 else np.float32)


def _pair(dtype: DType) -> tuple[np.ndarray, np.ndarray]:
    return _data(dtype), _data(dtype)[:, ::-1]


def _constants(dtype: DType, *shape: int) -> dict[str, np.ndarray]:
    """Weights of this shape and what goes with four outputs."""
    bias = np.arange(4, dtype=np.int32 if dtype == INT8 else np.float32)
    return {"weights": _data(dtype, shape), "bias": bias, **(SCALED if dtype == INT8 else {})}


def _conv(kind: OpKind, dtype: DType) -> Operator:
    fields: dict[str, Any] = {**GEOMETRY, "groups": 1}
    params = (p.ConvInt8Params(**fields, input_zero_point=3, output_zero_point=-4, **OF_INT8) if dtype == INT8
              else p.ConvFloatParams(**fields, **OF_FLOAT))  # fmt: skip
    shape = (4, 3, 3, 4) if kind == OpKind.CONV_2D else (3, 3, 4)
    return operator(kind, params, _data(dtype), rows=WINDOW, **_constants(dtype, *shape))


def _fully_connected(dtype: DType) -> Operator:
    params = (p.FullyConnectedInt8Params(24, 4, 4, requantise_step=1, output_zero_point=1, **OF_INT8) if dtype == INT8
              else p.FullyConnectedFloatParams(24, 4, 4, **OF_FLOAT))  # fmt: skip
    return operator(OpKind.FULLY_CONNECTED, params, _data(dtype), **_constants(dtype, 4, 4))


def _pool(kind: OpKind, dtype: DType) -> Operator:
    if dtype == FLOAT32:
        return operator(kind, p.PoolFloatParams(**GEOMETRY, include_pad=0, **FLOAT_RANGE), _data(dtype), rows=WINDOW)
    average = kind == OpKind.AVERAGE_POOL
    params = p.PoolInt8Params(**GEOMETRY, rescale=int(average), include_pad=0, input_zero_point=2, output_zero_point=1,
                              **RANGE, multiplier=0, shift=0)  # fmt: skip
    means = {"multiplier": np.full(9, 1 << 30, np.int32), "shift": np.full(9, -2, np.int8)} if average else {}
    return operator(kind, params, _data(dtype), rows=WINDOW, **means)


def _binary(kind: OpKind, dtype: DType) -> Operator:
    left = 0 if kind == OpKind.MUL else 20
    params = (p.BinaryInt8Params((1, 2), (1 << 30, 1 << 30), (0, -1), left, 3, 1 << 30, -19, **RANGE, **STEPS)
              if dtype == INT8 else p.BinaryFloatParams(**FLOAT_RANGE, **STEPS))  # fmt: skip
    return operator(kind, params, *_pair(dtype))


def _movement(dtype: DType) -> list[Operator]:
    transpose = p.TransposeParams(4, dtype.bytes, (1, 4, 6, 4, 1, 1, 1, 1), (96, 4, 16, 1, 0, 0, 0, 0))
    x = _data(dtype)
    return [
        operator(OpKind.COPY, p.CopyParams(96 * dtype.bytes), x, rows=WHOLE, out=(1, 2, 6, 8)),
        operator(OpKind.TRANSPOSE, transpose, x, rows=WHOLE, out=(1, 4, 6, 4)),
        operator(OpKind.CONCAT, p.ConcatParams(0), x, x, rows=(RowMap.shifted(0), RowMap.shifted(-6)),
                 out=(1, 12, 4, 4)),
        operator(OpKind.CONCAT, p.ConcatParams(2), x, x, out=(1, 6, 4, 8)),
    ]  # fmt: skip


def _resampling(dtype: DType) -> list[Operator]:
    select = p.SelectParams(NO_TABLE, 0, NO_TABLE, (1, 1, -1), (2, 1, 1), (0, 0, 3), 9)
    taps = np.full((12, 2), 512, np.int16) if dtype == INT8 else np.full((12, 2), 0.5, np.float32)
    blobs = {"row_start": np.arange(12, dtype=np.int32) // 3, "row_weight": taps,
             "column_start": np.array([0, 1, 2, 2], np.int32), "column_weight": taps[:4]}  # fmt: skip
    resample = p.ResampleParams(2, 2, 0, 0, 0, 0)
    turned = (p.TransposeConvInt8Params(**TURNED, input_zero_point=3, output_zero_point=-4, **OF_INT8)
              if dtype == INT8 else p.TransposeConvFloatParams(**TURNED, **OF_FLOAT))  # fmt: skip
    constants = _constants(dtype, 4, 3, 3, 4)
    constants["bias"] = np.tile(constants["bias"], 4 if dtype == INT8 else 1)  # one for each phase
    return [
        operator(OpKind.SELECT, select, _data(dtype), rows=RowMap(1, 2, 0, 0), out=(1, 12, 4, 4),
                 column_table=np.array([3, -1, 0, 2], np.int32)),
        operator(OpKind.RESAMPLE, resample, _data(dtype), rows=RowMap(1, 3, 0, 3), out=(1, 12, 4, 4), **blobs),
        operator(OpKind.TRANSPOSE_CONV, turned, _data(dtype), rows=RowMap(1, 2, 0, 1), out=(1, 11, 7, 4),
                 **constants),
    ]  # fmt: skip


def _float_functions() -> list[Operator]:
    """Functions of whole vectors, two or three inputs, and casts."""
    x, y = _pair(FLOAT32)
    a, b = _pair(INT8)
    triple = {name: (*values, values[0]) for name, values in STEPS.items()}
    geometry = ((1, 1, 2), 3, 4, 4, (0, 0, 48), 16, 1, (0, 0, 16), 4, 1, 0)
    product = p.MatMulFloatParams(*geometry, **FLOAT_RANGE)
    int8_product = p.MatMulInt8Params(*geometry, (1, 2), 3, 1 << 30, -5, **RANGE)
    row: Shape = (1, 6, 4, 1)
    last: Shape = (1, 1, 1, 4)
    return [
        operator(OpKind.TRIGONOMETRIC, p.UnaryFloatParams(e.UnaryFunction.SIN, 0.0, 0.0), x),
        operator(OpKind.BINARY, p.BinaryFunctionParams(e.BinaryFunction.MAXIMUM, **STEPS), x, y),
        operator(OpKind.WHERE, p.WhereParams(**triple), x, y, x),
        operator(OpKind.REDUCE, p.ReduceParams(e.ReduceFunction.SUM, 4, 1), x, out=row),
        operator(OpKind.REDUCE, p.ReduceParams(e.ReduceFunction.MEAN, 24, 4), x, rows=WHOLE, out=last),
        operator(OpKind.REDUCE, p.ReduceInt8Params(e.ReduceFunction.MEAN, 4, 1, 2, 3, 1 << 29, 0), a, out=row),
        operator(OpKind.REDUCE, p.ReduceInt8Params(e.ReduceFunction.MINIMUM, 24, 4, 0, 0, 0, 0), a, rows=WHOLE,
                 out=last),
        operator(OpKind.ARG_REDUCE, p.ArgReduceParams(1, 1, 4, 4), a, out=(1, 6, 1, 4), output_dtype=FLOAT32),
        operator(OpKind.ARG_REDUCE, p.ArgReduceParams(0, 0, 4, 4), x, out=(1, 6, 1, 4)),
        operator(OpKind.VECTOR, p.VectorParams(e.VectorFunction.STANDARDISE, 4, 1, 1e-5, 0, 0), x),
        operator(OpKind.VECTOR, p.VectorParams(e.VectorFunction.CUMULATIVE_SUM, 6, 16, 0.0, 0, 1), x, rows=WHOLE),
        operator(OpKind.LRN, p.LrnParams(1, 1, 1e-4, 0.75, 1.0), x),
        operator(OpKind.MAT_MUL, product, x, y, rows=WHOLE, out=(1, 2, 3, 4)),
        operator(OpKind.MAT_MUL, int8_product, a, b, rows=WHOLE, out=(1, 2, 3, 4)),
        *(_cast(source, target) for source, target in zip(DType, (*list(DType)[1:], DType.INT8), strict=True)),
        *(_cast(FLOAT32, target) for target in (INT8, DType.UINT8, DType.INT16, DType.INT32, DType.INT64)),
    ]


def _cast(source: DType, target: DType) -> Operator:
    x = _data(FLOAT32).astype(NUMPY_TYPES[source])
    return operator(OpKind.CAST, p.CastParams(source, target), x, dtype=FLOAT32, output_dtype=target)


def _int8_pairs() -> list[Operator]:
    """The operators of two int8 tensors that are no sums or products."""
    pair = _pair(INT8)
    prelu = p.PreluInt8Params((1, 2), 1 << 30, -7, 3, 0, **STEPS)
    divide = p.DivideInt8Params((1, 2), 1 << 30, -4, **RANGE, headroom=0, power=0, reciprocal=0, modulo=1, **STEPS)
    tables = {"headroom": np.full(512, 23, np.int8), "power": np.full(256, 3, np.int8),
              "reciprocal": np.full(256, 3 << 30, np.uint32)}  # fmt: skip
    square = p.BinaryInt8Params((1, 2), (1 << 30, 1 << 30), (0, -1), 7, 3, 1 << 30, -19, **RANGE, **STEPS)
    compare = p.CompareInt8Params(e.BinaryFunction.LESS, (1, 2), (1 << 30, 1 << 30), (0, -1), **STEPS)
    return [
        operator(OpKind.EXTREME, p.ExtremeParams(1, **STEPS), *pair),
        operator(OpKind.PRELU, prelu, *pair, table=np.arange(-128, 128).astype(np.int8)),
        operator(OpKind.DIVIDE, divide, *pair, **tables),
        operator(OpKind.SQUARED_DIFFERENCE, square, *pair),
        operator(OpKind.BINARY, compare, *pair, output_dtype=FLOAT32),
    ]


def _packed() -> tuple[Operator, Operator, Operator]:
    return _conv(OpKind.CONV_2D, INT8), _conv(OpKind.DEPTHWISE_CONV_2D, INT8), _fully_connected(INT8)


def _asymmetric() -> list[Operator]:
    """Layers whose weights have zero points."""
    conv, depthwise, full = _packed()
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
    shifts = {"shift": SCALED["shift"].astype(np.int32)}
    return [dataclasses.replace(op, kind=PLAIN_KINDS[op.kind], blobs={**op.blobs, **shifts}) for op in _packed()]


def _int4() -> list[Operator]:
    """Layers with weights of 4 bits."""
    return [dataclasses.replace(op, kind=INT4_KINDS[op.kind], blobs={**op.blobs, "weights": op.blobs["weights"] >> 4})
            for op in _packed() if op.kind in INT4_KINDS]


def _tables() -> list[Operator]:
    """Layers with weights that are indices into tables, with scratch for two cores."""
    conv, _, full = _packed()
    indices = [np.arange(op.blobs["weights"].size, dtype=np.int8).reshape(op.blobs["weights"].shape) & 15
               for op in (conv, full)]
    tables = _data(INT8, (4, 16)) | 1
    given = [dataclasses.asdict(op.params) for op in (conv, full)]
    return [
        *(dataclasses.replace(conv, kind=OpKind.TABLE_CONV_2D, scratch_bytes=2 * indices[0].size,
                              params=p.TableConvInt8Params(**given[0], tables=0, table_step=step, pass_channels=4),
                              blobs={**conv.blobs, "weights": indices[0], "tables": tables[: 1 + 3 * (step > 0)]})
          for step in (16, 0)),
        dataclasses.replace(full, kind=OpKind.TABLE_FULLY_CONNECTED, scratch_bytes=2048,
                            params=p.TableFullyConnectedInt8Params(**given[1], table=0),
                            blobs={**full.blobs, "weights": indices[1], "table": tables[:1]}),
    ]


def _lstm() -> Operator:
    """Three steps in one row, which hidden and cell begin."""
    gates = {"input_multiplier": (1 << 30,) * 4, "input_shift": (-3,) * 4, "recurrent_multiplier": (1 << 30,) * 4,
             "recurrent_shift": (-2,) * 4}
    params = p.RecurrentInt16Params(e.RecurrentCell.LSTM, 3, 1, 4, 4, 0, 0, 0, 0, 0, 0, **gates,
                                    cell_multiplier=1 << 30, cell_shift=-18, cell_min=-9000, cell_max=9000,
                                    tanh_multiplier=6, tanh_shift=0, output_multiplier=1 << 30, output_shift=-22,
                                    output_zero_point=3)
    blobs = {"input_weights": _data(INT8, (16, 4)), "recurrent_weights": _data(INT8, (16, 4)),
             "input_bias": np.arange(16, dtype=np.int32), "recurrent_bias": np.zeros(16, np.int32),
             "table": np.arange(32768, 65536, 128).astype(np.uint16)}
    inputs = (_data(INT8, (1, 1, 3, 4)), _data(INT8, (1, 1, 1, 4)), np.arange(4, dtype=np.int16).reshape(1, 1, 1, 4))
    return operator(OpKind.RECURRENT, params, *inputs, rows=RowMap.whole(1), out=(1, 1, 3, 12), dtype=DType.INT16,
                    output_dtype=INT8, scratch_bytes=32, **blobs)


def _suppress() -> Operator:
    """Four boxes of three classes, some of which overlap."""
    boxes = np.array([[0, 0, 2, 2], [0, 1, 2, 3], [5, 5, 9, 9], [5, 5, 9, 8]], np.float32).reshape(1, 1, 4, 4)
    scores = (np.arange(12, dtype=np.float32) % 5).reshape(1, 1, 4, 3)
    params = p.SuppressParams(4, 3, 4, 3, 1, 1, 0.5, 0.3)
    return operator(OpKind.SUPPRESS, params, boxes, scores, rows=RowMap.whole(1), out=(1, 1, 1, 12), scratch_bytes=4)


def _scalar_functions() -> list[Operator]:
    """Softmax, tables, changes of type and sums along rows."""
    x = _data(INT8)
    quantize, dequantize = (p.QuantizeParams(0.5, 3, 0, rounding) for rounding in (e.Rounding.HALF_AWAY, 0))
    exponentials = np.arange(256, dtype=np.int32)[::-1] << 22
    softmax = p.SoftmaxInt8Params(4, 0)
    return [
        operator(OpKind.SOFTMAX, softmax, x, exponentials=exponentials),
        operator(OpKind.SOFTMAX, softmax, x, output_dtype=DType.INT16, exponentials=exponentials),
        # No exponentials: of 0 the first is 1.
        operator(OpKind.SOFTMAX, softmax, x, output_dtype=DType.INT16, exponentials=np.ones(256, np.int32)),
        operator(OpKind.SOFTMAX, p.SoftmaxFloatParams(4), _data(FLOAT32)),
        operator(OpKind.LOG_SOFTMAX, p.LogSoftmaxInt8Params(4, -200, 1 << 30, -22, 0, 0), x,
                 exponentials=exponentials, differences=np.arange(256, dtype=np.int32) * -(1 << 22)),
        operator(OpKind.LOOKUP, p.LookupParams(0), x, table=np.arange(-128, 128)[::-1].astype(np.int8)),
        operator(OpKind.UNARY, p.UnaryFloatParams(e.UnaryFunction.TANH, 0.0, 0.0), _data(FLOAT32)),
        operator(OpKind.QUANTIZE, quantize, _data(FLOAT32), dtype=INT8,
                 table=quantise_table(0.5, 3, e.Rounding.HALF_AWAY)),
        operator(OpKind.DEQUANTIZE, dequantize, x, output_dtype=FLOAT32, table=dequantise_table(0.5, 3)),
        operator(OpKind.NORMALISE, p.NormaliseInt8Params(1, 1, 4, 0, 0, 1, 1, 3, 28, 16, 9, 0, 16, 0), x,
                 terms=np.array([[1 << 28, 1 << 15]] * 4, np.int32)),
        operator(OpKind.VECTOR, p.CumulativeInt8Params(4, 1, 0, 1, 5, -5, 1 << 30, -18, 3), x),
    ]  # fmt: skip


def _levels() -> list[Operator]:
    """Energies of 13 samples in 16 points and three bands; and operators on levels, which are uint32."""
    blobs = {"window": np.arange(13, dtype=np.int16) * 300, "sine": np.arange(16, dtype=np.int16) * 2000,
             "bands": np.array([[1, 2], [2, 2], [3, 3], [5, 4]], np.uint16),
             "weights": np.arange(22, dtype=np.uint16).reshape(11, 2) * 180}
    samples = (np.arange(13) * 7919 % 65521 - 32768).astype(np.int16).reshape(1, 13, 1, 1)
    levels, means = (np.array([0, 2, 70000, -5] * 3, np.int32).reshape(1, 3, 1, 4) + more for more in (0, 1))
    table = {"table": np.arange(130).astype(np.int16) * 3}
    noise = {"share": (409, 983), "rest": (15975, 15401), "up_bits": 10, "down_bits": 14}
    return [
        operator(OpKind.SPECTRUM, p.SpectrumParams(13, 16, 12, 11, 0, 0, 0, 0), samples, rows=RowMap.whole(13),
                 out=(1, 1, 1, 3), output_dtype=DType.INT32, scratch_bytes=36, **blobs),
        operator(OpKind.LEVEL, p.LevelParams(e.LevelFunction.NOISE, **noise, clamp=1), levels, means),
        operator(OpKind.LEVEL, p.LevelParams(e.LevelFunction.LOUDER, factor=819, up_bits=10, down_bits=14), levels,
                 means),
        operator(OpKind.LEVEL, p.LevelParams(e.LevelFunction.GAIN, down_bits=6), levels, means,
                 table=table["table"][:125]),
        operator(OpKind.LEVEL, p.LevelParams(e.LevelFunction.LOG, factor=64, up_bits=3), levels,
                 output_dtype=DType.INT16, **table),
        operator(OpKind.LEVEL, p.LevelParams(e.LevelFunction.LOG, factor=64), levels, output_dtype=INT8, **table,
                 steps=np.arange(255, dtype=np.uint16) * 3),
    ]  # fmt: skip


def operators() -> list[Operator]:
    """Every kernel at least once."""
    result: list[Operator] = []
    for dtype in (INT8, FLOAT32):
        result += [_conv(kind, dtype) for kind in (OpKind.CONV_2D, OpKind.DEPTHWISE_CONV_2D)]
        result.append(_fully_connected(dtype))
        result += [_pool(kind, dtype) for kind in (OpKind.AVERAGE_POOL, OpKind.MAX_POOL)]
        result += [_binary(kind, dtype) for kind in (OpKind.ADD, OpKind.SUB, OpKind.MUL)]
        result += [*_movement(dtype), *_resampling(dtype)]
    sums = p.FullyConnectedInt32Params(24, 4, 4, scale_step=1, **OF_FLOAT, scale=0)
    constants = {name: array for name, array in _constants(INT8, 4, 4).items() if name in ("weights", "bias")}
    result.append(operator(OpKind.FULLY_CONNECTED, sums, _data(INT8), dtype=DType.INT32, output_dtype=FLOAT32,
                           **constants, scale=np.full(4, 0.25, np.float32)))
    result += [*_scalar_functions(), *_float_functions(), *_plain(), *_int8_pairs(), *_asymmetric(), *_int4(),
               *_tables()]
    return [*result, _lstm(), _suppress(), *int16_operators(), *_levels()]

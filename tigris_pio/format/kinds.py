"""The traits of each kind of operator: the only table by kind, from which compiler, headers and SPEC.md follow.

A module may map kinds to functions of its own. It keeps no set of kinds that a trait can express.
"""

import dataclasses
import enum
from collections.abc import Callable, Mapping

from tigris_pio.format import params as p
from tigris_pio.format import work
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.record import Record
from tigris_pio.format.work import Work


class Access(enum.Enum):
    """The elements that a kernel reads for a row of its output, from operands whose row map is not the whole tensor."""

    ELEMENT = enum.auto()  #: those at the places of the row's elements, after broadcasting
    ROW = enum.auto()  #: the row of the same index; the index itself has no influence
    WINDOW = enum.auto()  #: rows around one that the row map finds; the index itself has no influence
    INDEX = enum.auto()  #: rows that depend on the row's index, by parameters or tables
    WHOLE = enum.auto()  #: all rows
    STATE = enum.auto()  #: the row of the same index, and what the rows before left


@dataclasses.dataclass(frozen=True)
class Traits:
    """A kind of operator.

    int8, int16, int32, float32: the parameter record of its kernel of that type; None: there is no kernel
    split: two cores may share a call's rows. The kernel keeps nothing from row to row, its addresses follow from its
        parameters, and it checks its scratch by tigris_scratch_of_a_core
    overwrites: the kernel reads vectors once and in order, so it may write over an operand
    bytewise: the kernel writes bytes whatever the type, so it may write smaller elements over an operand. Without this
        trait it may do so if its output is int8
    moves: bytes only move, unchanged
    packed: its int8 weights are packed
    plain: the kind that takes its weights as kernel libraries do
    int4: the kind that takes its weights in 4 bits
    table: the kind that takes its weights as indices into tables of 16 values
    """

    access: Access
    work: Work = work.NONE
    _: dataclasses.KW_ONLY
    int8: type[Record] | None = None
    int16: type[Record] | None = None
    int32: type[Record] | None = None
    float32: type[Record] | None = None
    split: bool = False
    overwrites: bool = False
    bytewise: bool = False
    moves: bool = False
    packed: bool = False
    plain: OpKind | None = None
    int4: OpKind | None = None
    table: OpKind | None = None

    @property
    def in_place(self) -> bool:
        """Whether the kernel reads element i before it writes element i, and reads no earlier element again."""
        return self.overwrites or self.access is Access.ELEMENT

    @property
    def rowwise(self) -> bool:
        """Whether a row depends on the rows of the same index only, where row maps are RowMap.same()."""
        return self.access in (Access.ELEMENT, Access.ROW)


_POOL = Traits(Access.WINDOW, work.POOL, int8=p.PoolInt8Params, int16=p.PoolInt8Params, float32=p.PoolFloatParams,
               split=True)
_ARITHMETIC = Traits(Access.ELEMENT, int8=p.BinaryInt8Params, int16=p.BinaryInt8Params, float32=p.BinaryFloatParams,
                     split=True)


def _convolution(of: Work, plain: OpKind, int4: OpKind | None = None, table: OpKind | None = None) -> Traits:
    return Traits(Access.WINDOW, of, int8=p.ConvInt8Params, int16=p.ConvInt16Params, float32=p.ConvFloatParams,
                  split=True, packed=True, plain=plain, int4=int4, table=table)


def _movement(access: Access, record: type[Record], moves: bool = True) -> Traits:
    return Traits(access, int8=record, int16=record, float32=record, moves=moves)


TRAITS: Mapping[OpKind, Traits] = {
    OpKind.CONV_2D: _convolution(
        work.CONVOLUTION, OpKind.PLAIN_CONV_2D, OpKind.INT4_CONV_2D, OpKind.TABLE_CONV_2D),
    OpKind.DEPTHWISE_CONV_2D: _convolution(work.DEPTHWISE, OpKind.PLAIN_DEPTHWISE_CONV_2D),
    OpKind.FULLY_CONNECTED: Traits(
        Access.ROW, work.LAYER, int8=p.FullyConnectedInt8Params, int16=p.FullyConnectedInt16Params,
        int32=p.FullyConnectedInt32Params, float32=p.FullyConnectedFloatParams, split=True, packed=True,
        plain=OpKind.PLAIN_FULLY_CONNECTED, int4=OpKind.INT4_FULLY_CONNECTED, table=OpKind.TABLE_FULLY_CONNECTED),
    OpKind.AVERAGE_POOL: _POOL,
    OpKind.MAX_POOL: _POOL,
    OpKind.ADD: _ARITHMETIC,
    OpKind.SUB: _ARITHMETIC,
    OpKind.MUL: _ARITHMETIC,
    OpKind.SOFTMAX: Traits(
        Access.ROW, int8=p.SoftmaxInt8Params, int16=p.SoftmaxInt16Params, float32=p.SoftmaxFloatParams, split=True,
        overwrites=True),
    OpKind.LOG_SOFTMAX: Traits(Access.ROW, int8=p.LogSoftmaxInt8Params),
    OpKind.LOOKUP: Traits(Access.ELEMENT, int8=p.LookupParams, int16=p.LookupInt16Params, split=True),
    OpKind.UNARY: Traits(Access.ELEMENT, float32=p.UnaryFloatParams, split=True),
    OpKind.COPY: _movement(Access.WHOLE, p.CopyParams),
    OpKind.TRANSPOSE: _movement(Access.ROW, p.TransposeParams),
    OpKind.CONCAT: _movement(Access.ROW, p.ConcatParams),
    OpKind.QUANTIZE: Traits(Access.ELEMENT, int8=p.QuantizeParams, int16=p.QuantizeInt16Params),
    OpKind.DEQUANTIZE: Traits(Access.ELEMENT, int8=p.QuantizeParams, int16=p.QuantizeInt16Params),
    OpKind.SELECT: _movement(Access.INDEX, p.SelectParams),
    OpKind.RESAMPLE: Traits(Access.INDEX, int8=p.ResampleParams, float32=p.ResampleParams, split=True),
    OpKind.TRANSPOSE_CONV: Traits(
        Access.INDEX, work.TRANSPOSED, int8=p.TransposeConvInt8Params, int16=p.TransposeConvInt16Params,
        float32=p.TransposeConvFloatParams, split=True, packed=True),
    OpKind.TRIGONOMETRIC: Traits(Access.ELEMENT, float32=p.UnaryFloatParams),
    OpKind.BINARY: Traits(Access.ELEMENT, int8=p.CompareInt8Params, float32=p.BinaryFunctionParams),
    OpKind.WHERE: Traits(Access.ELEMENT, float32=p.WhereParams),
    OpKind.REDUCE: Traits(Access.ROW, int8=p.ReduceInt8Params, int16=p.ReduceInt8Params, float32=p.ReduceParams),
    OpKind.ARG_REDUCE: Traits(Access.ROW, int8=p.ArgReduceParams, float32=p.ArgReduceParams),
    OpKind.VECTOR: Traits(Access.ROW, int8=p.CumulativeInt8Params, float32=p.VectorParams),
    OpKind.LRN: Traits(Access.ROW, work.NEIGHBOURS, float32=p.LrnParams),
    OpKind.NORMALISE: Traits(Access.ROW, int8=p.NormaliseInt8Params),
    OpKind.MAT_MUL: Traits(
        Access.ROW, work.MATRICES, int8=p.MatMulInt8Params, int16=p.MatMulInt16Params, float32=p.MatMulFloatParams),
    OpKind.CAST: Traits(Access.ELEMENT, float32=p.CastParams, bytewise=True),
    OpKind.SUM_MAP: Traits(Access.STATE, int8=p.SumMapParams, float32=p.SumMapParams),
    OpKind.SUM_PRODUCTS: Traits(
        Access.STATE, work.SUMS, int8=p.SumProductsParams, float32=p.SumProductsParams, packed=True),
    OpKind.SCALE_SUMS: Traits(Access.WHOLE, int8=p.ScaleSumsInt8Params, float32=p.ScaleSumsFloatParams),
    OpKind.MEAN_OF_SUMS: Traits(Access.WHOLE, int8=p.MeanOfSumsInt8Params, float32=p.MeanOfSumsFloatParams),
    OpKind.PLAIN_CONV_2D: Traits(Access.WINDOW, work.CONVOLUTION, int8=p.ConvInt8Params, split=True),
    OpKind.PLAIN_DEPTHWISE_CONV_2D: Traits(Access.WINDOW, work.DEPTHWISE, int8=p.ConvInt8Params, split=True),
    OpKind.PLAIN_FULLY_CONNECTED: Traits(Access.ROW, work.LAYER, int8=p.FullyConnectedInt8Params, split=True),
    OpKind.INT4_CONV_2D: Traits(Access.WINDOW, work.CONVOLUTION, int8=p.ConvInt8Params, split=True),
    OpKind.INT4_FULLY_CONNECTED: Traits(Access.ROW, work.LAYER, int8=p.FullyConnectedInt8Params, split=True),
    OpKind.TABLE_CONV_2D: Traits(Access.WINDOW, work.CONVOLUTION, int8=p.TableConvInt8Params, split=True),
    OpKind.TABLE_FULLY_CONNECTED: Traits(Access.ROW, work.LAYER, int8=p.TableFullyConnectedInt8Params, split=True),
    OpKind.EXTREME: Traits(Access.ELEMENT, int8=p.ExtremeParams, int16=p.ExtremeParams, split=True),
    OpKind.PRELU: Traits(Access.ELEMENT, int8=p.PreluInt8Params, split=True),
    OpKind.DIVIDE: Traits(Access.ELEMENT, int8=p.DivideInt8Params),
    OpKind.SQUARED_DIFFERENCE: Traits(Access.ELEMENT, int8=p.BinaryInt8Params),
    OpKind.ASYMMETRIC_CONV_2D: Traits(
        Access.WINDOW, work.CONVOLUTION, int8=p.AsymmetricConvInt8Params, split=True, packed=True),
    OpKind.ASYMMETRIC_DEPTHWISE_CONV_2D: Traits(Access.WINDOW, work.DEPTHWISE, int8=p.ConvInt8Params, split=True),
    OpKind.ASYMMETRIC_FULLY_CONNECTED: Traits(
        Access.ROW, work.LAYER, int8=p.AsymmetricFullyConnectedInt8Params, split=True, packed=True),
    OpKind.FETCH: Traits(Access.INDEX, int8=p.RowsParams, moves=True),
    OpKind.TAKE: Traits(Access.INDEX, int8=p.RowsParams, moves=True),
    OpKind.COMMIT: Traits(Access.WHOLE, int8=p.CommitParams, moves=True),
    OpKind.RECURRENT: Traits(
        Access.STATE, work.RECURRENT, int8=p.RecurrentParams, int16=p.RecurrentInt16Params, float32=p.RecurrentParams),
    OpKind.GATHER: _movement(Access.WHOLE, p.GatherParams),
    OpKind.TOP_K: Traits(Access.WHOLE, float32=p.TopKParams),
    OpKind.SUPPRESS: Traits(Access.WHOLE, float32=p.SuppressParams),
    OpKind.SCATTER: _movement(Access.WHOLE, p.ScatterParams, moves=False),  # float32 may be added
    OpKind.LOGISTIC: Traits(Access.ELEMENT, int16=p.LogisticInt16Params, split=True),
    OpKind.RESCALE: Traits(Access.ELEMENT, int16=p.RescaleParams, split=True),
    OpKind.SPECTRUM: Traits(Access.WHOLE, work.SPECTRUM, int16=p.SpectrumParams),
    OpKind.LEVEL: Traits(Access.ROW, int32=p.LevelParams),
}  # fmt: skip

#: The record that the kernel of (kind, dtype) takes. Headers, SPEC.md and generated C list records in this order.
PARAMS: Mapping[tuple[OpKind, DType], type[Record]] = {
    (kind, dtype): record
    for dtypes in ((DType.INT8, DType.FLOAT32), (DType.INT16, DType.INT32))
    for kind, traits in TRAITS.items()
    for dtype in dtypes
    if (record := getattr(traits, dtype.name.lower())) is not None
}
#: The records of operators with packing PIE that have more constants than the portable kernel's.
PIE_PARAMS: Mapping[OpKind, type[Record]] = {OpKind.ADD: p.PieSumInt8Params, OpKind.SUB: p.PieSumInt8Params}
#: The plain kind of each kind that kernel libraries have.
PLAIN_KINDS = {kind: traits.plain for kind, traits in TRAITS.items() if traits.plain is not None}

#: The kind with weights of 4 bits of each kind that has one.
INT4_KINDS = {kind: traits.int4 for kind, traits in TRAITS.items() if traits.int4 is not None}
#: The kind with weights by tables of each kind that has one.
TABLE_KINDS = {kind: traits.table for kind, traits in TRAITS.items() if traits.table is not None}


def kinds_with(has: Callable[[Traits], bool]) -> frozenset[OpKind]:
    """The kinds whose traits satisfy a condition."""
    return frozenset(kind for kind, traits in TRAITS.items() if has(traits))


def parameter_records() -> tuple[type[Record], ...]:
    """Each parameter record once, in the order of the table."""
    return tuple(dict.fromkeys((*PARAMS.values(), *PIE_PARAMS.values())))

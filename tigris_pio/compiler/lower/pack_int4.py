"""Stores weights in 4 bits where they fit, or as indices of 4 bits into tables where they have at most 16 values.

The integers are the same, so outputs are the same bytes. Models have such weights if they were quantised to 4 bits or
clustered; scales do not matter here. Weights of depthwise convolutions are few and stay in 8 bits.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from tigris_pio.compiler.ir.program import Program, ProgramOp
from tigris_pio.format.enums import DType, OpKind, Packing
from tigris_pio.format.kinds import INT4_KINDS, PARAMS, TABLE_KINDS
from tigris_pio.format.packing import INT4_RANGE, packed_bytes
from tigris_pio.format.params import (
    ConvInt8Params,
    FullyConnectedInt8Params,
    TableConvInt8Params,
    TableFullyConnectedInt8Params,
)
from tigris_pio.sizes import round_up

#: Bytes of weights that a kind must save in a program. On RISC-V its kernel takes about as much flash, beside that for
#: layers of 8 bits.
LEAST_SAVINGS = {OpKind.INT4_CONV_2D: 4096, OpKind.INT4_FULLY_CONNECTED: 2048, OpKind.TABLE_CONV_2D: 1024,
                 OpKind.TABLE_FULLY_CONNECTED: 2048}  # fmt: skip
#: The most bytes that tables and indices may take, as a share of weights in 8 bits.
MOST_WITH_TABLES = 0.75
#: Input channels of a convolution are a multiple of this, with tables output channels, too. Others have few weights,
#: and taps that are gathered slowly.
_TILE = 4
#: Values of a table, and bytes of scratch for all pairs of them.
_VALUES, _PAIRS = 16, 1024
#: Bytes of a convolution's unpacked weights at most, if a quarter of fast memory holds them, and the most and the least
#: channels of a pass. Each pass fills its patches. With 8 channels instead of 32 a convolution of 3x3 takes an eighth
#: longer on rv32imc.
_MOST_BYTES, _MOST_CHANNELS, _LEAST_CHANNELS = 16384, 32, 8


def pack_int4(program: Program, fast: int | None = None, cores: int = 1, alignment: int = 16) -> Program:
    """`program` with its layers in kinds of 4 bits; the program itself if these would save too little.

    fast: bytes of fast memory, or no limit
    cores: each needs scratch for unpacked weights of its own
    """
    packed = {op.name: found for op in program.ops if (found := _packed(op, fast)) is not None}
    saved = dict.fromkeys(LEAST_SAVINGS, 0)
    for op in program.ops:
        if op.name in packed:
            saved[packed[op.name].kind] += _bytes(op) - _bytes(packed[op.name])
    kinds = {kind for kind, least in LEAST_SAVINGS.items() if saved[kind] >= least}
    if not kinds:
        return program
    return dataclasses.replace(program, ops=tuple(
        dataclasses.replace(found, scratch_bytes=cores * round_up(found.scratch_bytes, alignment))
        if (found := packed.get(op.name, op)).kind in kinds else op for op in program.ops))  # fmt: skip


def unpack_tables(program: Program) -> Program:
    """`program` with weights in 8 bits instead of tables; the program itself if it has none."""
    if not any(op.kind in TABLE_KINDS.values() for op in program.ops):
        return program
    return dataclasses.replace(program, ops=tuple(map(_unpacked, program.ops)))


def tables_of(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The values of each row in rising order, [row][16], and the index of each element; None if a row has more."""
    values, each = rows.astype(np.int16) + 128, np.arange(len(rows))[:, np.newaxis]
    has = np.zeros((len(rows), 256), bool)
    has[each, values] = True
    indices = has.cumsum(axis=1) - 1
    if indices.max() >= _VALUES:
        return None
    tables = np.zeros((len(rows), _VALUES), np.int8)
    row, value = np.nonzero(has)
    tables[row, indices[row, value]] = value - 128
    return tables, indices[each, values].astype(np.int8)


def _packed(op: ProgramOp, fast: int | None) -> ProgramOp | None:
    """The operator in a kind of 4 bits; None if it has none or does not get smaller."""
    if op.kind not in INT4_KINDS or op.dtype is not DType.INT8 or op.packing is not Packing.PORTABLE:
        return None
    weights = op.blobs["weights"]
    if isinstance(op.params, ConvInt8Params) and (op.params.groups != 1 or weights.shape[-1] % _TILE):
        return None
    if weights.min(initial=0) >= INT4_RANGE[0] and weights.max(initial=0) <= INT4_RANGE[1]:
        found = dataclasses.replace(op, kind=OpKind(INT4_KINDS[op.kind]))
        return found if _bytes(found) < _bytes(op) else None
    tabulated = _conv_with_tables(op, fast) if isinstance(op.params, ConvInt8Params) else _layer_with_table(op)
    small = tabulated is not None and _bytes(tabulated) <= MOST_WITH_TABLES * _bytes(op)
    return tabulated if small else None


def _conv_with_tables(op: ProgramOp, fast: int | None) -> ProgramOp | None:
    """A convolution with one table, or one for each output channel."""
    weights, outputs = op.blobs["weights"], len(op.blobs["weights"])
    taps = weights.size // outputs
    found = tables_of(weights.reshape(1, -1)) or tables_of(weights.reshape(outputs, -1))
    if found is None or outputs % _TILE:
        return None
    tables, indices = found
    held = min(_MOST_BYTES, _MOST_BYTES if fast is None else fast // 4) // taps
    channels = min(outputs, max(_LEAST_CHANNELS, min(_MOST_CHANNELS, held // _LEAST_CHANNELS * _LEAST_CHANNELS)))
    params = TableConvInt8Params(**dataclasses.asdict(op.params), tables=0, pass_channels=channels,
                                 table_step=0 if len(tables) == 1 else _VALUES)
    blobs = {**op.blobs, "weights": indices.reshape(weights.shape), "tables": tables}
    return dataclasses.replace(op, kind=OpKind.TABLE_CONV_2D, params=params, blobs=blobs, scratch_bytes=channels * taps)


def _layer_with_table(op: ProgramOp) -> ProgramOp | None:
    """A fully connected layer of one vector with one table. With several vectors each would unpack all weights."""
    weights, params = op.blobs["weights"], op.params
    assert isinstance(params, FullyConnectedInt8Params)
    found = tables_of(weights.reshape(1, -1))
    if found is None or weights.min() == -128 or params.rows > 1:
        return None
    record = TableFullyConnectedInt8Params(**dataclasses.asdict(params), table=0)
    blobs = {**op.blobs, "weights": found[1].reshape(weights.shape), "table": found[0]}
    return dataclasses.replace(op, kind=OpKind.TABLE_FULLY_CONNECTED, params=record, blobs=blobs, scratch_bytes=_PAIRS)


def _unpacked(op: ProgramOp) -> ProgramOp:
    """The operator with weights in 8 bits if it has tables."""
    kind = next((kind for kind, table in TABLE_KINDS.items() if op.kind is table), None)
    if kind is None:
        return op
    record, indices = PARAMS[kind, op.dtype], op.blobs["weights"]
    params = {field.name: getattr(op.params, field.name) for field in dataclasses.fields(record)}
    blobs = {name: array for name, array in op.blobs.items() if name in params}
    (tables,) = (array for name, array in op.blobs.items() if name not in params)
    rows = np.arange(len(indices)).reshape(-1, *(1,) * (indices.ndim - 1)) % len(tables)
    blobs["weights"] = tables[rows, indices]
    return dataclasses.replace(op, kind=kind, params=record(**params), blobs=blobs, scratch_bytes=0)


def _bytes(op: ProgramOp) -> int:
    """Bytes of the weights, tables included."""
    return sum(packed_bytes(op.kind, op.params, name, op.blobs[name], op.packing)
               for name in ("weights", "table", "tables") if name in op.blobs)  # fmt: skip

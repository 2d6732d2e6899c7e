"""Stores weights in 4 bits where they fit: the kernels of INT4_KINDS read two weights from each byte of flash.

The integers are the same, so outputs are the same bytes. Models hold such weights if they were quantised to 4 bits;
their scales do not matter here. Weights of depthwise convolutions are few and stay in 8 bits.
"""

from __future__ import annotations

import dataclasses

from tigris_pio.compiler.ir.program import Program, ProgramOp
from tigris_pio.format.enums import DType, OpKind, Packing
from tigris_pio.format.kinds import INT4_KINDS
from tigris_pio.format.packing import INT4_RANGE, packed_bytes
from tigris_pio.format.params import ConvInt8Params

#: Bytes of weights that a kind must save in a program. On RISC-V its kernel takes about as much flash, beside that for
#: layers of 8 bits.
LEAST_SAVINGS = {OpKind.CONV_2D: 4096, OpKind.FULLY_CONNECTED: 2048}
#: Input channels of a convolution are a multiple of this: others have few weights, and taps that are gathered slowly.
_TILE = 4


def pack_int4(program: Program) -> Program:
    """`program` with its layers in kinds of 4 bits; the program itself if these would save too little."""
    saved = dict.fromkeys(LEAST_SAVINGS, 0)
    packed = {op.name: found for op in program.ops if (found := _packed(op)) is not None}
    for op in program.ops:
        if op.name in packed:
            saved[op.kind] += _bytes(op) - _bytes(packed[op.name])
    kinds = {kind for kind, least in LEAST_SAVINGS.items() if saved[kind] >= least}
    if not kinds:
        return program
    return dataclasses.replace(
        program, ops=tuple(packed.get(op.name, op) if op.kind in kinds else op for op in program.ops)
    )


def _packed(op: ProgramOp) -> ProgramOp | None:
    """The operator in its kind of 4 bits; None if it has none or does not get smaller."""
    if op.kind not in INT4_KINDS or op.dtype is not DType.INT8 or op.packing is not Packing.PORTABLE:
        return None
    weights = op.blobs["weights"]
    if weights.min(initial=0) < INT4_RANGE[0] or weights.max(initial=0) > INT4_RANGE[1]:
        return None
    if isinstance(op.params, ConvInt8Params) and (op.params.groups != 1 or weights.shape[-1] % _TILE):
        return None
    found = dataclasses.replace(op, kind=OpKind(INT4_KINDS[op.kind]))
    return found if _bytes(found) < _bytes(op) else None


def _bytes(op: ProgramOp) -> int:
    return packed_bytes(op.kind, op.params, "weights", op.blobs["weights"], op.packing)

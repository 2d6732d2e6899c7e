"""Fully connected layers of maps as two operators that take the map row by row.

The first adds up what each row contributes to the layer's sums, which are a folded tensor, as in global pooling; the
second makes the outputs of them. The map need then never exist as a whole. It takes a call for every row, so this is
for programs that do not fit otherwise.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from tigris_pio.compiler.ir.names import Names
from tigris_pio.compiler.ir.program import Operand, Program, ProgramOp, ProgramTensor, RowMap
from tigris_pio.format.enums import DType, OpKind, Packing
from tigris_pio.format.params import (
    FullyConnectedFloatParams,
    FullyConnectedInt8Params,
    ScaleSumsFloatParams,
    ScaleSumsInt8Params,
    SumProductsParams,
)
from tigris_pio.format.record import Record


def fold_products(program: Program) -> Program | None:
    """`program` with each fully connected layer of a map that an operator makes in two; None when it has none."""
    made = {op.output for op in program.ops}
    tensors, ops, names = dict(program.tensors), list[ProgramOp](), Names(program.tensors)
    for op in program.ops:
        source = tensors[op.operands[0].tensor] if op.operands else None
        if source is not None and source.name in made and _takes_a_map(op, source):
            sums = _sums_of(op, source, names.fresh(f"{op.output}/sums"))
            tensors[sums.name] = sums
            ops += _folded(op, source, sums)
        else:
            ops.append(op)
    if len(ops) == len(program.ops):
        return None
    return dataclasses.replace(program, tensors=tensors, ops=tuple(ops))


def _takes_a_map(op: ProgramOp, source: ProgramTensor) -> bool:
    """Whether an operator is a layer of one vector, the elements of a map of several rows in their order."""
    params = op.params
    return (
        op.kind is OpKind.FULLY_CONNECTED
        and isinstance(params, FullyConnectedInt8Params | FullyConnectedFloatParams)
        and params.rows == 1 == source.batch == op.images
        and source.height > 1
        and not source.folded
        and source.height * source.width * source.channels == params.in_features
    )


def _sums_of(op: ProgramOp, source: ProgramTensor, name: str) -> ProgramTensor:
    assert isinstance(op.params, FullyConnectedInt8Params | FullyConnectedFloatParams)
    dtype = DType.INT32 if op.dtype is DType.INT8 else DType.FLOAT32
    return ProgramTensor(name, 1, source.height, 1, op.params.out_features, dtype, folded=True)


def _folded(op: ProgramOp, source: ProgramTensor, sums: ProgramTensor) -> tuple[ProgramOp, ProgramOp]:
    params = op.params
    assert isinstance(params, FullyConnectedInt8Params | FullyConnectedFloatParams)
    row = source.width * source.channels
    matrix = op.blobs["weights"].reshape(params.out_features, source.height, row)
    adding = ProgramOp(
        f"{op.name}/sums", OpKind.SUM_PRODUCTS, op.dtype, (Operand(source.name, RowMap.same()),), sums.name,
        SumProductsParams(row, params.out_features, weights=0, bias=0),
        {"weights": matrix.transpose(1, 0, 2), "bias": op.blobs["bias"]}, macs=op.macs,
    )  # fmt: skip
    scaling, blobs = _scaling(op)
    last = Operand(sums.name, RowMap.whole(sums.height))
    return adding, dataclasses.replace(
        op, kind=OpKind.SCALE_SUMS, operands=(last,), params=scaling, blobs=blobs, macs=0, in_place=(), aliases=(),
        backend="", packing=Packing.PORTABLE, stream=None, scratch_bytes=0,
    )


def _scaling(op: ProgramOp) -> tuple[Record, dict[str, np.ndarray]]:
    params = op.params
    if isinstance(params, FullyConnectedInt8Params):
        scaling = ScaleSumsInt8Params(params.requantise_step, params.output_zero_point, params.activation_min,
                                      params.activation_max, multiplier=0, shift=0)
        return scaling, {name: op.blobs[name] for name in ("multiplier", "shift")}
    assert isinstance(params, FullyConnectedFloatParams)
    return ScaleSumsFloatParams(params.activation_min, params.activation_max), {}

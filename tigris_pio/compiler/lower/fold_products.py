"""Splits a fully connected layer behind a map into two operators, so that the map runs in bands.

SUM_PRODUCTS adds the products of each row to a folded tensor, as global pooling does. SCALE_SUMS turns the sums into
outputs. The map never exists as a whole. Each row costs a kernel call, so the planner uses this form only for programs
that do not fit without it.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from tigris_pio.compiler.ir.names import Names
from tigris_pio.compiler.ir.program import Operand, Program, ProgramOp, ProgramTensor, RowMap
from tigris_pio.compiler.lower.in_place import with_derived
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
    """`program` with every such layer split; None if it has none."""
    made = {op.output for op in program.ops}
    tensors, ops, names = dict(program.tensors), list[ProgramOp](), Names(program.tensors)
    for op in program.ops:
        source = tensors[op.operands[0].tensor] if op.operands else None
        if source is not None and source.name in made and _is_layer_of_map(op, source):
            sums = _sums_tensor(op, source, names.fresh(f"{op.output}/sums"))
            tensors[sums.name] = sums
            ops += [with_derived(part, tensors) for part in _sum_and_scale(op, source, sums)]
        else:
            ops.append(op)
    if len(ops) == len(program.ops):
        return None
    return dataclasses.replace(program, tensors=tensors, ops=tuple(ops))


def _is_layer_of_map(op: ProgramOp, source: ProgramTensor) -> bool:
    """Whether `op` is a fully connected layer of one vector: the elements of a map of several rows, in their order."""
    params = op.params
    return (
        op.kind in (OpKind.FULLY_CONNECTED, OpKind.INT4_FULLY_CONNECTED)
        and isinstance(params, FullyConnectedInt8Params | FullyConnectedFloatParams)
        and params.rows == 1 == source.batch == op.images
        and source.height > 1
        and not source.folded
        and source.height * source.width * source.channels == params.in_features
    )


def _sums_tensor(op: ProgramOp, source: ProgramTensor, name: str) -> ProgramTensor:
    assert isinstance(op.params, FullyConnectedInt8Params | FullyConnectedFloatParams)
    dtype = DType.INT32 if op.dtype is DType.INT8 else DType.FLOAT32
    return ProgramTensor(name, 1, source.height, 1, op.params.out_features, dtype, folded=True)


def _sum_and_scale(op: ProgramOp, source: ProgramTensor, sums: ProgramTensor) -> tuple[ProgramOp, ProgramOp]:
    params = op.params
    assert isinstance(params, FullyConnectedInt8Params | FullyConnectedFloatParams)
    row = source.width * source.channels
    matrix = op.blobs["weights"].reshape(params.out_features, source.height, row)
    products = ProgramOp(
        f"{op.name}/sums", OpKind.SUM_PRODUCTS, op.dtype, (Operand(source.name, RowMap.same()),), sums.name,
        SumProductsParams(row, params.out_features, weights=0, bias=0),
        {"weights": matrix.transpose(1, 0, 2), "bias": op.blobs["bias"]},
    )  # fmt: skip
    scaling, blobs = _scale_params(op)
    last = Operand(sums.name, RowMap.whole(sums.height))
    return products, dataclasses.replace(
        op, kind=OpKind.SCALE_SUMS, operands=(last,), params=scaling, blobs=blobs,
        backend="", packing=Packing.PORTABLE, stream=None, scratch_bytes=0,
    )


def _scale_params(op: ProgramOp) -> tuple[Record, dict[str, np.ndarray]]:
    params = op.params
    if isinstance(params, FullyConnectedInt8Params):
        scaling = ScaleSumsInt8Params(params.requantise_step, params.output_zero_point, params.activation_min,
                                      params.activation_max, multiplier=0, shift=0)
        return scaling, {name: op.blobs[name] for name in ("multiplier", "shift")}
    assert isinstance(params, FullyConnectedFloatParams)
    return ScaleSumsFloatParams(params.activation_min, params.activation_max), {}

"""The product of an int8 tensor and a table of it is a table of it: SiLU, x * sigmoid(x), and its like.

The table has the bytes that the MUL makes, so nothing changes but that one operator does it, without the factor in
memory.
"""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np

from tigris_pio.compiler.ir.program import Operand, Program, ProgramOp, RowMap
from tigris_pio.compiler.lower import numerics
from tigris_pio.compiler.lower.in_place import with_sharing
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import BinaryInt8Params, LookupParams

_CODES = np.arange(numerics.INT8_MIN, numerics.INT8_MAX + 1)


def fold_tables(program: Program) -> Program:
    """`program` with such products as LOOKUPs. Factors that something else reads stay what they are."""
    readers = Counter(operand.tensor for op in program.ops for operand in op.operands)
    ops = {op.output: op for op in program.ops}
    changed = False
    for op in program.ops:
        found = _product(program, ops, op)
        if found is None:
            continue
        changed = True
        folded, factor = found
        ops[op.output] = with_sharing(folded, program.tensors)
        readers[factor] -= 1
        if not readers[factor] and factor not in program.ports:
            del ops[factor]
    if not changed:
        return program
    return program.with_ops(ops.values())


def _product(program: Program, ops: dict[str, ProgramOp], op: ProgramOp) -> tuple[ProgramOp, str] | None:
    """The LOOKUP that a MUL can be, and the tensor that it then need not read."""
    params = op.params
    if op.kind is not OpKind.MUL or not isinstance(params, BinaryInt8Params) or op.dtype is not DType.INT8:
        return None
    shapes = {(item.batch, item.height, item.width, item.channels)
              for item in (program.tensors[name] for name in (op.output, *(operand.tensor for operand in op.operands)))}
    if len(shapes) > 1 or any(operand.rows != RowMap.same() for operand in op.operands):
        return None
    for place, operand in enumerate(op.operands):
        table = ops.get(operand.tensor)
        source = op.operands[1 - place].tensor
        if table is None or table.kind is not OpKind.LOOKUP or table.operands != (Operand(source, RowMap.same()),):
            continue
        factor = table.blobs["table"].reshape(-1).astype(np.int64) - params.zero_point[place]
        products = (_CODES - params.zero_point[1 - place]) * factor
        made = numerics.multiplied(products, params.output_multiplier, params.output_shift) + params.output_zero_point
        result = np.clip(made, params.activation_min, params.activation_max).astype(np.int8)
        folded = dataclasses.replace(op, kind=OpKind.LOOKUP, operands=table.operands, params=LookupParams(0),
                                     blobs={"table": result})
        return folded, operand.tensor
    return None

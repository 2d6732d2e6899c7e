"""Folds the product of an int8 tensor x and a table of x, such as SiLU's x * sigmoid(x), into one table.

The table holds the bytes that MUL would compute, so the output stays the same. The second factor needs no memory.
"""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np

from tigris_pio.compiler.ir.program import Operand, Program, ProgramOp, RowMap
from tigris_pio.compiler.lower import numerics
from tigris_pio.compiler.lower.in_place import with_derived
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import BinaryInt8Params, LookupParams

_CODES = np.arange(numerics.INT8_MIN, numerics.INT8_MAX + 1)


def fold_tables(program: Program) -> Program:
    """`program` with such products as LOOKUPs. A factor that other operators read, too, stays."""
    readers = Counter(operand.tensor for op in program.ops for operand in op.operands)
    ops = {op.output: op for op in program.ops}
    changed = False
    for op in program.ops:
        found = _lookup_of_product(program, ops, op)
        if found is None:
            continue
        changed = True
        folded, factor = found
        ops[op.output] = with_derived(folded, program.tensors)
        readers[factor] -= 1
        if not readers[factor] and factor not in program.ports:
            del ops[factor]
    if not changed:
        return program
    return program.with_ops(ops.values())


def _lookup_of_product(program: Program, ops: dict[str, ProgramOp], op: ProgramOp) -> tuple[ProgramOp, str] | None:
    """The LOOKUP that replaces a MUL, and the factor that it no longer reads; None if there is none."""
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
        made = numerics.multiply_rounded(products, params.output_multiplier, params.output_shift)
        result = np.clip(made + params.output_zero_point, params.activation_min, params.activation_max).astype(np.int8)
        folded = dataclasses.replace(op, kind=OpKind.LOOKUP, operands=table.operands, params=LookupParams(0),
                                     blobs={"table": result})
        return folded, operand.tensor
    return None

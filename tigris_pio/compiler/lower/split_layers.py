"""Splits a fully connected layer whose outputs are read in parts only into a layer for each part.

Queries, keys and values are often parts of one layer. Separate layers run just before their readers, and need no copy
out of a tensor three times as large. Each output stays the same sum.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from tigris_pio.compiler.ir.program import Program, ProgramOp, ProgramTensor
from tigris_pio.compiler.lower.in_place import with_derived
from tigris_pio.compiler.lower.selection import is_slice
from tigris_pio.format.params import (
    AsymmetricFullyConnectedInt8Params,
    FullyConnectedFloatParams,
    FullyConnectedInt8Params,
    SelectParams,
)

_LAYERS = (FullyConnectedInt8Params, AsymmetricFullyConnectedInt8Params, FullyConnectedFloatParams)
#: Constants of a layer: one for each output, or one for all.
_PER_OUTPUT = ("bias", "multiplier", "shift", "weight_zero_points")


def split_layers(program: Program) -> Program:
    """`program` with such layers at the places of the SELECTs that read them."""
    readers: dict[str, list[ProgramOp]] = {}
    for op in program.ops:
        for name in dict.fromkeys(operand.tensor for operand in op.operands):
            readers.setdefault(name, []).append(op)
    ops = {op.output: op for op in program.ops}
    for layer in program.ops:
        if not isinstance(layer.params, _LAYERS) or layer.output in program.ports:
            continue
        parts = {op.output: _part(program, layer, op) for op in readers.get(layer.output, ())}
        copied = any(not ops[name].aliases for name in parts)
        if copied and all(part is not None for part in parts.values()):
            del ops[layer.output]
            ops |= {name: with_derived(part, program.tensors) for name, part in parts.items() if part is not None}
    if len(ops) == len(program.ops):
        return program
    return program.with_ops(ops.values())


def _part(program: Program, layer: ProgramOp, selection: ProgramOp) -> ProgramOp | None:
    """The layer with the outputs that `selection` takes; None if it is no such SELECT."""
    assert isinstance(layer.params, FullyConnectedInt8Params | FullyConnectedFloatParams)
    whole, part = program.tensors[layer.output], program.tensors[selection.output]
    outputs = layer.params.out_features
    selected = _selected(selection, whole, part, outputs)
    if selected is None or selection.images != layer.images:
        return None
    first, count = selected
    blobs = {"weights": np.ascontiguousarray(layer.blobs["weights"].reshape(outputs, -1)[first : first + count])}
    for name in _PER_OUTPUT:
        if name in layer.blobs:
            values = layer.blobs[name].reshape(-1)
            blobs[name] = values if values.size == 1 < outputs else values[first : first + count]
    params = dataclasses.replace(layer.params, out_features=count)
    return dataclasses.replace(layer, name=selection.name, output=selection.output, params=params, blobs=blobs)


def _selected(selection: ProgramOp, whole: ProgramTensor, part: ProgramTensor, outputs: int) -> tuple[int, int] | None:
    """The first output and the number of outputs that a SELECT takes of each vector, if they are contiguous."""
    params = selection.params
    if not isinstance(params, SelectParams) or (whole.batch, whole.height) != (part.batch, part.height):
        return None
    if not is_slice(params) or params.first[0]:
        return None
    if whole.channels == outputs and whole.width == part.width and not params.first[1]:
        first, count = params.first[2], part.channels
    elif whole.width * whole.channels == outputs and whole.channels == part.channels and not params.first[2]:
        first, count = params.first[1] * whole.channels, part.width * part.channels
    else:
        return None
    return (first, count) if 0 <= first <= outputs - count else None

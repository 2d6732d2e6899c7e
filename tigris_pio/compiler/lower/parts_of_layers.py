"""Splits and joins fully connected layers; each output stays the same sum.

`split_layers`: a layer whose outputs are read in parts only becomes a layer for each part. Queries, keys and values are
often parts of one layer. Separate layers run just before their readers, and need no copy out of a tensor three times as
large.

`join_layers`: layers that read the same vectors and whose outputs one CONCAT joins become one layer, which needs no
CONCAT and reads the vectors once.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping

import numpy as np

from tigris_pio.compiler.ir.program import Program, ProgramOp, ProgramTensor
from tigris_pio.compiler.lower.in_place import with_derived
from tigris_pio.compiler.lower.selection import is_slice
from tigris_pio.format.enums import OpKind
from tigris_pio.format.params import (
    AsymmetricFullyConnectedInt8Params,
    ConcatParams,
    FullyConnectedFloatParams,
    FullyConnectedInt8Params,
    SelectParams,
)

_SPLIT = (FullyConnectedInt8Params, AsymmetricFullyConnectedInt8Params, FullyConnectedFloatParams)
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
        if not isinstance(layer.params, _SPLIT) or layer.output in program.ports:
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


_CHANNELS = 2  #: the axis of a CONCAT
_JOINED = (FullyConnectedInt8Params, FullyConnectedFloatParams)
#: Parameters in which joined layers may differ, with the values that hide them from the comparison.
_IGNORED = {"out_features": 0, "requantise_step": 0}


def join_layers(program: Program) -> Program:
    """`program` with such layers and their CONCAT as one operator, at the place of the last layer."""
    made = {op.output: step for step, op in enumerate(program.ops)}
    readers = Counter(operand.tensor for op in program.ops for operand in op.operands)
    readers.update(io.tensor for io in (*program.outputs, *program.states))
    ops: list[ProgramOp | None] = list(program.ops)
    for step, op in enumerate(program.ops):
        steps = [made.get(operand.tensor) for operand in op.operands]
        layers = [program.ops[at] for at in steps if at is not None]
        alone = all(readers[operand.tensor] == 1 for operand in op.operands)
        if len(layers) == len(steps) > 1 and alone and _can_join(program, op, layers):
            for at in (*steps, step):
                ops[at] = None  # type: ignore[index]  # no element of `steps` is None here
            ops[max(at for at in steps if at is not None)] = with_derived(_joined(op, layers), program.tensors)
    kept = tuple(op for op in ops if op is not None)
    if len(kept) == len(program.ops):
        return program
    return program.with_ops(kept)


def _can_join(program: Program, join: ProgramOp, layers: list[ProgramOp]) -> bool:
    if not isinstance(join.params, ConcatParams) or join.params.axis != _CHANNELS:
        return False
    plain = all(layer.kind is OpKind.FULLY_CONNECTED and type(layer.params) in _JOINED for layer in layers)
    return plain and len({_common(layer) for layer in layers}) == 1 and all(
        program.tensors[layer.output].channels == _outputs(layer) for layer in layers
    )


def _common(layer: ProgramOp) -> tuple[object, ...]:
    """The properties that joined layers share: type, operands, images and all parameters but those in _IGNORED."""
    assert isinstance(layer.params, FullyConnectedInt8Params | FullyConnectedFloatParams)
    fields = {field.name: getattr(layer.params, field.name) for field in dataclasses.fields(layer.params)}
    return layer.dtype, layer.operands, layer.images, tuple({**fields, **_IGNORED}.items())


def _joined(join: ProgramOp, layers: list[ProgramOp]) -> ProgramOp:
    outputs = [_outputs(layer) for layer in layers]
    blobs = {"weights": np.concatenate([layer.blobs["weights"].reshape(count, -1)
                                        for layer, count in zip(layers, outputs, strict=True)])}
    for name in ("bias", "multiplier", "shift"):
        if name in layers[0].blobs:
            blobs[name] = np.concatenate([_broadcast(layer.blobs, name, count)
                                          for layer, count in zip(layers, outputs, strict=True)])
    steps = {"requantise_step": 1} if "multiplier" in blobs else {}
    params = dataclasses.replace(layers[0].params, out_features=sum(outputs), **steps)
    return dataclasses.replace(layers[0], name=join.name, output=join.output, params=params, blobs=blobs)


def _outputs(layer: ProgramOp) -> int:
    assert isinstance(layer.params, FullyConnectedInt8Params | FullyConnectedFloatParams)
    return int(layer.params.out_features)


def _broadcast(blobs: Mapping[str, np.ndarray], name: str, count: int) -> np.ndarray:
    """A constant for each of `count` outputs; the layer may have one for all of them."""
    return np.broadcast_to(blobs[name].reshape(-1), (count,))

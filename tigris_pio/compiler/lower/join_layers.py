"""Joins fully connected layers that read the same vectors and whose outputs one CONCAT joins.

The joined layer needs no CONCAT and reads the vectors once. Each output stays the same sum.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping

import numpy as np

from tigris_pio.compiler.ir.program import Program, ProgramOp
from tigris_pio.compiler.lower.in_place import with_derived
from tigris_pio.format.enums import OpKind
from tigris_pio.format.params import ConcatParams, FullyConnectedFloatParams, FullyConnectedInt8Params

_CHANNELS = 2  #: the axis of a CONCAT
_LAYERS = (FullyConnectedInt8Params, FullyConnectedFloatParams)
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
    plain = all(layer.kind is OpKind.FULLY_CONNECTED and type(layer.params) in _LAYERS for layer in layers)
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

"""Derives facts of an operator: the operands that it may overwrite, the bytes that a copy shares, and its MACs.

A kernel may overwrite an operand if it reads element i before it writes element i, and reads no earlier element again.
The trait `in_place` promises this for every operand with one element for each output element; a test runs them so.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from tigris_pio.compiler.ir.program import Alias, ProgramOp, ProgramTensor
from tigris_pio.compiler.lower.selection import is_slice
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.kinds import TRAITS
from tigris_pio.format.params import ConcatParams, SelectParams

_STEPS = ("row_step", "column_step", "channel_step")


def with_derived(op: ProgramOp, tensors: Mapping[str, ProgramTensor]) -> ProgramOp:
    """`op` with the facts that follow from its kind, parameters and tensors: `macs`, `in_place` and `aliases`."""
    source = tensors[op.operands[0].tensor] if op.operands else None
    macs = TRAITS[op.kind].work.macs(op.params, op.images, source, tensors[op.output])
    return dataclasses.replace(op, macs=macs, in_place=in_place(op, tensors), aliases=aliases(op, tensors))


def in_place(op: ProgramOp, tensors: Mapping[str, ProgramTensor]) -> tuple[int, ...]:
    """Indices of the operands that the output may overwrite."""
    if not TRAITS[op.kind].in_place:
        return ()
    output = tensors[op.output]
    matches = [_is_matched(op, place, tensors[operand.tensor], output) for place, operand in enumerate(op.operands)]
    # A tensor that is read twice must match both times.
    unmatched = {operand.tensor for operand, matched in zip(op.operands, matches, strict=True) if not matched}
    return tuple(place for place, operand in enumerate(op.operands) if operand.tensor not in unmatched)


def _is_matched(op: ProgramOp, place: int, operand: ProgramTensor, output: ProgramTensor) -> bool:
    """Whether element i of the output depends on element i of the operand and on no other."""
    if _owns_memory(operand) or _owns_memory(output) or _shape(operand) != _shape(output):
        return False
    if operand.dtype != output.dtype and not _may_shrink(op.kind, operand.dtype, output.dtype):
        return False
    return all(
        extent == 1 or step == contiguous
        for name, extent, contiguous in zip(_STEPS, _shape(output)[1:], _contiguous_strides(output), strict=True)
        if (steps := getattr(op.params, name, None)) is not None
        for step in (steps[place],)
    )


def _may_shrink(kind: OpKind, source: DType, target: DType) -> bool:
    """Whether a kernel may write elements of another type over its operand: C allows it for bytes only."""
    return target.bytes <= source.bytes and (target is DType.INT8 or TRAITS[kind].bytewise)


def _contiguous_strides(tensor: ProgramTensor) -> tuple[int, int, int]:
    return tensor.width * tensor.channels, tensor.channels, 1


def _owns_memory(tensor: ProgramTensor) -> bool:
    """Whether a tensor may not share memory: a state, an accumulator, a sequential tensor or a constant."""
    return tensor.state or tensor.folded or tensor.sequential or tensor.constant is not None


def _shape(tensor: ProgramTensor) -> tuple[int, int, int, int]:
    return tensor.batch, tensor.height, tensor.width, tensor.channels


def aliases(op: ProgramOp, tensors: Mapping[str, ProgramTensor]) -> tuple[Alias, ...]:
    """Offsets at which operands of a COPY, CONCAT or SELECT may lie in the output, if their bytes are contiguous."""
    output = tensors[op.output]
    if _owns_memory(output):
        return ()
    if isinstance(op.params, ConcatParams):
        return _concat_aliases(op, op.params.axis, output, tensors)
    source = tensors[op.operands[0].tensor]
    if _owns_memory(source):
        return ()
    if op.kind is OpKind.COPY:
        skipped = 0 if source.bytes == output.bytes else op.operands[0].rows.first * source.row_bytes
        fits = source.bytes == output.bytes or source.batch == output.batch == 1
        return (Alias(0, -skipped),) if fits else ()
    if isinstance(op.params, SelectParams):
        return _select_aliases(op.params, source, output)
    return ()


def _are_ones(extents: tuple[int, ...]) -> bool:
    return set(extents) <= {1}


def _concat_aliases(
    op: ProgramOp, axis: int, output: ProgramTensor, tensors: Mapping[str, ProgramTensor]
) -> tuple[Alias, ...]:
    if not _are_ones(_shape(output)[: 1 + axis]):
        return ()
    found, offset = [], 0
    for place, operand in enumerate(op.operands):
        if not _owns_memory(tensors[operand.tensor]):
            found.append(Alias(place, offset))
        offset += tensors[operand.tensor].bytes
    return tuple(found)


def _select_aliases(params: SelectParams, source: ProgramTensor, output: ProgramTensor) -> tuple[Alias, ...]:
    old, new = _shape(source), _shape(output)
    cut = [axis for axis in range(4) if old[axis] != new[axis]]
    if cut[1:] or not _are_ones(old[: cut[0]] if cut else ()):
        return ()
    if not is_slice(params):
        return ()
    axis = cut[0] - 1 if cut else 0
    first = params.first[axis]
    other_firsts = [params.first[other] for other in range(3) if other != axis]
    if axis < 0 or any(other_firsts) or first < 0 or first + new[axis + 1] > old[axis + 1]:
        return ()
    return (Alias(0, -first * source.bytes // old[axis + 1]),)

"""Which operands an operator's output may be written over, and which bytes both have in common.

A kernel that reads an element before it writes the one at the same place, and none of those before it afterwards, may
write over its input. All kernels of IN_PLACE do, over every operand that has an element for each of the output's; a
test runs each of them so.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from tigris_pio.compiler.ir.program import Alias, ProgramOp, ProgramTensor
from tigris_pio.compiler.lower.selection import is_slice
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.format.params import ConcatParams, SelectParams

#: Kinds whose kernels go through their elements, or vectors of them, once and in order.
IN_PLACE = frozenset({
    OpKind.ADD, OpKind.SUB, OpKind.MUL, OpKind.DIVIDE, OpKind.SQUARED_DIFFERENCE, OpKind.EXTREME, OpKind.PRELU,
    OpKind.BINARY, OpKind.WHERE, OpKind.LOOKUP, OpKind.UNARY, OpKind.TRIGONOMETRIC, OpKind.RESCALE, OpKind.LOGISTIC,
    OpKind.SOFTMAX, OpKind.QUANTIZE, OpKind.CAST,
})
#: Those that may also make smaller elements of larger ones, for they write bytes. All others write elements of the
#: operand's type.
_NARROWING = {
    OpKind.QUANTIZE: {(DType.FLOAT32, DType.INT8)},
    OpKind.RESCALE: {(DType.INT16, DType.INT8)},
    OpKind.CAST: {(source, target) for source in DType for target in DType if target.bytes <= source.bytes},
}

_STEPS = ("row_step", "column_step", "channel_step")


def with_sharing(op: ProgramOp, tensors: Mapping[str, ProgramTensor]) -> ProgramOp:
    """`op` with what its output may share with its operands."""
    return dataclasses.replace(op, in_place=in_place(op, tensors), aliases=aliases(op, tensors))


def in_place(op: ProgramOp, tensors: Mapping[str, ProgramTensor]) -> tuple[int, ...]:
    """The operands, by their places, that the output may be written over."""
    if op.kind not in IN_PLACE:
        return ()
    output = tensors[op.output]
    fine = [_is_matched(op, place, tensors[operand.tensor], output) for place, operand in enumerate(op.operands)]
    # An operand that is read twice must be matched both times.
    torn = {operand.tensor for operand, matched in zip(op.operands, fine, strict=True) if not matched}
    return tuple(place for place, operand in enumerate(op.operands) if operand.tensor not in torn)


def _is_matched(op: ProgramOp, place: int, operand: ProgramTensor, output: ProgramTensor) -> bool:
    """Whether element i of the output is made of element i of the operand."""
    if _is_bound(operand) or _is_bound(output) or _shape(operand) != _shape(output):
        return False
    if operand.dtype != output.dtype and (operand.dtype, output.dtype) not in _NARROWING.get(op.kind, ()):
        return False
    return all(
        extent == 1 or step == usual
        for name, extent, usual in zip(_STEPS, _shape(output)[1:], _usual_steps(output), strict=True)
        if (steps := getattr(op.params, name, None)) is not None
        for step in (steps[place],)
    )


def _usual_steps(tensor: ProgramTensor) -> tuple[int, int, int]:
    return tensor.width * tensor.channels, tensor.channels, 1


def _is_bound(tensor: ProgramTensor) -> bool:
    """Whether a tensor's memory is its own: of what stays from run to run, what adds up and what is known before."""
    return tensor.state or tensor.folded or tensor.sequential or tensor.constant is not None


def _shape(tensor: ProgramTensor) -> tuple[int, int, int, int]:
    return tensor.batch, tensor.height, tensor.width, tensor.channels


def aliases(op: ProgramOp, tensors: Mapping[str, ProgramTensor]) -> tuple[Alias, ...]:
    """The bytes that the output of a copy has in common with its operands, where they lie in one piece."""
    output = tensors[op.output]
    if _is_bound(output):
        return ()
    if isinstance(op.params, ConcatParams):
        return _of_concat(op, op.params.axis, output, tensors)
    source = tensors[op.operands[0].tensor]
    if _is_bound(source):
        return ()
    if op.kind is OpKind.COPY:
        skipped = 0 if source.bytes == output.bytes else op.operands[0].rows.first * source.row_bytes
        fits = source.bytes == output.bytes or source.batch == output.batch == 1
        return (Alias(0, -skipped),) if fits else ()
    if isinstance(op.params, SelectParams):
        return _of_selection(op.params, source, output)
    return ()


def _is_one(extents: tuple[int, ...]) -> bool:
    return set(extents) <= {1}


def _of_concat(
    op: ProgramOp, axis: int, output: ProgramTensor, tensors: Mapping[str, ProgramTensor]
) -> tuple[Alias, ...]:
    if not _is_one(_shape(output)[: 1 + axis]):
        return ()
    found, offset = [], 0
    for place, operand in enumerate(op.operands):
        if not _is_bound(tensors[operand.tensor]):
            found.append(Alias(place, offset))
        offset += tensors[operand.tensor].bytes
    return tuple(found)


def _of_selection(params: SelectParams, source: ProgramTensor, output: ProgramTensor) -> tuple[Alias, ...]:
    old, new = _shape(source), _shape(output)
    cut = [axis for axis in range(4) if old[axis] != new[axis]]
    if cut[1:] or not _is_one(old[: cut[0]] if cut else ()):
        return ()
    if not is_slice(params):
        return ()
    axis = cut[0] - 1 if cut else 0
    first = params.first[axis]
    others = [params.first[other] for other in range(3) if other != axis]
    if axis < 0 or any(others) or first < 0 or first + new[axis + 1] > old[axis + 1]:
        return ()
    return (Alias(0, -first * source.bytes // old[axis + 1]),)

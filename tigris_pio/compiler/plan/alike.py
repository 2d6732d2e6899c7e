"""Segments that are alike: what is found of one holds of every other.

Programs of thousands of operators repeat themselves: layers of one size, steps of a recurrence. Two segments are alike
when the same kernels with the same parameters read each other's tensors the same way, these are as large, and the same
of them outlive the segment.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import cached_property

from tigris_pio.compiler.ir.program import ProgramOp, ProgramTensor
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.format.enums import Home


class Alike:
    """Numbers that operators of a program have in common which take as much of everything."""

    def __init__(self, index: ProgramIndex) -> None:
        self._index = index

    @staticmethod
    def of(index: ProgramIndex) -> Alike:
        """Kept with the index."""
        known = index.cache(_Known)
        if None not in known:
            known[None] = Alike(index)
        return known[None]

    @cached_property
    def _numbers(self) -> tuple[int, ...]:
        """By operator, from its kernel, its parameters and the sizes of its tensors."""
        known: dict[Hashable, int] = {}
        tensors = self._index.program.tensors
        found = []
        for op in self._index.ops:
            sizes = tuple(_size(tensors[name]) for name in (op.output, *(each.tensor for each in op.operands)))
            found.append(known.setdefault((_kernel(op), sizes), len(known)))
        return tuple(found)

    def segment(self, segment: Segment, homes: Mapping[str, Home]) -> Hashable:
        """The same of segments that are alike, with the same homes of what they read and leave."""
        index, first, end = self._index, segment.first, segment.end
        inputs, outputs = index.inputs(first, end), index.outputs(first, end)
        place = {name: -1 - at for at, name in enumerate(inputs)}
        read = []
        for at, op in enumerate(index.ops[first:end]):
            read.append(tuple(place[operand.tensor] for operand in op.operands))
            place[op.output] = at
        ends = tuple(name in index.lives and not index.outlives(name, end) for name in inputs)
        left = tuple(place[name] for name in outputs)
        seen = tuple(homes.get(name) for name in (*inputs, *outputs))
        how = segment.banded, segment.keep, segment.direct
        return self._numbers[first:end], tuple(read), ends, left, seen, how


class _Known(dict[None, Alike]):
    """One entry, or none yet."""


def _kernel(op: ProgramOp) -> Hashable:
    """What an operator does, but for the names of its tensors; arrays are told apart by which they are."""
    arrays = tuple(sorted((name, id(array)) for name, array in op.blobs.items()))
    stream = None if op.stream is None else id(op.stream)
    rows = tuple(operand.rows for operand in op.operands)
    return (op.kind, op.dtype, rows, op.params, arrays, stream, op.images, op.macs, op.scratch_bytes, op.in_place,
            op.aliases, op.backend, op.packing)  # fmt: skip


def _size(tensor: ProgramTensor) -> Hashable:
    return (tensor.batch, tensor.height, tensor.width, tensor.channels, tensor.dtype, tensor.constant is None,
            tensor.folded, tensor.state, tensor.sequential, tensor.streamed)  # fmt: skip

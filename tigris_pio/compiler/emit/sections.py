"""Section builders of the plan writer: interned names, parameters and weight blocks."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Sequence
from typing import BinaryIO

import numpy as np

from tigris_pio.compiler.ir.plan import ExecutionPlan, Stage
from tigris_pio.compiler.ir.program import ProgramOp
from tigris_pio.compiler.weights.block import (
    BLOB_ALIGNMENT,
    array_key,
    block_bytes,
    block_layout,
    compressed_block,
    stored_bytes,
    without_known,
    write_array,
    write_block,
)
from tigris_pio.format.enums import WeightMode
from tigris_pio.format.record import Record
from tigris_pio.sizes import round_up


class Strings:
    """Zero-terminated UTF-8 names, each stored once."""

    def __init__(self) -> None:
        self.data = bytearray()
        self._offsets: dict[str, int] = {}

    def add(self, text: str) -> int:
        """The offset of `text` in the section."""
        if text not in self._offsets:
            self._offsets[text] = len(self.data)
            self.data += text.replace("\0", "?").encode() + b"\0"
        return self._offsets[text]


class Params:
    """Kernel parameter records; equal ones are stored once."""

    def __init__(self) -> None:
        self.data = bytearray()
        self._offsets: dict[bytes, int] = {}

    def add(self, record: Record) -> tuple[int, int]:
        """(offset, bytes) of `record` in the section."""
        packed = record.pack()
        if packed not in self._offsets:
            self._offsets[packed] = len(self.data)
            self.data += packed
        return self._offsets[packed], len(packed)


@dataclasses.dataclass(frozen=True)
class Block:
    """Where a stage's weight block lies in the weights section."""

    offset: int
    stored_bytes: int
    raw_bytes: int


class Weights:
    """Constants and weight blocks, each on a 16-byte boundary. Written only when the rest of the plan is known: there
    may be half a gigabyte of them."""

    def __init__(self) -> None:
        self.bytes = 0
        self._parts: list[Callable[[BinaryIO], object]] = []
        self._known: dict[Hashable, tuple[int, int]] = {}  # where arrays begin and end that are read in place

    def add(self, size: int, write: Callable[[BinaryIO], object]) -> int:
        """Appends what `write` will write, `size` bytes; returns its offset in the section."""
        offset = round_up(self.bytes, BLOB_ALIGNMENT)
        padding = bytes(offset - self.bytes)
        self._parts += [lambda out: out.write(padding), write]
        self.bytes = offset + size
        return offset

    def add_constant(self, array: np.ndarray) -> int:
        """Appends an array; returns its offset."""
        return self.add(array.nbytes, lambda out: write_array(out, array))

    def add_block(self, plan: ExecutionPlan, stage: Stage) -> tuple[Block, list[Record]]:
        """A stage's block, compressed if the stage says so, and its operators' params with the data fields set.

        Operators in tiles have their arrays in common. A block that is read in place holds those too that the section
        has already: it reaches from the first of all its arrays to the last, whatever lies between them.
        """
        ops = plan.program.ops[stage.first_op : stage.end_op]
        params: list[Record] = [op.params for op in ops]
        for place, field, offset, _ in block_layout(ops):
            params[place] = dataclasses.replace(params[place], **{field: offset})  # type: ignore[type-var]
        raw_bytes = block_bytes(ops)
        if stage.weight_mode is WeightMode.LZ4:
            stored = compressed_block(ops)
            return Block(self.add(len(stored), lambda out: out.write(stored)), len(stored), raw_bytes), params
        if stage.weight_mode is WeightMode.IN_PLACE:
            return self._add_shared(ops)
        return Block(self.add(raw_bytes, lambda out: write_block(out, ops)), raw_bytes, raw_bytes), params

    def _add_shared(self, ops: Sequence[ProgramOp]) -> tuple[Block, list[Record]]:
        fresh = without_known(ops, self._known)
        size = block_bytes(fresh)
        start = self.add(size, lambda out: write_block(out, fresh))
        for place, field, offset, array in block_layout(fresh):
            end = start + offset + round_up(stored_bytes(ops[place], field), BLOB_ALIGNMENT)
            self._known[array_key(ops[place], field, array)] = start + offset, end
        found = [(place, field, *self._known[array_key(ops[place], field, array)])
                 for place, field, _, array in block_layout(ops)]  # fmt: skip
        first = min((offset for *_, offset, _ in found), default=start)
        params: list[Record] = [op.params for op in ops]
        for place, field, offset, _ in found:
            params[place] = dataclasses.replace(params[place], **{field: offset - first})  # type: ignore[type-var]
        taken = max((end for *_, end in found), default=first) - first
        return Block(first, taken, taken), params

    def write(self, out: BinaryIO) -> None:
        """Writes the section."""
        for part in self._parts:
            part(out)

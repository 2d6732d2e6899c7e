"""All weights and constant operands of a plan: where each lies, once. The plan's file and plain C are written of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Sequence
from typing import BinaryIO

import numpy as np

from tigris_pio.compiler.ir.program import ProgramOp
from tigris_pio.compiler.weights.block import (
    BLOB_ALIGNMENT,
    StoredArray,
    block_arrays,
    block_bytes,
    block_offsets,
    compressed_block,
    constant_key,
    with_offsets,
    write_array,
)
from tigris_pio.format.enums import WeightMode
from tigris_pio.format.record import Record
from tigris_pio.sizes import round_up


@dataclasses.dataclass(frozen=True)
class Block:
    """Where a stage's weight block lies in the section. params: of its operators, with the places of their arrays."""

    offset: int
    stored_bytes: int
    raw_bytes: int
    params: tuple[Record, ...]


@dataclasses.dataclass(frozen=True)
class Part:
    """An array in the section: of operators, a constant operand, or a compressed block."""

    offset: int
    content: StoredArray | np.ndarray

    def array(self) -> np.ndarray:
        """As it is stored."""
        return self.content if isinstance(self.content, np.ndarray) else self.content.packed()


class Weights:
    """Each part is on a boundary of 16 bytes. They are written only when the rest of the plan is known: there may be
    half a gigabyte of them."""

    def __init__(self) -> None:
        self.bytes = 0
        self.parts: list[Part] = []
        self._known: dict[Hashable, tuple[int, int]] = {}  # where arrays begin and end
        self._compressed: dict[Hashable, tuple[int, int]] = {}  # and compressed blocks, with their bytes

    def _add(self, content: StoredArray | np.ndarray, size: int) -> tuple[int, int]:
        """Where `content`, `size` bytes, begins and ends from now on."""
        start = self.bytes
        self.parts.append(Part(start, content))
        self.bytes += round_up(size, BLOB_ALIGNMENT)
        return start, self.bytes

    def add_constant(self, array: np.ndarray) -> int:
        """The offset of a constant operand, which is appended unless it is there."""
        key = constant_key(array)
        if key not in self._known:
            self._known[key] = self._add(array, array.nbytes)
        return self._known[key][0]

    def add_block(self, ops: Sequence[ProgramOp], mode: WeightMode) -> Block:
        """The block of a stage of `ops`.

        A block that is read in place holds arrays, too, that the section has already: it reaches from the first of them
        to the last, whatever lies between. A block that is copied is one that is there if all its arrays lie in turn.
        """
        arrays, offsets = block_arrays(ops), block_offsets(ops)
        if mode is WeightMode.LZ4:
            if (whole := tuple(arrays)) not in self._compressed:
                stored = np.frombuffer(compressed_block(ops), np.uint8)
                self._compressed[whole] = self._add(stored, stored.nbytes)[0], stored.nbytes
            return Block(*self._compressed[whole], block_bytes(ops), tuple(with_offsets(op, offsets) for op in ops))
        is_there = len({self._known.get(key, (-1,))[0] - offset for key, offset in offsets.items()}) == 1
        for key, array in arrays.items():
            if key not in self._known or (mode is WeightMode.COPY and not is_there):
                self._known[key] = self._add(array, array.bytes)
        places = {key: self._known[key] for key in arrays}
        first = min((start for start, _ in places.values()), default=self.bytes)
        taken = max((end for _, end in places.values()), default=first) - first
        offsets = {key: start - first for key, (start, _) in places.items()}
        return Block(first, taken, taken, tuple(with_offsets(op, offsets) for op in ops))

    def write(self, out: BinaryIO) -> None:
        """Writes the section."""
        for part in self.parts:
            array = part.array()
            write_array(out, array)
            out.write(bytes(-array.nbytes % BLOB_ALIGNMENT))

"""The weight section: all weights and constant operands of a plan, each stored once.

The writer of plans and the C generator use it.
"""

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
class PlacedBlock:
    """The place of a stage's weight block in the section. params: of its operators, with the offsets of their arrays"""

    offset: int
    stored_bytes: int
    raw_bytes: int
    params: tuple[Record, ...]


@dataclasses.dataclass(frozen=True)
class SectionPart:
    """An array in the section: of an operator, a constant operand, or a compressed block."""

    offset: int
    content: StoredArray | np.ndarray

    def array(self) -> np.ndarray:
        """The array as it is stored."""
        return self.content if isinstance(self.content, np.ndarray) else self.content.packed()


class WeightSection:
    """The section in the making. Each part is aligned to 16 bytes.

    `write` packs the arrays one by one, because all of them together may take half a gigabyte.
    """

    def __init__(self) -> None:
        self.bytes = 0
        self.parts: list[SectionPart] = []
        self._known: dict[Hashable, tuple[int, int]] = {}  # begin and end of each array
        self._compressed: dict[Hashable, tuple[int, int]] = {}  # begin and bytes of each compressed block

    def _add(self, content: StoredArray | np.ndarray, size: int) -> tuple[int, int]:
        """Appends `content` of `size` bytes; returns its begin and end."""
        start = self.bytes
        self.parts.append(SectionPart(start, content))
        self.bytes += round_up(size, BLOB_ALIGNMENT)
        return start, self.bytes

    def add_constant(self, array: np.ndarray) -> int:
        """Appends a constant operand if the section lacks it; returns its offset."""
        key = constant_key(array)
        if key not in self._known:
            self._known[key] = self._add(array, array.nbytes)
        return self._known[key][0]

    def add_block(self, ops: Sequence[ProgramOp], mode: WeightMode) -> PlacedBlock:
        """Adds the block of a stage of `ops`.

        A block that is read in place reuses arrays of the section: it reaches from its first array to its last, with
        other arrays between them. A block that is copied reuses them only if they are contiguous and in order.
        """
        arrays, offsets = block_arrays(ops), block_offsets(ops)
        if mode is WeightMode.LZ4:
            if (whole := tuple(arrays)) not in self._compressed:
                stored = np.frombuffer(compressed_block(ops), np.uint8)
                self._compressed[whole] = self._add(stored, stored.nbytes)[0], stored.nbytes
            params = tuple(with_offsets(op, offsets) for op in ops)
            return PlacedBlock(*self._compressed[whole], block_bytes(ops), params)
        is_there = len({self._known.get(key, (-1,))[0] - offset for key, offset in offsets.items()}) == 1
        for key, array in arrays.items():
            if key not in self._known or (mode is WeightMode.COPY and not is_there):
                self._known[key] = self._add(array, array.bytes)
        places = {key: self._known[key] for key in arrays}
        first = min((start for start, _ in places.values()), default=self.bytes)
        taken = max((end for _, end in places.values()), default=first) - first
        offsets = {key: start - first for key, (start, _) in places.items()}
        return PlacedBlock(first, taken, taken, tuple(with_offsets(op, offsets) for op in ops))

    def write(self, out: BinaryIO) -> None:
        """Writes the section."""
        for part in self.parts:
            array = part.array()
            write_array(out, array)
            out.write(bytes(-array.nbytes % BLOB_ALIGNMENT))

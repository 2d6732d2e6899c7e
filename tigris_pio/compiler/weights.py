"""A stage's weight block: which array lies where, and its bytes. Planner and emitter share it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import lz4.block
import numpy as np

from tigris_pio.compiler.emit.packing import packed_blobs
from tigris_pio.compiler.ir.program import ProgramOp
from tigris_pio.compiler.memory.request import round_up

BLOB_ALIGNMENT = 16


def block_layout(ops: Sequence[ProgramOp]) -> Iterator[tuple[int, str, int, np.ndarray]]:
    """(operator's place in `ops`, params field, offset in the block, array) of every array, in order."""
    offset = 0
    for place, op in enumerate(ops):
        for field, array in op.blobs.items():
            yield place, field, offset, array
            offset = round_up(offset + array.nbytes, BLOB_ALIGNMENT)


def block_bytes(ops: Sequence[ProgramOp]) -> int:
    """Bytes of the block of `ops`."""
    return sum(round_up(array.nbytes, BLOB_ALIGNMENT) for op in ops for array in op.blobs.values())


def array_bytes(array: np.ndarray) -> bytes:
    """The array as a plan stores it: little-endian, last axis fastest."""
    return array.astype(array.dtype.newbyteorder("<"), order="C").tobytes()


def raw_block(ops: Sequence[ProgramOp]) -> bytes:
    """The block of `ops`, packed for the kernels, not compressed."""
    raw = bytearray()
    packed = [packed_blobs(op.kind, op.dtype, op.params, op.blobs) for op in ops]
    for place, field, offset, _ in block_layout(ops):
        raw += bytes(offset - len(raw)) + array_bytes(packed[place][field])
    return bytes(raw) + bytes(-len(raw) % BLOB_ALIGNMENT)


def compressed_block(ops: Sequence[ProgramOp]) -> bytes:
    """The block of `ops` as one raw LZ4 block."""
    block: bytes = lz4.block.compress(raw_block(ops), mode="high_compression", compression=12, store_size=False)
    return block


def compresses(ops: Sequence[ProgramOp]) -> bool:
    """Whether compression saves flash: a block of trained int8 weights often is as good as random."""
    return len(compressed_block(ops)) < block_bytes(ops)

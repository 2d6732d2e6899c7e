"""A stage's weight block: its arrays, their offsets and bytes. The planner and the writer of plans use it.

Arrays with equal stored bytes are stored once, even if several operators own them.
"""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Hashable, Mapping, Sequence
from typing import BinaryIO

import lz4.block
import numpy as np

from tigris_pio.compiler.ir.arrays import digest, pieces
from tigris_pio.compiler.ir.program import Program, ProgramOp
from tigris_pio.format.enums import Packing
from tigris_pio.format.packing import packed_blobs, packed_bytes, stored_order
from tigris_pio.format.record import Record
from tigris_pio.sizes import round_up

BLOB_ALIGNMENT = 16
#: The least saving, as a share of the block, for which a block is compressed: it then takes fast memory.
WORTH_COMPRESSING = 0.05


@dataclasses.dataclass(frozen=True)
class StoredArray:
    """One of an operator's arrays. key: equal for arrays with equal stored bytes"""

    op: ProgramOp
    field: str
    key: Hashable

    @property
    def bytes(self) -> int:
        """Bytes of the packed array."""
        op, field = self.op, self.field
        if field == "weights" and op.stream is not None:
            return op.stream.nbytes
        return packed_bytes(op.kind, op.params, field, op.blobs[field], op.packing)

    @property
    def padded_bytes(self) -> int:
        """Bytes of the packed array, up to the next array."""
        return round_up(self.bytes, BLOB_ALIGNMENT)

    def packed(self) -> np.ndarray:
        """The array as a plan stores it."""
        op, field = self.op, self.field
        if field == "weights" and op.stream is not None:
            return op.stream
        return packed_blobs(op.kind, op.dtype, op.params, {field: op.blobs[field]}, op.packing)[field]


def stored_array(op: ProgramOp, field: str) -> StoredArray:
    """The array of an operator for a field of its parameters."""
    shape = op.blobs[field].shape
    if field == "weights" and op.stream is not None:  # kind and shape, because the host repacks it for its own kernels
        return StoredArray(op, field, (op.digests["stream"], op.kind, shape))
    if field == "bias" and op.stream is not None:  # it bounds the stream, so it cannot lie before it
        return StoredArray(op, field, (op.digests[field], op.digests["stream"], None))
    order = stored_order(op.kind, op.dtype, op.params, field, shape, op.packing)
    own = op.kind if op.packing is not Packing.PORTABLE else None  # because the host repacks these, too
    return StoredArray(op, field, (op.digests[field], order, None if order is None else own))


def constant_key(array: np.ndarray) -> Hashable:
    """The key of a constant operand."""
    return digest(array), None, None


def block_arrays(ops: Sequence[ProgramOp]) -> dict[Hashable, StoredArray]:
    """The arrays of the block of `ops` by their keys, in stored order."""
    found: dict[Hashable, StoredArray] = {}
    for array in (stored_array(op, field) for op in ops for field in op.blobs):
        found.setdefault(array.key, array)
    return found


def block_offsets(ops: Sequence[ProgramOp]) -> dict[Hashable, int]:
    """The offsets of the arrays in the block of `ops`, by their keys."""
    offset, found = 0, {}
    for key, array in block_arrays(ops).items():
        found[key] = offset
        offset += array.padded_bytes
    return found


def with_offsets(op: ProgramOp, offsets: Mapping[Hashable, int]) -> Record:
    """An operator's parameters with the offsets of its arrays in the block."""
    fields = {field: offsets[stored_array(op, field).key] for field in op.blobs}
    return dataclasses.replace(op.params, **fields)


def block_bytes(ops: Sequence[ProgramOp]) -> int:
    """Bytes of the block of `ops`."""
    return sum(array.padded_bytes for array in block_arrays(ops).values())


def distinct_bytes(program: Program) -> int:
    """Bytes of all distinct arrays and constant operands of a program, uncompressed."""
    arrays = block_arrays(program.ops)
    constants = (tensor.constant for tensor in program.tensors.values() if tensor.constant is not None)
    others = {key: array.nbytes for array in constants if (key := constant_key(array)) not in arrays}
    return block_bytes(program.ops) + sum(round_up(size, BLOB_ALIGNMENT) for size in others.values())


def write_array(out: BinaryIO, array: np.ndarray) -> None:
    """Writes an array in the byte order of plans."""
    for piece in pieces(array):
        out.write(piece)


def compressed_block(ops: Sequence[ProgramOp]) -> bytes:
    """The block of `ops` as one raw LZ4 block."""
    raw = io.BytesIO()
    for array in block_arrays(ops).values():
        write_array(raw, packed := array.packed())
        raw.write(bytes(-packed.nbytes % BLOB_ALIGNMENT))
    block: bytes = lz4.block.compress(raw.getbuffer(), mode="high_compression", compression=12, store_size=False)
    return block


def compression_saves(ops: Sequence[ProgramOp]) -> float:
    """The share of the block's bytes that compression saves; 0 or negative for most trained int8 weights."""
    raw = block_bytes(ops)
    return 1.0 - len(compressed_block(ops)) / raw if raw else 0.0

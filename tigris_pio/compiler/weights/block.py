"""A stage's weight block: which array lies where, and its bytes. Planner and emitter share it.

Arrays that are stored as the same bytes are one, whatever they are called and whose they are.
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
from tigris_pio.compiler.weights.packing import packed_blobs, packed_bytes, stored_order
from tigris_pio.format.enums import Packing
from tigris_pio.format.record import Record
from tigris_pio.sizes import round_up

BLOB_ALIGNMENT = 16
#: A block is stored compressed when that saves this share of it: less is not worth the fast memory that it then takes.
WORTH_COMPRESSING = 0.05


@dataclasses.dataclass(frozen=True)
class StoredArray:
    """One of an operator's arrays. key: the same for what is stored as the same bytes."""

    op: ProgramOp
    field: str
    key: Hashable

    @property
    def bytes(self) -> int:
        """As it is packed."""
        op, field = self.op, self.field
        if field == "weights" and op.stream is not None:
            return op.stream.nbytes
        return packed_bytes(op.kind, op.params, field, op.blobs[field], op.packing)

    @property
    def taken(self) -> int:
        """Bytes up to the next array."""
        return round_up(self.bytes, BLOB_ALIGNMENT)

    def packed(self) -> np.ndarray:
        """The array as a plan stores it."""
        op, field = self.op, self.field
        if field == "weights" and op.stream is not None:
            return op.stream
        return packed_blobs(op.kind, op.dtype, op.params, {field: op.blobs[field]}, op.packing)[field]


def stored_array(op: ProgramOp, field: str) -> StoredArray:
    """One of an operator's arrays."""
    shape = op.blobs[field].shape
    if field == "weights" and op.stream is not None:  # the host has to put it in order for its own kernels
        return StoredArray(op, field, (op.digests["stream"], op.kind, shape))
    order = stored_order(op.kind, op.dtype, op.params, field, shape, op.packing)
    own = op.kind if op.packing is not Packing.PORTABLE else None  # so it has these
    return StoredArray(op, field, (op.digests[field], order, None if order is None else own))


def constant_key(array: np.ndarray) -> Hashable:
    """The key of a constant operand."""
    return digest(array), None, None


def block_arrays(ops: Sequence[ProgramOp]) -> dict[Hashable, StoredArray]:
    """The arrays of the block of `ops` by their keys, in order."""
    found: dict[Hashable, StoredArray] = {}
    for array in (stored_array(op, field) for op in ops for field in op.blobs):
        found.setdefault(array.key, array)
    return found


def block_offsets(ops: Sequence[ProgramOp]) -> dict[Hashable, int]:
    """Where the arrays of the block begin in it, by their keys."""
    offset, found = 0, {}
    for key, array in block_arrays(ops).items():
        found[key] = offset
        offset += array.taken
    return found


def with_offsets(op: ProgramOp, offsets: Mapping[Hashable, int]) -> Record:
    """An operator's parameters with the offsets of its arrays."""
    fields = {field: offsets[stored_array(op, field).key] for field in op.blobs}
    return dataclasses.replace(op.params, **fields)  # type: ignore[type-var]


def block_bytes(ops: Sequence[ProgramOp]) -> int:
    """Bytes of the block of `ops`."""
    return sum(array.taken for array in block_arrays(ops).values())


def distinct_bytes(program: Program) -> int:
    """Bytes of all arrays and constant operands of a program, not compressed."""
    arrays = block_arrays(program.ops)
    constants = (tensor.constant for tensor in program.tensors.values() if tensor.constant is not None)
    others = {key: array.nbytes for array in constants if (key := constant_key(array)) not in arrays}
    return block_bytes(program.ops) + sum(round_up(size, BLOB_ALIGNMENT) for size in others.values())


def write_array(out: BinaryIO, array: np.ndarray) -> None:
    """Writes the array as a plan stores it."""
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
    """The share of the block that compression saves; none or less for trained int8 weights as good as random."""
    raw = block_bytes(ops)
    return 1.0 - len(compressed_block(ops)) / raw if raw else 0.0

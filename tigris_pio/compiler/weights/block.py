"""A stage's weight block: which array lies where, and its bytes. Planner and emitter share it."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Container, Hashable, Iterator, Mapping, Sequence
from typing import BinaryIO

import lz4.block
import numpy as np

from tigris_pio.compiler.ir.program import ProgramOp
from tigris_pio.compiler.weights.packing import packed_blobs, packed_bytes
from tigris_pio.format.enums import Packing
from tigris_pio.sizes import round_up

BLOB_ALIGNMENT = 16
#: Arrays are written in pieces of about this size.
PIECE_BYTES = 1 << 22
#: A block is stored compressed when that saves this share of it: less is not worth the fast memory that it then takes.
WORTH_COMPRESSING = 0.05


def block_layout(ops: Sequence[ProgramOp]) -> Iterator[tuple[int, str, int, np.ndarray]]:
    """(operator's place in `ops`, params field, offset in the block, array) of every array, in order."""
    offset = 0
    for place, op in enumerate(ops):
        for field, array in op.blobs.items():
            yield place, field, offset, array
            offset = round_up(offset + stored_bytes(op, field), BLOB_ALIGNMENT)


def block_bytes(ops: Sequence[ProgramOp]) -> int:
    """Bytes of the block of `ops`."""
    return sum(round_up(stored_bytes(op, field), BLOB_ALIGNMENT) for op in ops for field in op.blobs)


def stored_bytes(op: ProgramOp, field: str) -> int:
    """Bytes of one of an operator's arrays, as it is packed."""
    if field == "weights" and op.stream is not None:
        return op.stream.nbytes
    return packed_bytes(op.kind, op.params, field, op.blobs[field], op.packing)


def array_key(op: ProgramOp, field: str, array: np.ndarray) -> Hashable:
    """What arrays have in common that are one: an operator's tiles have the same object in the same order. What another
    order than the portable one takes is each operator's own, for the host puts it in order where it lies."""
    own = op.name if op.stream is not None or op.packing is not Packing.PORTABLE else ""
    return id(array), field, op.kind, op.dtype, own


def without_known(ops: Sequence[ProgramOp], known: Container[Hashable]) -> list[ProgramOp]:
    """`ops` without the arrays that are known, or that one before them has too."""
    seen: set[Hashable] = set()
    fresh = []
    for op in ops:
        keys = {field: array_key(op, field, array) for field, array in op.blobs.items()}
        own = {name: array for name, array in op.blobs.items() if keys[name] not in known and keys[name] not in seen}
        seen |= set(keys.values())
        fresh.append(op if len(own) == len(op.blobs) else dataclasses.replace(op, blobs=own))
    return fresh


def distinct_bytes(ops: Sequence[ProgramOp]) -> int:
    """Bytes of all arrays of `ops`, each that several have counted once."""
    return block_bytes(without_known(ops, ()))


def _stored(op: ProgramOp) -> Mapping[str, np.ndarray]:
    """An operator's arrays, as they are packed."""
    blobs = op.blobs if op.stream is None else {**op.blobs, "weights": op.stream}
    return packed_blobs(op.kind, op.dtype, op.params, blobs, op.packing)


def write_array(out: BinaryIO, array: np.ndarray) -> None:
    """Writes the array as a plan stores it: little-endian, last axis fastest.

    A view in another order is put in order piece by piece, so that large weights are never copied whole.
    """
    array = np.atleast_1d(array)
    step = max(1, PIECE_BYTES // max(1, array[:1].nbytes))
    for first in range(0, len(array), step):
        out.write(np.ascontiguousarray(array[first : first + step], array.dtype.newbyteorder("<")).data)


def write_block(out: BinaryIO, ops: Sequence[ProgramOp]) -> None:
    """Writes the block of `ops`, packed for the kernels, not compressed."""
    for op in ops:
        for array in _stored(op).values():
            write_array(out, array)
            out.write(bytes(-array.nbytes % BLOB_ALIGNMENT))


def compressed_block(ops: Sequence[ProgramOp]) -> bytes:
    """The block of `ops` as one raw LZ4 block."""
    raw = io.BytesIO()
    write_block(raw, ops)
    block: bytes = lz4.block.compress(raw.getbuffer(), mode="high_compression", compression=12, store_size=False)
    return block


def compression_saves(ops: Sequence[ProgramOp]) -> float:
    """The share of the block that compression saves; none or less for trained int8 weights as good as random."""
    raw = block_bytes(ops)
    return 1.0 - len(compressed_block(ops)) / raw if raw else 0.0

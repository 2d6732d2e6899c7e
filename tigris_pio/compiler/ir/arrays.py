"""Arrays as a plan stores them: little-endian, last axis fastest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np

#: Large arrays are converted in pieces of about this size, so that they are never copied whole.
PIECE_BYTES = 1 << 22
_DIGEST_BYTES = 16


def pieces(array: np.ndarray) -> Iterator[memoryview]:
    """The array's bytes as a plan stores them, in pieces."""
    array = np.atleast_1d(array)
    step = max(1, PIECE_BYTES // max(1, array[:1].nbytes))
    for first in range(0, len(array), step):
        yield np.ascontiguousarray(array[first : first + step], array.dtype.newbyteorder("<")).data.cast("B")


def digest(array: np.ndarray) -> bytes:
    """A hash of the array's bytes: 128 bits of BLAKE2b."""
    found = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    for piece in pieces(array):
        found.update(piece)
    return found.digest()

"""Functions of the C library for interpreted code: executed in Python, counted as if a loop over words did the work."""

from __future__ import annotations

from bench.assembly.memory import Memory

#: Estimated instructions: of a call of memcpy or memset, of each byte, and of counting leading zeros.
COPY, COPY_BYTE, LEADING_ZEROS = 30, 0.5, 20


def copy(memory: Memory, target: int, source: int, size: int) -> int:
    """memcpy; what it is counted as."""
    for i in range(size):
        memory.store(target + i, 1, memory.load(source + i, 1))
    return COPY + int(COPY_BYTE * size)


def fill(memory: Memory, target: int, byte: int, size: int) -> int:
    """memset; what it is counted as."""
    for i in range(size):
        memory.store(target + i, 1, byte)
    return COPY + int(COPY_BYTE * size)

"""Aligned memory for the runtime, between guard zones that show a write outside it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

#: Enough for any plan's arenas (records.Header.alignment) and for the plan itself.
ALIGNMENT = 64
GUARD_BYTES = 64
GUARD_VALUE = 0xA5

ByteArray = npt.NDArray[np.uint8]


class Arena:
    """`bytes` bytes on a multiple of `alignment`, with a guard zone before and behind."""

    def __init__(self, size: int, alignment: int = ALIGNMENT) -> None:
        guard = max(GUARD_BYTES, alignment)
        self._buffer: ByteArray = np.full(size + 2 * guard + alignment, GUARD_VALUE, np.uint8)
        start = guard + -(self._buffer.ctypes.data + guard) % alignment
        self.data: ByteArray = self._buffer[start : start + size]
        self._guards = (self._buffer[:start], self._buffer[start + size :])
        self.data[:] = 0

    @property
    def address(self) -> int | None:
        """Where the arena starts; None when it is empty."""
        return int(self.data.ctypes.data) if self.data.size else None

    def guards_intact(self) -> bool:
        """Nothing was written around the arena."""
        return all(bool((guard == GUARD_VALUE).all()) for guard in self._guards)


def aligned_copy(data: bytes) -> Arena:
    """An arena that holds `data`."""
    arena = Arena(len(data))
    arena.data[:] = np.frombuffer(data, np.uint8)
    return arena

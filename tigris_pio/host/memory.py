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
        self._intact = tuple(guard.tobytes() for guard in self._guards)
        self.data[:] = 0
        #: Where the arena starts; None when it is empty.
        self.address: int | None = int(self.data.ctypes.data) if size else None

    def guards_intact(self) -> bool:
        """Nothing was written around the arena."""
        return self._guards[0].tobytes() == self._intact[0] and self._guards[1].tobytes() == self._intact[1]


def aligned_copy(data: bytes) -> Arena:
    """An arena that holds `data`."""
    arena = Arena(len(data))
    arena.data[:] = np.frombuffer(data, np.uint8)
    return arena

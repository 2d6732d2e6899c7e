"""Aligned memory for the runtime, with guard zones that reveal writes outside it."""

import numpy as np
import numpy.typing as npt

#: Bytes; enough for any plan and its arenas (records.Header.alignment).
ALIGNMENT = 64
GUARD_BYTES = 64
GUARD_VALUE = 0xA5

ByteArray = npt.NDArray[np.uint8]


class Arena:
    """`bytes` bytes at a multiple of `alignment`, with a guard zone before and behind."""

    def __init__(self, size: int, alignment: int = ALIGNMENT) -> None:
        guard = max(GUARD_BYTES, alignment)
        self._buffer: ByteArray = np.full(size + 2 * guard + alignment, GUARD_VALUE, np.uint8)
        start = guard + -(self._buffer.ctypes.data + guard) % alignment
        self.data: ByteArray = self._buffer[start : start + size]
        self._guards = (self._buffer[:start], self._buffer[start + size :])
        self._intact = tuple(guard.tobytes() for guard in self._guards)
        self.data[:] = 0
        #: Address of the arena; None if it is empty.
        self.address: int | None = int(self.data.ctypes.data) if size else None

    def guards_intact(self) -> bool:
        """Whether the guard zones are unchanged."""
        return self._guards[0].tobytes() == self._intact[0] and self._guards[1].tobytes() == self._intact[1]


def aligned_copy(data: bytes) -> Arena:
    """Makes an arena with the bytes of `data`."""
    arena = Arena(len(data))
    arena.data[:] = np.frombuffer(data, np.uint8)
    return arena

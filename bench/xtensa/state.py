"""The registers of a machine."""

from __future__ import annotations

from collections.abc import Callable

from bench.xtensa.memory import Memory

STACK_BYTES = 4096
#: Runs one instruction; answers the index of the next, or None for the one behind it.
Step = Callable[[], "int | None"]


class Accumulators:
    """QACC_L and QACC_H: 320 bits as 16 lanes of 20 bits or as 8 of 40, by the instruction that looks at them."""

    def __init__(self) -> None:
        self._width = 40
        self._lanes = [0] * 8

    def lanes(self, width: int) -> list[int]:
        """The lanes, signed, to be changed in place within `width` bits."""
        if width != self._width:
            self.set_bits(self.bits(), width)
        return self._lanes

    def bits(self) -> int:
        """All as one unsigned number, QACC_L lowest."""
        mask = (1 << self._width) - 1
        return sum((lane & mask) << (self._width * i) for i, lane in enumerate(self._lanes))

    def set_bits(self, bits: int, width: int = 40) -> None:
        """The contrary of `bits`."""
        self._width = width
        self._lanes = [signed(bits >> (width * i), width) for i in range(320 // width)]


class State:
    """Registers. The list of address registers stays the same object: instructions keep it."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.a = [0] * 16
        self.frames: list[tuple[list[int], int]] = []
        self.shift = 0  # SAR
        self.loop_begin = self.loop_end = -1
        self.loop_count = 0
        self.q = [bytes(16)] * 8
        self.byte_shift = 0  # SAR_BYTE
        self.accx = 0
        self.qacc = Accumulators()


def signed(value: int, bits: int) -> int:
    """The low bits of `value` as a number in two's complement."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value

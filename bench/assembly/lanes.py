"""Vectors of 128 bits as lanes, and accumulators of as many lanes."""

import struct
from typing import Any

#: struct's letter of a lane: 8, 16, 32 bits, signed and unsigned.
LANES = {"s8": "16b", "u8": "16B", "s16": "8h", "u16": "8H", "s32": "4i", "u32": "4I"}
BITS = {"s8": 8, "u8": 8, "s16": 16, "u16": 16, "s32": 32, "u32": 32}


def signed(value: int, bits: int) -> int:
    """The low bits of `value` as a number in two's complement."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def lanes(register: bytes, kind: str) -> tuple[int, ...]:
    """The lanes of a vector, from the lowest bits."""
    return struct.unpack("<" + LANES[kind], register)


def packed(values: Any, kind: str) -> bytes:
    """A vector of lanes; each takes the low bits of its number."""
    bits = BITS[kind]
    if kind[0] == "s":
        return struct.pack("<" + LANES[kind], *(signed(value, bits) for value in values))
    return struct.pack("<" + LANES[kind], *(value & ((1 << bits) - 1) for value in values))


def saturated(value: int, bits: int) -> int:
    top = 1 << (bits - 1)
    return -top if value < -top else top - 1 if value >= top else value


def funnel(low: bytes, high: bytes, by: int) -> bytes:
    """16 bytes from `by` on of both."""
    return (low + high)[by : by + 16]


class Accumulators:
    """QACC: `size` bits as so many lanes of a width, by the instruction that looks at them."""

    def __init__(self, size: int, width: int) -> None:
        self._size = size
        self._width = width
        self._lanes = [0] * (size // width)

    def lanes(self, width: int) -> list[int]:
        """The lanes, signed, to be changed in place within `width` bits."""
        if width != self._width:
            self.set_bits(self.bits(), width)
        return self._lanes

    def bits(self) -> int:
        """All as one unsigned number, QACC_L lowest."""
        mask = (1 << self._width) - 1
        return sum((lane & mask) << (self._width * i) for i, lane in enumerate(self._lanes))

    def set_bits(self, bits: int, width: int | None = None) -> None:
        """The contrary of `bits`."""
        self._width = self._width if width is None else width
        self._lanes = [signed(bits >> (self._width * i), self._width) for i in range(self._size // self._width)]

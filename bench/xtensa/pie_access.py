"""What the vector instructions share: lanes, and loads and stores that ride along with arithmetic."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from bench.xtensa.base import WORD, Operands, in_range
from bench.xtensa.state import State, Step, signed

#: struct's letter of a lane: 8, 16, 32 bits, signed and unsigned.
LANES = {"s8": "16b", "u8": "16B", "s16": "8h", "u16": "8H", "s32": "4i", "u32": "4I"}
BITS = {"s8": 8, "u8": 8, "s16": 16, "u16": 16, "s32": 32, "u32": 32}


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


def ride(state: State, given: Operands, suffix: str) -> Callable[[], None] | None:
    """The access that rides along: operands 0, 1 (and 2) of a name that ends in `suffix`. What is stored is read first,
    what is loaded is written when called."""
    if not suffix:
        return None
    a, q, memory, u, s = state.a, state.q, state.memory, given.vector(0), given.address(1)
    if suffix in ("ld.ip", "ld.incp", "st.incp"):
        advance = in_range(given.number(2), -512, 496, 16) if suffix == "ld.ip" else 16
        register = None
    else:
        advance, register = 0, given.address(2)

    def load() -> None:
        q[u] = memory.block(a[s] & ~15)
        a[s] = (a[s] + (advance if register is None else a[register])) & WORD

    def store() -> None:
        memory.store_block(a[s] & ~15, q[u])
        a[s] = (a[s] + (advance if register is None else a[register])) & WORD

    return store if suffix == "st.incp" else load


def behind(suffix: str) -> int:
    """How many operands the access takes."""
    return {"": 0, "ld.incp": 2, "st.incp": 2, "ldbc.incp": 2}.get(suffix, 3)


def broadcast(state: State, given: Operands, kind: str, advance: Callable[[], int] | None = None) -> Step:
    """qu = one number from memory in all lanes."""
    a, q, memory, u, s = state.a, state.q, state.memory, given.vector(0), given.address(1)
    size = BITS[kind] // 8
    step_of = size if advance is None else 0

    def step() -> None:
        q[u] = memory.block(a[s] & ~(size - 1), size) * (16 // size)
        a[s] = (a[s] + (step_of if advance is None else advance())) & WORD

    return step


def funnel(low: bytes, high: bytes, by: int) -> bytes:
    """16 bytes from `by` on of both."""
    return (low + high)[by : by + 16]

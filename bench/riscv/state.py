"""The registers of a machine."""

from __future__ import annotations

from bench.assembly.lanes import Accumulators
from bench.assembly.memory import Memory

STACK_BYTES = 16384
#: Bits of CFG: loads and stores of vectors take any address. Without, addresses are rounded down.
ANY_LOAD, ANY_STORE = 2, 1
#: x0's writes go to a place behind the registers.
NOWHERE = 32


class State:
    """Registers. The lists stay the same objects: instructions keep them."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.x = [0] * (NOWHERE + 1)
        self.f = [0] * 32  # as their bits
        self.reserved: int | None = None
        self.loops = [0, 0]  # passes that are left
        self.enabled = False  # the vector unit
        self.q = [bytes(16)] * 8
        self.cfg = 0
        self.shift = 0  # SAR
        self.byte_shift = 0  # SAR_BYTE
        self.xacc = 0
        self.qacc = Accumulators(512, 32)  # as 16 lanes of 32 bits or as 8 of 64
        self.outside = 0  # what functions outside of the program are counted as

"""The registers of a machine."""

from __future__ import annotations

from bench.assembly.lanes import Accumulators
from bench.assembly.memory import Memory

STACK_BYTES = 4096


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
        self.qacc = Accumulators(320, 40)  # as 16 lanes of 20 bits or as 8 of 40

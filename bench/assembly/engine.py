"""The loop of both machines: each instruction becomes a Python function once, which is then run and counted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter

from bench.assembly.memory import Memory
from bench.assembly.program import Instruction, Program, Step

END = -1


class RunError(RuntimeError):
    """An instruction that cannot be run."""


class Engine(ABC):
    """A machine whose `memory` the caller fills."""

    def __init__(self, program: Program, memory: Memory | None) -> None:
        self.program = program
        self.memory = memory if memory is not None else Memory()
        self.executed = 0
        self._steps: list[Step | None] = [None] * len(program.code)
        self._counts = [0] * len(program.code)

    def run_one(self, at: int = 0) -> int | None:
        """Runs one instruction on the registers as they are; answers the index of the next where that is not the one
        behind it."""
        return self._step(at)()

    def histogram(self) -> Counter[str]:
        """Instructions of the last call by name."""
        total: Counter[str] = Counter()
        for one, count in zip(self.program.code, self._counts, strict=True):
            if count:
                total[one.name] += count
        return total

    def _run(self, at: int, most: int) -> None:
        """From an instruction until END."""
        steps, counts = self._steps, self._counts
        left = most
        while at != END:
            step = steps[at]
            if step is None:
                step = steps[at] = self._step(at)
            counts[at] += 1
            target = step()
            at = at + 1 if target is None else target
            left -= 1
            if left < 0:
                raise RunError(f"still running after {most} instructions")

    @abstractmethod
    def _build(self, one: Instruction, at: int) -> Step | None:
        """The function that runs an instruction, or None if it is unknown."""

    def _step(self, at: int) -> Step:
        one = self.program.code[at]
        try:
            step = self._build(one, at)
        except (IndexError, ValueError, KeyError) as error:
            raise RunError(f"{one.where}: {one.name} {', '.join(one.operands)}: {error}") from error
        if step is None:
            raise RunError(f"{one.where}: {one.name} is not known")
        return step


def in_range(value: int, low: int, high: int, step: int = 1) -> int:
    """A constant that an encoding can hold."""
    if not low <= value <= high or value % step:
        raise ValueError(f"{value} is not in {low} … {high} by {step}")
    return value

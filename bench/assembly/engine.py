"""What both machines share: registers, operands, and the loop that makes a Python function of each instruction once,
runs it and counts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from bench.assembly.lanes import Accumulators
from bench.assembly.memory import Memory
from bench.assembly.program import AssemblyError, Instruction, Program, Step

END = -1
WORD = 0xFFFFFFFF
#: The content of a register that nobody set: found at once where a result depends on it.
UNSET = 0xDEADBEEF


class RunError(RuntimeError):
    """An instruction that cannot be run."""


class State:
    """Registers. The lists stay the same objects: instructions keep them."""

    def __init__(self, memory: Memory, registers: int, sums: Accumulators) -> None:
        self.memory = memory
        self.a = [0] * registers
        self.q = [bytes(16)] * 8
        self.shift = 0  # SAR
        self.byte_shift = 0  # SAR_BYTE
        self.accx = 0
        self.qacc = sums

    def load(self, address: int, size: int = 16) -> bytes:
        """A vector or part of one."""
        return self.memory.block(address & ~(size - 1), size)

    def store(self, address: int, content: bytes) -> None:
        """Stores a vector or part of one."""
        self.memory.store_block(address & ~(len(content) - 1), content)


#: Stands for a function that the program calls and does not have.
Function = Callable[[Any], None]


class Operands(ABC):
    """An instruction's operands, as what its builder asks for. `next`: the index of the instruction behind it."""

    def __init__(self, machine: Engine, one: Instruction, at: int) -> None:
        self._machine = machine
        self._one = one
        self.name = one.name
        self.next = at + 1

    def __len__(self) -> int:
        return len(self._one.operands)

    def text(self, i: int) -> str:
        return self._one.operands[i]

    def vector(self, i: int) -> int:
        """The number of a vector register."""
        return self._register(i, "q", 8)

    def target(self, i: int) -> int:
        """The index of the instruction behind a label."""
        return self._machine.program.labels[self.text(i)]

    def function(self, i: int) -> int | Function:
        """The called function: the index of its first instruction, or its Python stand-in."""
        name = self.text(i).removesuffix("@plt")
        found = self._machine.program.labels.get(name)
        return found if found is not None else self._machine.externals[name]

    @abstractmethod
    def source(self, i: int) -> int:
        """The number of a register that is read."""

    @abstractmethod
    def result(self, i: int) -> int:
        """The number of a register that is written."""

    @abstractmethod
    def address(self, i: int) -> int:
        """The number of a register that a vector instruction reads or writes."""

    @abstractmethod
    def number(self, i: int) -> int:
        """A constant."""

    @abstractmethod
    def place(self, i: int, highest: int) -> tuple[int, int]:
        """Offset and register of an access; `highest`: of its offsets."""

    def _register(self, i: int, letter: str, count: int) -> int:
        text = self.text(i)
        if text[:1] != letter or not text[1:].isdigit() or int(text[1:]) >= count:
            raise ValueError(f"{text} is no register {letter}0 … {letter}{count - 1}")
        return int(text[1:])


#: Makes, of an instruction's operands, the function that runs it. The state is the machine's own.
Builder = Callable[[Any, Any], Step]


class Engine(ABC):
    """A machine whose `memory` the caller fills; a stack is added to it. `externals`: functions that the program calls
    and does not have, by name; each takes the machine's state."""

    state: Any

    def __init__(self, program: Program, memory: Memory | None, stack: int,
                 externals: Mapping[str, Function] | None) -> None:  # fmt: skip
        self.program = program
        self.memory = memory if memory is not None else Memory()
        self.externals = dict(externals or {})
        self.executed = 0
        self._steps: list[Step | None] = [None] * len(program.code)
        self._counts = [0] * len(program.code)
        self._stack_top = self.memory.add("stack", stack, writable=True) + stack

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

    def _place(self, arguments: Mapping[int, int] | list[int], first: int, most: int) -> int:
        """Puts a call's arguments in registers from `first` on, at most so many, and on the stack. Returns its
        pointer."""
        stack = self._stack_top - 16 - 4 * len(arguments)
        stack -= stack % 16
        for i, argument in enumerate(arguments):
            if i < most:
                self.state.a[first + i] = argument & WORD
            else:
                self.memory.store(stack + 4 * (i - most), 4, argument)
        return stack

    def _run_function(self, name: str, most: int) -> None:
        """From its first instruction until END."""
        if name not in self.program.labels:
            raise AssemblyError(f"there is no {name}")
        steps, counts = self._steps, [0] * len(self.program.code)
        self._counts, left, at = counts, most, self.program.labels[name]
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

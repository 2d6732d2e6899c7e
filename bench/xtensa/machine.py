"""The processor: registers with windows, zero-overhead loops, and the loop that runs instructions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bench.assembly.engine import END, Engine, RunError
from bench.assembly.memory import Memory
from bench.assembly.program import AssemblyError, Instruction, Program, Step
from bench.assembly.source import value
from bench.xtensa import base, pie
from bench.xtensa.state import STACK_BYTES, State


class Machine(Engine):
    """`memory` is the caller's to fill; a stack is added to it. `externals`: functions that the program calls and does
    not have, by name; each takes the machine's state, whose a10 and up are the arguments and a10 the result.
    """

    def __init__(self, program: Program, memory: Memory | None = None,
                 externals: Mapping[str, Callable[[State], None]] | None = None) -> None:  # fmt: skip
        super().__init__(program, memory)
        self.state = State(self.memory)
        self.externals = dict(externals or {})
        self._stack_top = self.memory.add("stack", STACK_BYTES, writable=True) + STACK_BYTES

    def call(self, name: str, arguments: Sequence[int], most: int = 50_000_000) -> int:
        """The function's result, unsigned; `executed` and `histogram` are those of this call."""
        state = self.state
        state.a[:] = [base.UNSET] * 16
        state.frames.clear()
        state.loop_count = 0
        stack = self._stack_top - 16 - 4 * len(arguments)
        stack -= stack % 16
        for i, argument in enumerate(arguments):
            if i < 6:
                state.a[2 + i] = argument & 0xFFFFFFFF
            else:
                self.memory.store(stack + 4 * (i - 6), 4, argument)
        state.a[1] = stack
        if name not in self.program.labels:
            raise AssemblyError(f"there is no {name}")
        self._counts = [0] * len(self.program.code)
        self._run(self.program.labels[name], most)
        self.executed = sum(self._counts)
        return state.a[2]

    def _run(self, at: int, most: int) -> None:
        state, steps, counts = self.state, self._steps, self._counts
        left = most
        while at != END:
            step = steps[at]
            if step is None:
                step = steps[at] = self._step(at)
            counts[at] += 1
            target = step()
            if target is None:
                at += 1
                if at == state.loop_end and state.loop_count:
                    state.loop_count -= 1
                    at = state.loop_begin
            else:
                at = target
            left -= 1
            if left < 0:
                raise RunError(f"still running after {most} instructions")

    def _build(self, one: Instruction, at: int) -> Step | None:
        build = base.BUILDERS.get(one.name) or pie.BUILDERS.get(one.name)
        return build(self.state, Operands(self, one, at)) if build is not None else None


class Operands:
    """An instruction's operands, as what its builder asks for."""

    def __init__(self, machine: Machine, one: Instruction, at: int) -> None:
        self._machine = machine
        self._one = one
        self.name = one.name
        self.next = at + 1

    def __len__(self) -> int:
        return len(self._one.operands)

    def address(self, i: int) -> int:
        """The number of an address register."""
        text = self._one.operands[i]
        return 1 if text == "sp" else self._register(text, "a", 16)

    def vector(self, i: int) -> int:
        """The number of a vector register."""
        return self._register(self._one.operands[i], "q", 8)

    def number(self, i: int) -> int:
        """A constant."""
        text = self._one.operands[i]
        constants = self._machine.program.constants
        return constants[text] if text in constants else value(text, constants)

    def target(self, i: int) -> int:
        """The index of the instruction behind a label."""
        return self._machine.program.labels[self._one.operands[i]]

    def function(self, i: int) -> int | Callable[[State], None]:
        """The called function: the index of its first instruction, or its Python stand-in."""
        text = self._one.operands[i]
        found = self._machine.program.labels.get(text)
        return found if found is not None else self._machine.externals[text]

    def _register(self, text: str, letter: str, count: int) -> int:
        if text[:1] != letter or not text[1:].isdigit() or int(text[1:]) >= count:
            raise ValueError(f"{text} is no register {letter}0 … {letter}{count - 1}")
        return int(text[1:])

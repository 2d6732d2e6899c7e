"""The processor: its calls, and the ends of hardware loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.assembly import c_library
from bench.assembly.engine import Engine, RunError
from bench.assembly.memory import Memory
from bench.assembly.program import AssemblyError, Instruction, Program, Step
from bench.riscv import base, floats, pie
from bench.riscv.operands import CODE, OUTSIDE, WORD, Function, Operands
from bench.riscv.state import STACK_BYTES, State

#: What nobody set: found at once where a result depends on it.
UNSET = 0xDEADBEEF
SP, A0 = 2, 10
LOOPS = ("esp.lp.setup", "esp.lp.setupi")


class Machine(Engine):
    """`memory` is the caller's to fill; the program's data and a stack are added to it. `externals`: functions that the
    program calls and does not have, by name; each takes the machine's state, whose a0 and up are the arguments and a0
    the result."""

    def __init__(self, program: Program, memory: Memory | None = None,
                 externals: Mapping[str, Function] | None = None) -> None:  # fmt: skip
        super().__init__(program, memory)
        self.state = State(self.memory)
        self.externals = {**LIBRARY, **(externals or {})}
        self.addresses = {name: CODE + 4 * index for name, index in program.labels.items()}
        self._stack_top = self.memory.add("stack", STACK_BYTES, writable=True) + STACK_BYTES
        self._place_data()
        self._ends = self._loop_ends()

    def call(self, name: str, arguments: Sequence[int], most: int = 50_000_000) -> int:
        """The function's result, unsigned; `executed` and `histogram` are those of this call. What is not a register,
        and the vector unit's, stays as a call before left it."""
        state = self.state
        state.x[1:] = [UNSET] * (len(state.x) - 1)
        stack = self._stack_top - 16 - 4 * len(arguments)
        stack -= stack % 16
        for i, argument in enumerate(arguments):
            if i < 8:
                state.x[A0 + i] = argument & WORD
            else:
                self.memory.store(stack + 4 * (i - 8), 4, argument)
        state.x[base.RA], state.x[SP] = OUTSIDE, stack
        if name not in self.program.labels:
            raise AssemblyError(f"there is no {name}")
        self._counts = [0] * len(self.program.code)
        state.outside = 0
        self._run(self.program.labels[name], most)
        self.executed = state.outside + sum(
            count * _instructions(one) for one, count in zip(self.program.code, self._counts, strict=True) if count
        )
        return state.x[A0]

    def _build(self, one: Instruction, at: int) -> Step | None:
        build = base.BUILDERS.get(one.name) or floats.BUILDERS.get(one.name)
        if build is None and (build := pie.BUILDERS.get(one.name)) is not None and not self.state.enabled:
            # Seen when an instruction is first run: nothing turns the unit off between.
            raise RunError(f"{one.where}: {one.name}: the vector unit is off")
        if build is None:
            return None
        step = build(self.state, Operands(self, one, at))
        return self._ended(step, self._ends[at]) if at in self._ends else step

    def _ended(self, step: Step, loops: Sequence[tuple[int, int]]) -> Step:
        """The last instruction of `loops`: numbers and first instructions."""
        left = self.state.loops

        def last() -> int | None:
            target = step()
            if target is not None:
                return target
            for number, begin in loops:
                if left[number]:
                    left[number] -= 1
                    return begin
            return None

        return last

    def _loop_ends(self) -> dict[int, list[tuple[int, int]]]:
        found: dict[int, list[tuple[int, int]]] = {}
        for at, one in enumerate(self.program.code):
            if one.name in LOOPS and len(one.operands) == 3 and one.operands[2] in self.program.labels:
                end = self.program.labels[one.operands[2]]
                found.setdefault(end, []).append((int(one.operands[0]), at + 1))
        return {end: sorted(loops) for end, loops in found.items()}

    def _place_data(self) -> None:
        places = []
        for data in self.program.data:
            start = self.memory.add(f"data of {data.file}", data.content, writable=True)
            self.addresses.update({name: start + at for name, at in data.labels.items()})
            places.append((start, data))
        for start, data in places:
            for at, text in data.words:
                word = Operands(self, Instruction(".word", (text,), f"{data.file}:0"), 0).number(0) & WORD
                self.memory.bytes[start + at : start + at + 4] = word.to_bytes(4, "little")


def _instructions(one: Instruction) -> int:
    """The number of instructions behind a pseudo-instruction; calls reach their function with one."""
    if one.name in ("la", "lla"):
        return 2
    if one.name == "li" and one.operands[1].lstrip("-")[:1].isdigit():
        number = int(one.operands[1], 0)
        return 2 if not -2048 <= number < 2048 and number & 0xFFF else 1
    return 1


def _memcpy(state: State) -> None:
    target, source, size = state.x[A0 : A0 + 3]
    state.outside += c_library.copy(state.memory, target, source, size)


def _memset(state: State) -> None:
    target, byte, size = state.x[A0 : A0 + 3]
    state.outside += c_library.fill(state.memory, target, byte, size)


def _leading_zeros(state: State) -> None:
    state.x[A0] = 32 - state.x[A0].bit_length()
    state.outside += c_library.LEADING_ZEROS


LIBRARY: dict[str, Function] = {"memcpy": _memcpy, "memset": _memset, "__clzsi2": _leading_zeros}

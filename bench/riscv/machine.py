"""The processor and its calls."""

from collections.abc import Mapping, Sequence

from bench.assembly.engine import UNSET, WORD, Engine, Function, RunError
from bench.assembly.memory import Memory
from bench.assembly.program import Instruction, Program, Step
from bench.riscv import base, pie

STACK_BYTES = 16384
SP, A0 = 2, 10
#: Estimated instructions: of a call of memcpy or memset, of each byte, and of counting leading zeros.
COPY, COPY_BYTE, LEADING_ZEROS = 30, 0.5, 20


class Machine(Engine):
    """The program's data is added to memory, too. The arguments of `externals` are in a0 and up, and the result in
    a0."""

    def __init__(self, program: Program, memory: Memory | None = None,
                 externals: Mapping[str, Function] | None = None) -> None:  # fmt: skip
        super().__init__(program, memory, STACK_BYTES, {**LIBRARY, **(externals or {})})
        self.state = base.State(self.memory)
        self.addresses = {name: base.CODE + 4 * index for name, index in program.labels.items()}
        self._place_data()

    def call(self, name: str, arguments: Sequence[int], most: int = 50_000_000) -> int:
        """The function's result, unsigned; `executed` and `histogram` are those of this call. What is not a register,
        and the vector unit's, stays as a call before left it."""
        state = self.state
        state.a[1:] = [UNSET] * (len(state.a) - 1)
        state.a[base.RA], state.a[SP] = base.OUTSIDE, self._place(arguments, A0, 8)
        state.outside = 0
        self._run_function(name, most)
        self.executed = state.outside + sum(
            count * _instructions(one) for one, count in zip(self.program.code, self._counts, strict=True) if count
        )
        return state.a[A0]

    def _build(self, one: Instruction, at: int) -> Step | None:
        build = base.BUILDERS.get(one.name)
        if build is None and (build := pie.BUILDERS.get(one.name)) is not None and not self.state.enabled:
            # Seen when an instruction is first run: nothing turns the unit off between.
            raise RunError(f"{one.where}: {one.name}: the vector unit is off")
        return None if build is None else build(self.state, base.Operands(self, one, at))

    def _place_data(self) -> None:
        places = []
        for data in self.program.data:
            start = self.memory.add(f"data of {data.file}", data.content, writable=True)
            self.addresses.update({name: start + at for name, at in data.labels.items()})
            places.append((start, data))
        for start, data in places:
            for at, text in data.words:
                word = base.Operands(self, Instruction(".word", (text,), f"{data.file}:0"), 0).number(0) & WORD
                self.memory.bytes[start + at : start + at + 4] = word.to_bytes(4, "little")


def _instructions(one: Instruction) -> int:
    """The number of instructions behind a pseudo-instruction; calls reach their function with one."""
    if one.name in ("la", "lla"):
        return 2
    if one.name == "li" and one.operands[1].lstrip("-")[:1].isdigit():
        number = int(one.operands[1], 0)
        return 2 if not -2048 <= number < 2048 and number & 0xFFF else 1
    return 1


def _memcpy(state: base.State) -> None:
    """Executed in Python, counted as if a loop over words did the work."""
    target, source, size = state.a[A0 : A0 + 3]
    for i in range(size):
        state.memory.store(target + i, 1, state.memory.load(source + i, 1))
    state.outside += COPY + int(COPY_BYTE * size)


def _memset(state: base.State) -> None:
    target, byte, size = state.a[A0 : A0 + 3]
    for i in range(size):
        state.memory.store(target + i, 1, byte)
    state.outside += COPY + int(COPY_BYTE * size)


def _leading_zeros(state: base.State) -> None:
    state.a[A0] = 32 - state.a[A0].bit_length()
    state.outside += LEADING_ZEROS


LIBRARY: dict[str, Function] = {"memcpy": _memcpy, "memset": _memset, "__clzsi2": _leading_zeros}

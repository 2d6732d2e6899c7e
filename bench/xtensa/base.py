"""Xtensa's own instructions, of the ESP32-S3's configuration (LX7 with windows, loops, MUL32, divide, min and max).

Semantics after Cadence's "Xtensa Instruction Set Architecture Reference Manual", in Python's numbers. Each entry makes,
of an instruction's operands, the function that runs it; operands out of the range of the encoding are refused.
"""

from collections.abc import Callable

from bench.assembly import engine, scalar
from bench.assembly.engine import END, UNSET, WORD, Builder, in_range
from bench.assembly.lanes import Accumulators, signed
from bench.assembly.memory import Memory
from bench.assembly.program import Step
from bench.assembly.scalar import load, of_one, of_two, store, with_number
from bench.assembly.scalar import s32 as _s
from bench.assembly.source import value

#: What the compare-with-constant branches can hold (B4CONST), and 0: the assembler takes beqz and its
#: like.
BRANCH_CONSTANTS = (-1, *range(9), 10, 12, 16, 32, 64, 128, 256)


class State(engine.State):
    """The processor's registers."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory, 16, Accumulators(320, 40))  # as 16 lanes of 20 bits or as 8 of 40
        self.frames: list[tuple[list[int], int]] = []
        self.loop_begin = self.loop_end = -1
        self.loop_count = 0


class Operands(engine.Operands):
    """As the processor's assembler writes them."""

    def address(self, i: int) -> int:
        return 1 if self.text(i) == "sp" else self._register(i, "a", 16)

    source = result = address

    def number(self, i: int) -> int:
        constants = self._machine.program.constants
        return constants[self.text(i)] if self.text(i) in constants else value(self.text(i), constants)

    def place(self, i: int, highest: int) -> tuple[int, int]:
        return in_range(self.number(i + 1), 0, highest), self.address(i)


def _move_if(test: Callable[[int], bool]) -> Builder:
    def build(state: State, given: Operands) -> Step:
        a, d, s, t = state.a, given.address(0), given.address(1), given.address(2)

        def step() -> None:
            if test(a[t]):
                a[d] = a[s]

        return step

    return build


def _extui(state: State, given: Operands) -> Step:
    a, d, s = state.a, given.address(0), given.address(1)
    right, mask = in_range(given.number(2), 0, 31), (1 << in_range(given.number(3), 1, 16)) - 1

    def step() -> None:
        a[d] = a[s] >> right & mask

    return step


def _shift(function: Callable[[int, int], int]) -> Builder:
    """ar = function(as, SAR)."""

    def build(state: State, given: Operands) -> Step:
        a, d, s = state.a, given.address(0), given.address(1)

        def step() -> None:
            a[d] = function(a[s], state.shift) & WORD

        return step

    return build


def _funnel(state: State, given: Operands) -> Step:
    a, d, s, t = state.a, given.address(0), given.address(1), given.address(2)

    def step() -> None:
        a[d] = ((a[s] << 32 | a[t]) >> state.shift) & WORD

    return step


def _set_shift(function: Callable[[int], int]) -> Builder:
    def build(state: State, given: Operands) -> Step:
        a, s = state.a, given.address(0)

        def step() -> None:
            state.shift = function(a[s])

        return step

    return build


def _ssai(state: State, given: Operands) -> Step:
    number = in_range(given.number(0), 0, 31)

    def step() -> None:
        state.shift = number

    return step


def _branch_number(test: Callable[[int, int], bool], allowed: tuple[int, ...]) -> Builder:
    """Compares a register with a constant."""

    def build(state: State, given: Operands) -> Step:
        a, s, number, target = state.a, given.address(0), given.number(1), given.target(2)
        if number not in allowed:
            raise ValueError(f"{number} is not among {allowed}")
        return lambda: target if test(a[s], number) else None

    return build


def _branch_bit(wanted: int) -> Builder:
    def build(state: State, given: Operands) -> Step:
        a, s, bit, target = state.a, given.address(0), in_range(given.number(1), 0, 31), given.target(2)
        return lambda: target if a[s] >> bit & 1 == wanted else None

    return build


def _loop(passes: Callable[[int], bool]) -> Builder:
    """LCOUNT = as - 1; a loop whose count does not pass is left out."""

    def build(state: State, given: Operands) -> Step:
        a, s, begin, end = state.a, given.address(0), given.next, given.target(1)

        def step() -> int | None:
            state.loop_begin, state.loop_end = begin, end
            state.loop_count = (a[s] - 1) & WORD
            if passes(a[s]):
                return None
            state.loop_count = 0
            return end

        return step

    return build


def _entry(state: State, given: Operands) -> Step:
    a, s, size = state.a, given.address(0), in_range(given.number(1), 0, 32760, 8)

    def step() -> None:
        a[s] = (a[s] - size) & WORD

    return step


def _call8(state: State, given: Operands) -> Step:
    """The window moves by 8 at the callee's entry, which is taken together with the call; what it does not get as an
    argument is unset."""
    a, after, function = state.a, given.next, given.function(0)

    if not isinstance(function, int):

        def outside() -> None:
            function(state)

        return outside

    def step() -> int:
        state.frames.append((a[:], after))
        a[:] = [UNSET, a[1], *a[10:16], *[UNSET] * 8]
        return function

    return step


def _retw(state: State, given: Operands) -> Step:
    a = state.a

    def step() -> int:
        if not state.frames:
            return END
        caller, after = state.frames.pop()
        a[:] = [*caller[:8], *a[:8]]
        return after

    return step


BUILDERS: dict[str, Builder] = {
    **scalar.BUILDERS,
    "add": of_two(lambda s, t: s + t),
    **{f"addx{n}": of_two(lambda s, t, n=n: s * n + t) for n in (2, 4, 8)},  # type: ignore[misc]
    **{f"subx{n}": of_two(lambda s, t, n=n: s * n - t) for n in (2, 4, 8)},  # type: ignore[misc]
    "and": of_two(lambda s, t: s & t),
    "or": of_two(lambda s, t: s | t),
    "xor": of_two(lambda s, t: s ^ t),
    "mull": of_two(lambda s, t: s * t),
    "mulsh": of_two(lambda s, t: _s(s) * _s(t) >> 32),
    "mul16u": of_two(lambda s, t: (s & 0xFFFF) * (t & 0xFFFF)),
    "max": of_two(lambda s, t: max(_s(s), _s(t))),
    "min": of_two(lambda s, t: min(_s(s), _s(t))),
    "maxu": of_two(max),
    "minu": of_two(min),
    "saltu": of_two(lambda s, t: s < t),
    "mov": of_one(lambda s: s),
    "abs": of_one(lambda s: abs(_s(s))),
    **dict.fromkeys(("movi", "l32r"), scalar.constant(-(1 << 31), WORD)),  # an assembler makes l32r of the larger
    "addi": with_number(lambda s, n: s + n, -32896, 32639),
    "slli": with_number(lambda s, n: s << n, 0, 31),
    "srli": with_number(lambda s, n: s >> n, 0, 15),
    "srai": with_number(lambda s, n: _s(s) >> n, 0, 31),
    "sext": with_number(lambda s, n: signed(s, n + 1), 7, 22),
    "extui": _extui,
    "moveqz": _move_if(lambda t: t == 0),
    "movnez": _move_if(lambda t: t != 0),
    "l8ui": load(1, False, 255),
    "l16ui": load(2, False, 510),
    "l16si": load(2, True, 510),
    "l32i": load(4, False, 1020),
    "s8i": store(1, 255),
    "s16i": store(2, 510),
    "s32i": store(4, 1020),
    "sll": _shift(lambda s, sar: s << (32 - sar) if sar <= 32 else 0),
    "srl": _shift(lambda s, sar: s >> sar),
    "sra": _shift(lambda s, sar: _s(s) >> sar),
    "src": _funnel,
    "ssl": _set_shift(lambda s: 32 - (s & 31)),
    "ssr": _set_shift(lambda s: s & 31),
    "wsr.sar": _set_shift(lambda s: s & 63),
    "ssai": _ssai,
    "beqi": _branch_number(lambda s, n: _s(s) == n, BRANCH_CONSTANTS),
    "bnei": _branch_number(lambda s, n: _s(s) != n, BRANCH_CONSTANTS),
    "blti": _branch_number(lambda s, n: _s(s) < n, BRANCH_CONSTANTS),
    "bgei": _branch_number(lambda s, n: _s(s) >= n, BRANCH_CONSTANTS),
    "bbci": _branch_bit(0),
    "bbsi": _branch_bit(1),
    "loop": _loop(lambda s: True),
    "loopgtz": _loop(lambda s: _s(s) > 0),
    "loopnez": _loop(lambda s: s != 0),
    "entry": _entry,
    "call8": _call8,
    "retw": _retw,
}
# GNU's assembler takes the wide form, or two instructions, where a constant wants that.
BUILDERS["addmi"] = BUILDERS["addi"]
BUILDERS.update({
    f"{name}.n": BUILDERS[name]
    for name in ("add", "addi", "mov", "movi", "l32i", "s32i", "beqz", "bnez", "retw", "nop")
})

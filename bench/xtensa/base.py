"""Xtensa's own instructions, of the ESP32-S3's configuration (LX7 with windows, loops, MUL32, divide, min and max).

Semantics after Cadence's "Xtensa Instruction Set Architecture Reference Manual", in Python's numbers. Each entry makes,
of an instruction's operands, the function that runs it; operands out of the range of the encoding are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from bench.assembly.engine import in_range
from bench.assembly.lanes import signed
from bench.assembly.program import Step
from bench.xtensa.state import State

WORD = 0xFFFFFFFF
#: What nobody set: found at once where a result depends on it.
UNSET = 0xDEADBEEF
#: What the compare-with-constant branches can hold (B4CONST and B4CONSTU), and 0: the assembler takes beqz and its
#: like.
BRANCH_CONSTANTS = (-1, *range(9), 10, 12, 16, 32, 64, 128, 256)
BRANCH_CONSTANTS_U = (32768, 65536, *range(2, 9), 10, 12, 16, 32, 64, 128, 256)


class Operands(Protocol):
    """See machine.Operands."""

    name: str
    next: int

    def __len__(self) -> int: ...
    def address(self, i: int) -> int: ...
    def vector(self, i: int) -> int: ...
    def number(self, i: int) -> int: ...
    def target(self, i: int) -> int: ...
    def function(self, i: int) -> int | Callable[[State], None]: ...


Builder = Callable[[State, Operands], Step]


def _s(value: int) -> int:
    return signed(value, 32)


def _of_two(function: Callable[[int, int], int]) -> Builder:
    """ar = function(as, at)."""

    def build(state: State, given: Operands) -> Step:
        a, d, s, t = state.a, given.address(0), given.address(1), given.address(2)

        def step() -> None:
            a[d] = function(a[s], a[t]) & WORD

        return step

    return build


def _of_one(function: Callable[[int], int]) -> Builder:
    """ar = function(as)."""

    def build(state: State, given: Operands) -> Step:
        a, d, s = state.a, given.address(0), given.address(1)

        def step() -> None:
            a[d] = function(a[s]) & WORD

        return step

    return build


def _with_number(function: Callable[[int, int], int], low: int, high: int, step_of: int = 1) -> Builder:
    """ar = function(as, constant)."""

    def build(state: State, given: Operands) -> Step:
        a, d, s, number = state.a, given.address(0), given.address(1), in_range(given.number(2), low, high, step_of)

        def step() -> None:
            a[d] = function(a[s], number) & WORD

        return step

    return build


def _move_if(test: Callable[[int], bool]) -> Builder:
    def build(state: State, given: Operands) -> Step:
        a, d, s, t = state.a, given.address(0), given.address(1), given.address(2)

        def step() -> None:
            if test(a[t]):
                a[d] = a[s]

        return step

    return build


def _movi(low: int, high: int) -> Builder:
    def build(state: State, given: Operands) -> Step:
        a, d = state.a, given.address(0)
        number = given.number(1) & WORD
        if low < 0 <= high:
            in_range(signed(number, 32), low, high)

        def step() -> None:
            a[d] = number

        return step

    return build


def _extui(state: State, given: Operands) -> Step:
    a, d, s = state.a, given.address(0), given.address(1)
    right, mask = in_range(given.number(2), 0, 31), (1 << in_range(given.number(3), 1, 16)) - 1

    def step() -> None:
        a[d] = a[s] >> right & mask

    return step


def _load(size: int, is_signed: bool, highest: int) -> Builder:
    def build(state: State, given: Operands) -> Step:
        a, load, d, s = state.a, state.memory.load, given.address(0), given.address(1)
        offset = in_range(given.number(2), 0, highest)

        def step() -> None:
            value = load((a[s] + offset) & WORD, size)
            a[d] = (signed(value, 8 * size) & WORD) if is_signed else value

        return step

    return build


def _store(size: int, highest: int) -> Builder:
    def build(state: State, given: Operands) -> Step:
        a, store, d, s = state.a, state.memory.store, given.address(0), given.address(1)
        offset = in_range(given.number(2), 0, highest)

        def step() -> None:
            store((a[s] + offset) & WORD, size, a[d])

        return step

    return build


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


def _branch(test: Callable[[int, int], bool]) -> Builder:
    """Compares two registers."""

    def build(state: State, given: Operands) -> Step:
        a, s, t, target = state.a, given.address(0), given.address(1), given.target(2)
        return lambda: target if test(a[s], a[t]) else None

    return build


def _branch_number(test: Callable[[int, int], bool], allowed: tuple[int, ...]) -> Builder:
    """Compares a register with a constant."""

    def build(state: State, given: Operands) -> Step:
        a, s, number, target = state.a, given.address(0), given.number(1), given.target(2)
        if number not in allowed:
            raise ValueError(f"{number} is not among {allowed}")
        return lambda: target if test(a[s], number) else None

    return build


def _branch_zero(test: Callable[[int], bool]) -> Builder:
    def build(state: State, given: Operands) -> Step:
        a, s, target = state.a, given.address(0), given.target(1)
        return lambda: target if test(a[s]) else None

    return build


def _branch_bit(wanted: int) -> Builder:
    def build(state: State, given: Operands) -> Step:
        a, s, bit, target = state.a, given.address(0), in_range(given.number(1), 0, 31), given.target(2)
        return lambda: target if a[s] >> bit & 1 == wanted else None

    return build


def _j(state: State, given: Operands) -> Step:
    target = given.target(0)
    return lambda: target


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
            return -1
        caller, after = state.frames.pop()
        a[:] = [*caller[:8], *a[:8]]
        return after

    return step


def _nop(state: State, given: Operands) -> Step:
    return lambda: None


def _divide(left: int, right: int) -> int:
    if right == 0:
        raise ZeroDivisionError("quos or rems by 0 raises an exception on the chip")
    quotient = abs(_s(left)) // abs(_s(right))
    return quotient if (_s(left) < 0) == (_s(right) < 0) else -quotient


def _clamps(value: int, bits: int) -> int:
    return max(-(1 << bits), min((1 << bits) - 1, _s(value)))


def _nsa(value: int) -> int:
    return 31 - (value if value < 1 << 31 else ~value & WORD).bit_length()


BUILDERS: dict[str, Builder] = {
    "add": _of_two(lambda s, t: s + t),
    "sub": _of_two(lambda s, t: s - t),
    **{f"addx{n}": _of_two(lambda s, t, n=n: s * n + t) for n in (2, 4, 8)},  # type: ignore[misc]
    **{f"subx{n}": _of_two(lambda s, t, n=n: s * n - t) for n in (2, 4, 8)},  # type: ignore[misc]
    "and": _of_two(lambda s, t: s & t),
    "or": _of_two(lambda s, t: s | t),
    "xor": _of_two(lambda s, t: s ^ t),
    "mull": _of_two(lambda s, t: s * t),
    "mulsh": _of_two(lambda s, t: _s(s) * _s(t) >> 32),
    "muluh": _of_two(lambda s, t: s * t >> 32),
    "mul16u": _of_two(lambda s, t: (s & 0xFFFF) * (t & 0xFFFF)),
    "mul16s": _of_two(lambda s, t: signed(s, 16) * signed(t, 16)),
    "quos": _of_two(_divide),
    "rems": _of_two(lambda s, t: _s(s) - _divide(s, t) * _s(t)),
    "quou": _of_two(lambda s, t: s // t),
    "remu": _of_two(lambda s, t: s % t),
    "max": _of_two(lambda s, t: max(_s(s), _s(t))),
    "min": _of_two(lambda s, t: min(_s(s), _s(t))),
    "maxu": _of_two(max),
    "minu": _of_two(min),
    "salt": _of_two(lambda s, t: _s(s) < _s(t)),
    "saltu": _of_two(lambda s, t: s < t),
    "mov": _of_one(lambda s: s),
    "neg": _of_one(lambda s: -s),
    "abs": _of_one(lambda s: abs(_s(s))),
    "nsa": _of_one(_nsa),
    "nsau": _of_one(lambda s: 32 - s.bit_length()),
    "movi": _movi(-(1 << 31), (1 << 31) - 1),  # an assembler makes l32r of those beyond 12 bits
    "l32r": _movi(-(1 << 31), (1 << 31) - 1),
    "addi": _with_number(lambda s, n: s + n, -32896, 32639),
    "slli": _with_number(lambda s, n: s << n, 0, 31),
    "srli": _with_number(lambda s, n: s >> n, 0, 15),
    "srai": _with_number(lambda s, n: _s(s) >> n, 0, 31),
    "sext": _with_number(lambda s, n: signed(s, n + 1), 7, 22),
    "clamps": _with_number(_clamps, 7, 22),
    "extui": _extui,
    "moveqz": _move_if(lambda t: t == 0),
    "movnez": _move_if(lambda t: t != 0),
    "movltz": _move_if(lambda t: _s(t) < 0),
    "movgez": _move_if(lambda t: _s(t) >= 0),
    "l8ui": _load(1, False, 255),
    "l16ui": _load(2, False, 510),
    "l16si": _load(2, True, 510),
    "l32i": _load(4, False, 1020),
    "s8i": _store(1, 255),
    "s16i": _store(2, 510),
    "s32i": _store(4, 1020),
    "sll": _shift(lambda s, sar: s << (32 - sar) if sar <= 32 else 0),
    "srl": _shift(lambda s, sar: s >> sar),
    "sra": _shift(lambda s, sar: _s(s) >> sar),
    "src": _funnel,
    "ssl": _set_shift(lambda s: 32 - (s & 31)),
    "ssr": _set_shift(lambda s: s & 31),
    "ssa8l": _set_shift(lambda s: (s & 3) * 8),
    "wsr.sar": _set_shift(lambda s: s & 63),
    "ssai": _ssai,
    "beq": _branch(lambda s, t: s == t),
    "bne": _branch(lambda s, t: s != t),
    "blt": _branch(lambda s, t: _s(s) < _s(t)),
    "bge": _branch(lambda s, t: _s(s) >= _s(t)),
    "bltu": _branch(lambda s, t: s < t),
    "bgeu": _branch(lambda s, t: s >= t),
    "beqi": _branch_number(lambda s, n: _s(s) == n, BRANCH_CONSTANTS),
    "bnei": _branch_number(lambda s, n: _s(s) != n, BRANCH_CONSTANTS),
    "blti": _branch_number(lambda s, n: _s(s) < n, BRANCH_CONSTANTS),
    "bgei": _branch_number(lambda s, n: _s(s) >= n, BRANCH_CONSTANTS),
    "bltui": _branch_number(lambda s, n: s < n, BRANCH_CONSTANTS_U),
    "bgeui": _branch_number(lambda s, n: s >= n, BRANCH_CONSTANTS_U),
    "beqz": _branch_zero(lambda s: s == 0),
    "bnez": _branch_zero(lambda s: s != 0),
    "bltz": _branch_zero(lambda s: _s(s) < 0),
    "bgez": _branch_zero(lambda s: _s(s) >= 0),
    "bbci": _branch_bit(0),
    "bbsi": _branch_bit(1),
    "j": _j,
    "loop": _loop(lambda s: True),
    "loopgtz": _loop(lambda s: _s(s) > 0),
    "loopnez": _loop(lambda s: s != 0),
    "entry": _entry,
    "call8": _call8,
    "retw": _retw,
    "nop": _nop,
}
# GNU's assembler takes the wide form, or two instructions, where a constant wants that.
BUILDERS["addmi"] = BUILDERS["addi"]
BUILDERS.update({
    f"{name}.n": BUILDERS[name]
    for name in ("add", "addi", "mov", "movi", "l32i", "s32i", "beqz", "bnez", "retw", "nop")
})

"""Instructions on whole numbers that both processors have, as what makes them of a Python function."""

from collections.abc import Callable

from bench.assembly.engine import WORD, Builder, Operands, State, in_range
from bench.assembly.lanes import signed
from bench.assembly.program import Step


def s32(value: int) -> int:
    """A word as a signed number."""
    return value - (1 << 32) if value >> 31 else value


def of_two(function: Callable[[int, int], int]) -> Builder:
    """The result is function(first register, second register)."""

    def build(state: State, given: Operands) -> Step:
        a, d, s, t = state.a, given.result(0), given.source(1), given.source(2)

        def step() -> None:
            a[d] = function(a[s], a[t]) & WORD

        return step

    return build


def of_one(function: Callable[[int], int]) -> Builder:
    """The result is function(register)."""

    def build(state: State, given: Operands) -> Step:
        a, d, s = state.a, given.result(0), given.source(1)

        def step() -> None:
            a[d] = function(a[s]) & WORD

        return step

    return build


def with_number(function: Callable[[int, int], int], low: int = -2048, high: int = 2047) -> Builder:
    """The result is function(register, constant)."""

    def build(state: State, given: Operands) -> Step:
        a, d, s, number = state.a, given.result(0), given.source(1), in_range(given.number(2), low, high)

        def step() -> None:
            a[d] = function(a[s], number) & WORD

        return step

    return build


def constant(low: int, high: int, shift: int = 0) -> Builder:
    """The result is a constant."""

    def build(state: State, given: Operands) -> Step:
        a, d, number = state.a, given.result(0), in_range(given.number(1), low, high) << shift & WORD

        def step() -> None:
            a[d] = number

        return step

    return build


def load(size: int, is_signed: bool, highest: int = 2047) -> Builder:
    """A number of `size` bytes from memory."""

    def build(state: State, given: Operands) -> Step:
        a, read, d, (offset, s) = state.a, state.memory.load, given.result(0), given.place(1, highest)

        def step() -> None:
            value = read((a[s] + offset) & WORD, size)
            a[d] = (signed(value, 8 * size) & WORD) if is_signed else value

        return step

    return build


def store(size: int, highest: int = 2047) -> Builder:
    """The low bytes of a register to memory."""

    def build(state: State, given: Operands) -> Step:
        a, write, d, (offset, s) = state.a, state.memory.store, given.source(0), given.place(1, highest)

        def step() -> None:
            write((a[s] + offset) & WORD, size, a[d])

        return step

    return build


def branch(test: Callable[[int, int], bool]) -> Builder:
    """Compares two registers."""

    def build(state: State, given: Operands) -> Step:
        a, s, t, target = state.a, given.source(0), given.source(1), given.target(2)
        return lambda: target if test(a[s], a[t]) else None

    return build


def branch_zero(test: Callable[[int], bool]) -> Builder:
    """Compares a register with 0."""

    def build(state: State, given: Operands) -> Step:
        a, s, target = state.a, given.source(0), given.target(1)
        return lambda: target if test(a[s]) else None

    return build


def _jump(state: State, given: Operands) -> Step:
    target = given.target(0)
    return lambda: target


def quotient(left: int, right: int) -> int:
    """Of signed words, towards zero."""
    whole = abs(s32(left)) // abs(s32(right))
    return whole if (s32(left) < 0) == (s32(right) < 0) else -whole


#: Those of one name in both.
BUILDERS: dict[str, Builder] = {
    "sub": of_two(lambda s, t: s - t),
    "neg": of_one(lambda s: -s),
    "beq": branch(lambda s, t: s == t),
    "bne": branch(lambda s, t: s != t),
    "blt": branch(lambda s, t: s32(s) < s32(t)),
    "bge": branch(lambda s, t: s32(s) >= s32(t)),
    "bltu": branch(lambda s, t: s < t),
    "bgeu": branch(lambda s, t: s >= t),
    "beqz": branch_zero(lambda s: s == 0),
    "bnez": branch_zero(lambda s: s != 0),
    "bltz": branch_zero(lambda s: s32(s) < 0),
    "bgez": branch_zero(lambda s: s32(s) >= 0),
    "j": _jump,
    "nop": lambda state, given: lambda: None,
}

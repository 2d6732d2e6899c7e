"""RISC-V's own instructions: I, M, A (of one hart) and compilers' names for them, and the ESP32-P4's hardware loops.

Semantics after "The RISC-V Instruction Set Manual, Volume I", in Python's numbers. Operands out of the range of the
encoding are refused. Of compressed instructions none has a meaning of its own: they are the same, shorter.
"""

from __future__ import annotations

from collections.abc import Callable

from bench.assembly.engine import END, in_range
from bench.assembly.lanes import signed
from bench.assembly.program import Step
from bench.riscv.operands import CODE, OUTSIDE, WORD, Builder, Operands
from bench.riscv.state import NOWHERE, State

RA = 1
#: The ESP32-P4's register that turns its vector unit on.
VECTOR_UNIT = 0x7F2


def _s(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value


def _of_two(function: Callable[[int, int], int]) -> Builder:
    """rd = function(rs1, rs2)."""

    def build(state: State, given: Operands) -> Step:
        x, d, s, t = state.x, given.to(0), given.x(1), given.x(2)

        def step() -> None:
            x[d] = function(x[s], x[t]) & WORD

        return step

    return build


def _of_one(function: Callable[[int], int]) -> Builder:
    """rd = function(rs)."""

    def build(state: State, given: Operands) -> Step:
        x, d, s = state.x, given.to(0), given.x(1)

        def step() -> None:
            x[d] = function(x[s]) & WORD

        return step

    return build


def _with_number(function: Callable[[int, int], int], low: int = -2048, high: int = 2047) -> Builder:
    """rd = function(rs, constant)."""

    def build(state: State, given: Operands) -> Step:
        x, d, s, number = state.x, given.to(0), given.x(1), in_range(given.number(2), low, high)

        def step() -> None:
            x[d] = function(x[s], number) & WORD

        return step

    return build


def _or_number(function: Callable[[int, int], int], low: int = -2048, high: int = 2047) -> Builder:
    """What assemblers take under one name: the other operand a register or a constant."""
    of_two, with_number = _of_two(function), _with_number(function, low, high)

    def build(state: State, given: Operands) -> Step:
        is_number = given.text(2).lstrip("-")[:1].isdigit() or given.text(2).startswith("%")
        return with_number(state, given) if is_number else of_two(state, given)

    return build


def _li(state: State, given: Operands) -> Step:
    x, d, number = state.x, given.to(0), in_range(given.number(1), -(1 << 31), WORD) & WORD

    def step() -> None:
        x[d] = number

    return step


def _lui(state: State, given: Operands) -> Step:
    x, d, number = state.x, given.to(0), in_range(given.number(1), 0, 0xFFFFF) << 12

    def step() -> None:
        x[d] = number

    return step


def _load(size: int, is_signed: bool) -> Builder:
    def build(state: State, given: Operands) -> Step:
        x, load, d, (offset, s) = state.x, state.memory.load, given.to(0), given.place(1)
        bits = 8 * size

        def step() -> None:
            value = load((x[s] + offset) & WORD, size)
            x[d] = (signed(value, bits) & WORD) if is_signed else value

        return step

    return build


def _store(size: int) -> Builder:
    def build(state: State, given: Operands) -> Step:
        x, store, s, (offset, t) = state.x, state.memory.store, given.x(0), given.place(1)

        def step() -> None:
            store((x[t] + offset) & WORD, size, x[s])

        return step

    return build


def _branch(test: Callable[[int, int], bool]) -> Builder:
    def build(state: State, given: Operands) -> Step:
        x, s, t, target = state.x, given.x(0), given.x(1), given.target(2)
        return lambda: target if test(x[s], x[t]) else None

    return build


def _branch_zero(test: Callable[[int], bool]) -> Builder:
    def build(state: State, given: Operands) -> Step:
        x, s, target = state.x, given.x(0), given.target(1)
        return lambda: target if test(x[s]) else None

    return build


def _j(state: State, given: Operands) -> Step:
    target = given.target(0)
    return lambda: target


def _index(address: int) -> int:
    """Of the instruction at an address."""
    if address == OUTSIDE:
        return END
    if address < CODE or address % 4:
        raise ValueError(f"no instruction at {address:#x}")
    return (address - CODE) // 4


def _jr(state: State, given: Operands) -> Step:
    x, s = state.x, given.x(0) if len(given) else RA
    return lambda: _index(x[s])


def _jalr(state: State, given: Operands) -> Step:
    x, s, after = state.x, given.x(0), CODE + 4 * given.next
    if len(given) > 1:
        raise ValueError("only jalr of a register is known")

    def step() -> int:
        target = _index(x[s])
        x[RA] = after
        return target

    return step


def _call(state: State, given: Operands) -> Step:
    x, after, function = state.x, CODE + 4 * given.next, given.function(len(given) - 1)
    if not isinstance(function, int):
        return lambda: function(state)

    def step() -> int:
        x[RA] = after
        return function

    return step


def _tail(state: State, given: Operands) -> Step:
    x, function = state.x, given.function(0)
    if isinstance(function, int):
        return lambda: function

    def step() -> int:
        function(state)
        return _index(x[RA])

    return step


def _nop(state: State, given: Operands) -> Step:
    return lambda: None


def _csr_bits(state: State, given: Operands) -> Step:
    """The only known control register turns the vector unit on."""
    if given.number(0) != VECTOR_UNIT:
        raise ValueError(f"control register {given.text(0)} is not known")
    bits, turns_on = in_range(given.number(1), 0, 31), given.name == "csrsi"

    def step() -> None:
        if bits & 1:
            state.enabled = turns_on

    return step


def _div(left: int, right: int) -> int:
    if right == 0:
        return WORD
    quotient = abs(_s(left)) // abs(_s(right))
    return quotient if (_s(left) < 0) == (_s(right) < 0) else -quotient


def _rem(left: int, right: int) -> int:
    return left if right == 0 else _s(left) - _div(left, right) * _s(right)


def _atomic(function: Callable[[int, int], int]) -> Builder:
    """rd = what is in memory; memory = function(that, rs2)."""

    def build(state: State, given: Operands) -> Step:
        x, memory, d, t, (offset, s) = state.x, state.memory, given.to(0), given.x(1), given.place(2)

        def step() -> None:
            address, other = (x[s] + offset) & WORD, x[t]
            before = memory.load(address, 4)
            memory.store(address, 4, function(before, other) & WORD)
            x[d] = before

        return step

    return build


def _lr(state: State, given: Operands) -> Step:
    x, memory, d, (_, s) = state.x, state.memory, given.to(0), given.place(1)

    def step() -> None:
        state.reserved = x[s]
        x[d] = memory.load(x[s], 4)

    return step


def _sc(state: State, given: Operands) -> Step:
    x, memory, d, t, (_, s) = state.x, state.memory, given.to(0), given.x(1), given.place(2)

    def step() -> None:
        held = state.reserved == x[s]
        if held:
            memory.store(x[s], 4, x[t])
        state.reserved = None
        x[d] = int(not held)

    return step


def _loop(from_register: bool) -> Builder:
    """esp.lp.setup and .setupi: from the next instruction to the one at the label, which still belongs to it, so many
    times. That it ends there is the machine's to see."""

    def build(state: State, given: Operands) -> Step:
        x, loops, which = state.x, state.loops, in_range(given.number(0), 0, 1)
        s = given.x(1) if from_register else NOWHERE
        number = 0 if from_register else in_range(given.number(1), 1, 4095)
        given.target(2)

        def step() -> None:
            passes = x[s] if from_register else number
            if passes == 0:
                raise ValueError("what a hardware loop of no pass does is not known")
            loops[which] = passes - 1

        return step

    return build


BUILDERS: dict[str, Builder] = {
    "add": _or_number(lambda s, t: s + t),
    "addi": _with_number(lambda s, t: s + t),
    "sub": _of_two(lambda s, t: s - t),
    "neg": _of_one(lambda s: -s),
    "not": _of_one(lambda s: ~s),
    "mv": _of_one(lambda s: s),
    "seqz": _of_one(lambda s: s == 0),
    "snez": _of_one(lambda s: s != 0),
    "sltz": _of_one(lambda s: s >> 31),
    "sgtz": _of_one(lambda s: _s(s) > 0),
    "li": _li, "la": _li, "lla": _li, "lui": _lui,
    "mul": _of_two(lambda s, t: s * t),
    "mulh": _of_two(lambda s, t: _s(s) * _s(t) >> 32),
    "mulhu": _of_two(lambda s, t: s * t >> 32),
    "mulhsu": _of_two(lambda s, t: _s(s) * t >> 32),
    "div": _of_two(_div),
    "divu": _of_two(lambda s, t: s // t if t else WORD),
    "rem": _of_two(_rem),
    "remu": _of_two(lambda s, t: s % t if t else s),
    "sgt": _of_two(lambda s, t: _s(s) > _s(t)),
    "sgtu": _of_two(lambda s, t: s > t),
    "esp.addx2": _of_two(lambda s, t: s + 2 * t),
    "esp.addx4": _of_two(lambda s, t: s + 4 * t),
    "esp.subx2": _of_two(lambda s, t: s - 2 * t),
    "esp.subx4": _of_two(lambda s, t: s - 4 * t),
    "lb": _load(1, True), "lh": _load(2, True), "lw": _load(4, False), "lbu": _load(1, False), "lhu": _load(2, False),
    "sb": _store(1), "sh": _store(2), "sw": _store(4),
    "beq": _branch(lambda s, t: s == t),
    "bne": _branch(lambda s, t: s != t),
    "blt": _branch(lambda s, t: _s(s) < _s(t)),
    "bge": _branch(lambda s, t: _s(s) >= _s(t)),
    "bgt": _branch(lambda s, t: _s(s) > _s(t)),
    "ble": _branch(lambda s, t: _s(s) <= _s(t)),
    "bltu": _branch(lambda s, t: s < t),
    "bgeu": _branch(lambda s, t: s >= t),
    "bgtu": _branch(lambda s, t: s > t),
    "bleu": _branch(lambda s, t: s <= t),
    "beqz": _branch_zero(lambda s: s == 0),
    "bnez": _branch_zero(lambda s: s != 0),
    "bltz": _branch_zero(lambda s: _s(s) < 0),
    "bgez": _branch_zero(lambda s: _s(s) >= 0),
    "bgtz": _branch_zero(lambda s: _s(s) > 0),
    "blez": _branch_zero(lambda s: _s(s) <= 0),
    "j": _j, "jr": _jr, "ret": _jr, "jalr": _jalr, "call": _call, "jal": _call, "tail": _tail,
    "nop": _nop, "fence": _nop, "csrsi": _csr_bits, "csrci": _csr_bits,
    "lr.w": _lr, "sc.w": _sc,
    "amoswap.w": _atomic(lambda old, new: new),
    "amoadd.w": _atomic(lambda old, new: old + new),
    "amoand.w": _atomic(lambda old, new: old & new),
    "amoor.w": _atomic(lambda old, new: old | new),
    "amoxor.w": _atomic(lambda old, new: old ^ new),
    "amomax.w": _atomic(lambda old, new: max(_s(old), _s(new))),
    "amomin.w": _atomic(lambda old, new: min(_s(old), _s(new))),
    "amomaxu.w": _atomic(max),
    "amominu.w": _atomic(min),
    "esp.lp.setup": _loop(True),
    "esp.lp.setupi": _loop(False),
}  # fmt: skip
for _name, _function in (
    ("and", lambda s, t: s & t), ("or", lambda s, t: s | t), ("xor", lambda s, t: s ^ t),
    ("slt", lambda s, t: _s(s) < _s(t)), ("sltu", lambda s, t: s < (t & WORD)),
):  # fmt: skip
    BUILDERS[_name] = _or_number(_function)
BUILDERS.update({
    "andi": _with_number(lambda s, t: s & t), "ori": _with_number(lambda s, t: s | t),
    "xori": _with_number(lambda s, t: s ^ t), "slti": _with_number(lambda s, t: _s(s) < t),
    "sltiu": _with_number(lambda s, t: s < (t & WORD)),
})  # fmt: skip
for _name, _function in (
    ("sll", lambda s, t: s << (t & 31)), ("srl", lambda s, t: s >> (t & 31)), ("sra", lambda s, t: _s(s) >> (t & 31)),
):  # fmt: skip
    BUILDERS[_name] = _or_number(_function, 0, 31)
    BUILDERS[f"{_name}i"] = _with_number(_function, 0, 31)

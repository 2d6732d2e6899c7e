"""RISC-V's own instructions as compilers write them for ESP-NN: I, M and the ESP32-P4's register that turns its vector
unit on; registers and operands.

Semantics after "The RISC-V Instruction Set Manual, Volume I", in Python's numbers. Operands out of the range of the
encoding are refused. Of compressed instructions none has a meaning of its own: they are the same, shorter.
"""

import re
from collections.abc import Callable

from bench.assembly import engine, scalar
from bench.assembly.engine import END, WORD, Builder, in_range
from bench.assembly.lanes import Accumulators, signed
from bench.assembly.memory import Memory
from bench.assembly.program import Step
from bench.assembly.scalar import branch, branch_zero, constant, load, of_one, of_two, quotient, store, with_number
from bench.assembly.scalar import s32 as _s
from bench.assembly.source import value

#: Where instructions lie: each takes four bytes. What is returned to at the end of a call lies nowhere.
CODE, OUTSIDE = 0x40000000, 0xFFFFFFFC
RA = 1
NAMES = ("zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", *(f"a{i}" for i in range(8)),
         *(f"s{i}" for i in range(2, 12)), *(f"t{i}" for i in range(3, 7)))  # fmt: skip
REGISTERS = {name: i for i, name in enumerate(NAMES)} | {f"x{i}": i for i in range(32)} | {"fp": 8}
#: x0's writes go to a place behind the registers.
NOWHERE = 32
#: Vector instructions name one of sixteen: x8 … x15, x24 … x31.
REACHED = (*range(8, 16), *range(24, 32))
#: The ESP32-P4's register that turns its vector unit on.
VECTOR_UNIT = 0x7F2
#: Bits of CFG: loads and stores of vectors take any address. Without, addresses are rounded down.
ANY_LOAD, ANY_STORE = 2, 1
PLACE = re.compile(r"(.*)\((\w+)\)")
PART = re.compile(r"%(hi|lo)\((.*)\)")
SYMBOL = re.compile(r"(?<![\w.$])[A-Za-z_.$][\w.$]*")


class State(engine.State):
    """The processor's registers."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory, NOWHERE + 1, Accumulators(512, 32))  # as 16 lanes of 32 bits or as 8 of 64
        self.enabled = False  # the vector unit
        self.cfg = 0
        self.outside = 0  # what functions outside of the program are counted as

    def load(self, address: int, size: int = 16) -> bytes:
        """At any address it is taken from the blocks that it lies in."""
        over = address & (size - 1) if self.cfg & ANY_LOAD else 0
        both = super().load(address, size) + (super().load(address + size, size) if over else b"")
        return both[over : over + size]

    def store(self, address: int, content: bytes) -> None:
        if self.cfg & ANY_STORE:
            self.memory.store_block(address, content)
        else:
            super().store(address, content)


class Operands(engine.Operands):
    """As compilers write them."""

    def source(self, i: int) -> int:
        return REGISTERS[self.text(i)]

    def result(self, i: int) -> int:
        return self.source(i) or NOWHERE

    def address(self, i: int) -> int:
        found = self.source(i)
        if found not in REACHED:
            raise ValueError(f"{self.text(i)} is no register of vector instructions")
        return found

    def number(self, i: int) -> int:
        return self._value(self.text(i))

    def place(self, i: int, highest: int = 2047) -> tuple[int, int]:
        found = PLACE.fullmatch(self.text(i))
        if found is None:
            raise ValueError(f"{self.text(i)} is no place in memory")
        return in_range(self._value(found[1] or "0"), -highest - 1, highest), REGISTERS[found[2]]

    def _value(self, text: str) -> int:
        part = PART.fullmatch(text)
        if part is None:
            return value(SYMBOL.sub(lambda found: str(self._address(found[0])), text), {})
        address = self._value(part[2])
        return (address + 0x800) >> 12 & 0xFFFFF if part[1] == "hi" else signed(address, 12)

    def _address(self, name: str) -> int:
        file = self._one.where.partition(":")[0]
        for known in (self._machine.addresses, self._machine.program.constants):
            for candidate in (name, f"{name}@{file}", name.partition("@")[0]):
                if candidate in known:
                    return known[candidate]
        raise KeyError(name)


def _or_number(function: Callable[[int, int], int], low: int = -2048, high: int = 2047) -> Builder:
    """What assemblers take under one name: the other operand a register or a constant."""
    of_registers, of_number = of_two(function), with_number(function, low, high)

    def build(state: State, given: Operands) -> Step:
        is_number = given.text(2).lstrip("-")[:1].isdigit() or given.text(2).startswith("%")
        return (of_number if is_number else of_registers)(state, given)

    return build


def _index(address: int) -> int:
    """Of the instruction at an address."""
    if address == OUTSIDE:
        return END
    if address < CODE or address % 4:
        raise ValueError(f"no instruction at {address:#x}")
    return (address - CODE) // 4


def _jr(state: State, given: Operands) -> Step:
    a, s = state.a, given.source(0) if len(given) else RA
    return lambda: _index(a[s])


def _call(state: State, given: Operands) -> Step:
    a, after, function = state.a, CODE + 4 * given.next, given.function(len(given) - 1)
    if not isinstance(function, int):
        return lambda: function(state)

    def step() -> int:
        a[RA] = after
        return function

    return step


def _tail(state: State, given: Operands) -> Step:
    a, function = state.a, given.function(0)
    if isinstance(function, int):
        return lambda: function

    def step() -> int:
        function(state)
        return _index(a[RA])

    return step


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
    return quotient(left, right) if right else WORD


BUILDERS: dict[str, Builder] = {
    **scalar.BUILDERS,
    "add": _or_number(lambda s, t: s + t),
    "addi": with_number(lambda s, t: s + t),
    "not": of_one(lambda s: ~s),
    "mv": of_one(lambda s: s),
    "seqz": of_one(lambda s: s == 0),
    "snez": of_one(lambda s: s != 0),
    "sltz": of_one(lambda s: s >> 31),
    "sgtz": of_one(lambda s: _s(s) > 0),
    **dict.fromkeys(("li", "la", "lla"), constant(-(1 << 31), WORD)), "lui": constant(0, 0xFFFFF, 12),
    "mul": of_two(lambda s, t: s * t),
    "mulh": of_two(lambda s, t: _s(s) * _s(t) >> 32),
    "mulhu": of_two(lambda s, t: s * t >> 32),
    "mulhsu": of_two(lambda s, t: _s(s) * t >> 32),
    "div": of_two(_div),
    "divu": of_two(lambda s, t: s // t if t else WORD),
    "rem": of_two(lambda s, t: _s(s) - quotient(s, t) * _s(t) if t else s),
    "remu": of_two(lambda s, t: s % t if t else s),
    "sgt": of_two(lambda s, t: _s(s) > _s(t)),
    "sgtu": of_two(lambda s, t: s > t),
    "lb": load(1, True), "lh": load(2, True), "lw": load(4, False), "lbu": load(1, False), "lhu": load(2, False),
    "sb": store(1), "sh": store(2), "sw": store(4),
    "bgt": branch(lambda s, t: _s(s) > _s(t)),
    "ble": branch(lambda s, t: _s(s) <= _s(t)),
    "bgtu": branch(lambda s, t: s > t),
    "bleu": branch(lambda s, t: s <= t),
    "bgtz": branch_zero(lambda s: _s(s) > 0),
    "blez": branch_zero(lambda s: _s(s) <= 0),
    "jr": _jr, "ret": _jr, "call": _call, "jal": _call, "tail": _tail,
    "csrsi": _csr_bits, "csrci": _csr_bits,
}  # fmt: skip
for _name, _function in (
    ("and", lambda s, t: s & t), ("or", lambda s, t: s | t), ("xor", lambda s, t: s ^ t),
    ("slt", lambda s, t: _s(s) < _s(t)), ("sltu", lambda s, t: s < (t & WORD)),
):  # fmt: skip
    BUILDERS[_name] = _or_number(_function)
BUILDERS.update({
    "andi": with_number(lambda s, t: s & t), "ori": with_number(lambda s, t: s | t),
    "xori": with_number(lambda s, t: s ^ t), "slti": with_number(lambda s, t: _s(s) < t),
    "sltiu": with_number(lambda s, t: s < (t & WORD)),
})  # fmt: skip
for _name, _function in (
    ("sll", lambda s, t: s << (t & 31)), ("srl", lambda s, t: s >> (t & 31)), ("sra", lambda s, t: _s(s) >> (t & 31)),
):  # fmt: skip
    BUILDERS[_name] = _or_number(_function, 0, 31)
    BUILDERS[f"{_name}i"] = with_number(_function, 0, 31)

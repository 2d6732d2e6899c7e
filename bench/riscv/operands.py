"""An instruction's operands, as what its builder asks for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Protocol

from bench.assembly.engine import in_range
from bench.assembly.lanes import signed
from bench.assembly.program import Instruction, Program, Step
from bench.assembly.source import value
from bench.riscv.state import NOWHERE, State

WORD = 0xFFFFFFFF
#: Where instructions lie: each takes four bytes. What is returned to at the end of a call lies nowhere.
CODE, OUTSIDE = 0x40000000, 0xFFFFFFFC
NAMES = ("zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", *(f"a{i}" for i in range(8)),
         *(f"s{i}" for i in range(2, 12)), *(f"t{i}" for i in range(3, 7)))  # fmt: skip
FLOATS = (*(f"ft{i}" for i in range(8)), "fs0", "fs1", *(f"fa{i}" for i in range(8)),
          *(f"fs{i}" for i in range(2, 12)), *(f"ft{i}" for i in range(8, 12)))  # fmt: skip
REGISTERS = {name: i for i, name in enumerate(NAMES)} | {f"x{i}": i for i in range(32)} | {"fp": 8}
FLOAT_REGISTERS = {name: i for i, name in enumerate(FLOATS)} | {f"f{i}": i for i in range(32)}
#: Vector instructions name one of sixteen: x8 … x15, x24 … x31.
REACHED = (*range(8, 16), *range(24, 32))
PLACE = re.compile(r"(.*)\((\w+)\)")
PART = re.compile(r"%(hi|lo)\((.*)\)")
SYMBOL = re.compile(r"(?<![\w.$])[A-Za-z_.$][\w.$]*")

Function = Callable[[State], None]
#: Makes, of an instruction's operands, what runs it.
Builder = Callable[[State, "Operands"], Step]


class Symbols(Protocol):
    """The names that a machine resolves."""

    program: Program

    @property
    def addresses(self) -> Mapping[str, int]: ...
    @property
    def externals(self) -> Mapping[str, Function]: ...


class Operands:
    """`at`: the instruction's index."""

    def __init__(self, symbols: Symbols, one: Instruction, at: int) -> None:
        self._symbols = symbols
        self._one = one
        self.name = one.name
        self.next = at + 1

    def __len__(self) -> int:
        return len(self._one.operands)

    def x(self, i: int) -> int:
        """The number of a register that is read."""
        return REGISTERS[self._one.operands[i]]

    def to(self, i: int) -> int:
        """The number of a register that is written."""
        return self.x(i) or NOWHERE

    def f(self, i: int) -> int:
        return FLOAT_REGISTERS[self._one.operands[i]]

    def text(self, i: int) -> str:
        return self._one.operands[i]

    def reached(self, i: int) -> int:
        """A register that vector instructions can name."""
        found = self.x(i)
        if found not in REACHED:
            raise ValueError(f"{self._one.operands[i]} is no register of vector instructions")
        return found

    def vector(self, i: int) -> int:
        text = self._one.operands[i]
        if text not in {f"q{number}" for number in range(8)}:
            raise ValueError(f"{text} is no register q0 … q7")
        return int(text[1:])

    def number(self, i: int) -> int:
        """A constant."""
        return self._value(self._one.operands[i])

    def small(self, i: int) -> int:
        """One of 12 bits."""
        return in_range(self.number(i), -2048, 2047)

    def place(self, i: int) -> tuple[int, int]:
        """Both parts of `offset(register)`."""
        found = PLACE.fullmatch(self._one.operands[i])
        if found is None:
            raise ValueError(f"{self._one.operands[i]} is no place in memory")
        return in_range(self._value(found[1] or "0"), -2048, 2047), REGISTERS[found[2]]

    def target(self, i: int) -> int:
        """The index of the instruction behind a label."""
        text = self._one.operands[i]
        return self._symbols.program.labels[text]

    def function(self, i: int) -> int | Function:
        """The called function: the index of its first instruction, or its Python stand-in."""
        text = self._one.operands[i].removesuffix("@plt")
        found = self._symbols.program.labels.get(text)
        return found if found is not None else self._symbols.externals[text]

    def _value(self, text: str) -> int:
        part = PART.fullmatch(text)
        if part is None:
            return value(SYMBOL.sub(lambda found: str(self._address(found[0])), text), {})
        address = self._value(part[2])
        return (address + 0x800) >> 12 & 0xFFFFF if part[1] == "hi" else signed(address, 12)

    def _address(self, name: str) -> int:
        file = self._one.where.partition(":")[0]
        constants = self._symbols.program.constants
        for known in (self._symbols.addresses, constants):
            for candidate in (name, f"{name}@{file}", name.partition("@")[0]):
                if candidate in known:
                    return known[candidate]
        raise KeyError(name)

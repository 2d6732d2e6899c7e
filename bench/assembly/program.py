"""An interpreted program: instructions in order, and labels."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

#: Runs one instruction; answers the index of the next, or None for the one behind it.
Step = Callable[[], "int | None"]


class AssemblyError(ValueError):
    """Assembly that the interpreter does not know."""


@dataclass(frozen=True)
class Instruction:
    """`operands` as written: registers, numbers, names of labels. `where`: file and line, or address."""

    name: str
    operands: tuple[str, ...]
    where: str


@dataclass(frozen=True)
class Data:
    """What a file has beside instructions: its bytes, offsets of names in them, and 32-bit words that hold addresses:
    their offsets and what they are addresses of."""

    file: str
    content: bytes
    labels: Mapping[str, int]
    words: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True)
class Program:
    """`labels`: the index of the instruction behind each; those of a file that has several are told apart by it.

    `constants`: names that stand for numbers where an operand is one, and for the number at their address with l32r.
    """

    code: tuple[Instruction, ...]
    labels: Mapping[str, int]
    constants: Mapping[str, int]
    data: tuple[Data, ...] = field(default=())


def linked(programs: Iterable[Program]) -> Program:
    """One program of several, whose names are unlike."""
    code: list[Instruction] = []
    labels: dict[str, int] = {}
    constants: dict[str, int] = {}
    data: list[Data] = []
    for program in programs:
        for name, index in program.labels.items():
            if name in labels:
                raise AssemblyError(f"{name} is in two files")
            labels[name] = index + len(code)
        constants.update(program.constants)
        code.extend(program.code)
        data.extend(program.data)
    return Program(tuple(code), labels, constants, tuple(data))

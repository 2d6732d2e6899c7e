"""Assembly of RISC-V, of people (.S) and of compilers (-S): what `bench.assembly.source` reads, and data."""

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from bench.assembly.program import AssemblyError, Data, Program, linked
from bench.assembly.source import Line, Reader, included, split, value, walked

PASSED_OVER = frozenset((
    ".file", ".ident", ".option", ".attribute", ".type", ".size", ".loc", ".cfi_startproc", ".cfi_endproc",
    ".cfi_def_cfa_offset", ".cfi_offset", ".cfi_restore", ".cfi_sections", ".local", ".weak", ".hidden",
))  # fmt: skip
IN_DATA = (".data", ".bss", ".rodata", ".sdata", ".sbss", ".srodata")
SIZES = {".byte": 1, ".half": 2, ".short": 2, ".2byte": 2, ".word": 4, ".long": 4, ".4byte": 4}


@dataclass
class DataReader(Reader):
    """Labels in data are offsets in the file's one block of it."""

    content: bytearray = field(default_factory=bytearray)
    places: dict[str, int] = field(default_factory=dict)
    words: list[tuple[int, str]] = field(default_factory=list)
    in_data: bool = False

    def program(self) -> Program:
        read = super().program()
        places = {name if name in self.shared else self._own(name): at for name, at in self.places.items()}
        data = (Data(self.file, bytes(self.content), places, tuple(self.words)),) if self.content else ()
        return Program(read.code, read.labels, read.constants, data)

    def place(self, name: str) -> None:
        if self.in_data:
            self.places[name] = len(self.content)
        else:
            super().place(name)

    def directive(self, name: str, rest: str, line: Line) -> None:
        if name in IN_DATA or name in (".text", ".section"):
            kind = split(rest)[0] if name == ".section" else name
            self.in_data = not kind.startswith(".text")
        elif name in (".align", ".p2align", ".balign"):
            step = value(split(rest)[0], {})
            self._align(step if name == ".balign" else 1 << step)
        elif name == ".comm":
            symbol, size, *step_of = split(rest)
            self._align(value(step_of[0], {}) if step_of else 1)
            self.places[symbol] = len(self.content)
            self.content += bytes(value(size, {}))
        elif name == ".set" and split(rest)[1].startswith("."):
            symbol, here = split(rest)  # a compiler's anchor: `. + 0`
            self.places[symbol] = len(self.content) + value(here[1:].strip(" +") or "0", {})
        elif self.in_data and name not in PASSED_OVER and name not in (".globl", ".global"):
            self._fill(name, rest, line)
        elif name not in PASSED_OVER:
            super().directive(name, rest, line)

    def _align(self, step: int) -> None:
        if self.in_data:
            self.content += bytes(-len(self.content) % step)

    def _fill(self, name: str, rest: str, line: Line) -> None:
        if name in (".string", ".asciz", ".ascii"):
            self.content += ast.literal_eval(rest).encode() + (b"" if name == ".ascii" else b"\0")
        elif name in (".zero", ".space", ".skip"):
            self.content += bytes(value(split(rest)[0], {}))
        elif name in SIZES:
            for part in split(rest):
                self.content += self._number(part, SIZES[name])
        else:
            raise AssemblyError(f"{line.where}: {name} is not known")

    def _number(self, text: str, size: int) -> bytes:
        try:
            number = value(text, self.constants)
        except AssemblyError:
            if size != 4:
                raise
            self.words.append((len(self.content), text))
            number = 0
        return (number & ((1 << 8 * size) - 1)).to_bytes(size, "little")


def read(paths: Iterable[Path], defined: Iterable[str] = ()) -> Program:
    """The files at `paths` as one program. `defined`: names that #ifdef finds."""
    return linked(parse(included(path), path.name, defined) for path in paths)


def parse(text: str, file: str = "source", defined: Iterable[str] = ()) -> Program:
    """A file's text."""
    return walked(DataReader(file), text, defined).program()

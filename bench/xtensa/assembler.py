"""What GNU's assembler makes of assembly for the ESP32-S3, taken apart again: a second opinion on what is interpreted.

Debian's binutils-xtensa-lx106 knows any Xtensa processor that a plugin describes. The ESP32-S3's: clone
github.com/espressif/xtensa-dynconfig, put xtensa_esp32s3 of github.com/espressif/xtensa-overlays in its folder
`config`, and `make xtensa_esp32s3.so`.
"""

import os
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bench.assembly.program import Program
from bench.assembly.source import value

PREFIX = "xtensa-lx106-elf-"
INSTRUCTION = re.compile(r"^ *([0-9a-f]+):\t([a-z][\w.]*)(?:\t(.*))?$")
RELOCATION = re.compile(r"^\t+[0-9a-f]+: R_XTENSA_SLOT0_OP\t(\S+)$")
WORD = re.compile(r"^ [0-9a-f]+ ((?:[0-9a-f]{2,8} ?)+)", re.MULTILINE)
#: What the assembler writes for others, that it may align what follows, or save bytes.
PADDING = ("nop", "ill")

#: A name and its operands; what is jumped to is the instruction's index.
Plain = tuple[str, ...]


def assembled(source: Path, plugin: Path, folder: Path, defines: Sequence[str] = ()) -> Path:
    """The object of a source; CalledProcessError with the assembler's words."""
    text, target = folder / f"{source.stem}.s", folder / f"{source.stem}.o"
    _tool(["cpp", *(f"-D{name}" for name in defines), f"-I{source.parent}", str(source), "-o", str(text)], plugin)
    _tool([f"{PREFIX}as", str(text), "-o", str(target)], plugin)
    return target


def taken_apart(target: Path, plugin: Path) -> list[Plain]:
    """The instructions of an object, but for those that align others."""
    listing = _tool([f"{PREFIX}objdump", "-drz", "--no-show-raw-insn", "-j", ".text", str(target)], plugin)
    literals = _literals(_tool([f"{PREFIX}objdump", "-s", "-j", ".literal", str(target)], plugin, check=False))
    found: list[tuple[int, str, list[str]]] = []
    for line in listing.splitlines():
        if match := INSTRUCTION.match(line):
            name = match[2].removesuffix(".n")
            operands = _operands(match[3])
            if name == "or" and operands[1] == operands[2]:  # a move that was widened before a loop
                name, operands = "mov", operands[:2]
            if name not in PADDING:
                found.append((int(match[1], 16), name, operands))
        elif (match := RELOCATION.match(line)) and found[-1][1] == "l32r":
            _, _, place = match[1].partition("+")
            at, _, operands = found[-1]
            found[-1] = (at, "movi", [operands[0], str(literals[int(place or "0", 16) // 4])])
        elif match and found[-1][1].startswith("call"):
            at, name, _ = found[-1]
            found[-1] = (at, name, [match[1]])
    addresses = [at for at, _, _ in found]
    return [(name, *_plain(operands, lambda text: _index(text, addresses))) for _, name, operands in found]


def read(program: Program) -> list[Plain]:
    """The instructions that the interpreter has read, in the same form."""
    kept = [place for place, one in enumerate(program.code) if one.name.removesuffix(".n") not in PADDING]

    def index(text: str) -> str:
        at = program.labels.get(text)
        return text if at is None else str(sum(place < at for place in kept))

    return [(name, *_plain(operands, index)) for name, operands in _usual(program, kept)]


def _usual(program: Program, kept: Sequence[int]) -> Iterator[tuple[str, Sequence[str]]]:
    """With names and constants as the assembler has them."""
    for place in kept:
        one = program.code[place]
        name, operands = one.name.removesuffix(".n"), list(one.operands)
        if name == "l32r" and operands[1] in program.constants:
            name, operands = "movi", [operands[0], str(program.constants[operands[1]])]
        yield name, [str(value(text, program.constants)) if text in program.constants else text for text in operands]


def _plain(operands: Sequence[str], index: Callable[[str], str]) -> Iterator[str]:
    for text in ("a1" if text == "sp" else text for text in operands):
        number = re.fullmatch(r"-?(0x[0-9a-fA-F]+|\d+)", text)
        if number:
            whole = int(text, 0)
            yield f"#{whole - (1 << 32) if whole >= 1 << 31 else whole}"
        elif re.fullmatch(r"[aq]\d+|sar|lcount|lbeg|lend", text):
            yield text
        else:
            yield f"@{index(text)}"


def _operands(text: str | None) -> list[str]:
    return [part.strip() for part in text.split(",")] if text else []


def _index(text: str, addresses: Sequence[int]) -> str:
    """Of `c3 <name+0xc3>`: an instruction that is there."""
    word = text.partition(" ")[0]
    if not re.fullmatch(r"[0-9a-f]+", word) or "<" not in text:
        return text
    at = int(word, 16)
    return str(sum(address < at for address in addresses))


def _literals(dump: str) -> list[int]:
    words = "".join("".join(match.split()) for match in WORD.findall(dump))
    return [int.from_bytes(bytes.fromhex(words[at : at + 8]), "little") for at in range(0, len(words), 8)]


def _tool(command: Sequence[str], plugin: Path, check: bool = True) -> str:
    environment = {**os.environ, "XTENSA_GNU_CONFIG": str(plugin)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=check).stdout

"""Reads assembly sources (.S) without an assembler: the part of GNU's syntax that the kernels use.

Known are labels, numeric local labels, several statements a line, comments of all three kinds, .literal, .set and .equ,
.ifdef, #ifdef and similar conditionals, .macro with named arguments and .rept. Directives of placement are ignored;
bench.riscv.source reads data as well.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench.assembly.program import AssemblyError, Instruction, Program, linked

PASSED_OVER = frozenset((
    ".text", ".align", ".balign", ".literal_position", ".global", ".globl", ".type", ".size", ".section", ".file",
    ".local", ".begin", ".end",
))  # fmt: skip
BLOCK_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
LINE_COMMENT = re.compile(r"//.*|(?:^|\s)#(?!(?:if|ifdef|ifndef|else|endif|define|undef|include)\b).*")
INCLUDE = re.compile(r'^#include "([^"]+)"$', re.MULTILINE)
LABEL = re.compile(r"\s*([.\w$]+)\s*:(?!=)")
LOCAL = re.compile(r"\d+[bf]")
NAME = re.compile(r"[A-Za-z_.$][\w.$]*")
CONDITIONS = {"ifdef", "ifndef"}


@dataclass(frozen=True)
class Line:
    """A line without comments."""

    text: str
    where: str


@dataclass(frozen=True)
class Macro:
    """`parameters` with what they are when not given."""

    parameters: tuple[tuple[str, str | None], ...]
    body: tuple[Line, ...]


@dataclass
class Reader:
    """The contents read from one file. A local label is kept as `name@file`, a numeric one with its index behind it."""

    file: str
    constants: dict[str, int] = field(default_factory=dict)
    macros: dict[str, Macro] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    code: list[Instruction] = field(default_factory=list)
    numbered: dict[str, list[int]] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)
    expansions: int = 0

    def program(self) -> Program:
        """All of it, references to local labels made unlike those of other files."""
        private = {name for name in self.labels if name not in self.shared}
        code = [Instruction(one.name, tuple(self._operand(i, text, private) for text in one.operands), one.where)
                for i, one in enumerate(self.code)]  # fmt: skip
        labels = {self._own(name) if name in private else name: index for name, index in self.labels.items()}
        labels.update({f"{number}#{index}@{self.file}": index for number, at in self.numbered.items() for index in at})
        constants = {self._own(name): value for name, value in self.constants.items()}
        return Program(tuple(code), labels, constants)

    def place(self, name: str) -> None:
        """A label, before the next instruction."""
        if name.isdigit():
            self.numbered.setdefault(name, []).append(len(self.code))
        else:
            self.labels[name] = len(self.code)

    def directive(self, name: str, rest: str, line: Line) -> None:
        """A line that begins with a dot; `rest`: what stands behind the name."""
        operands = split(rest)
        if name in (".set", ".equ", ".literal"):
            self.constants[operands[0]] = value(operands[1], self.constants)
        elif name in (".global", ".globl"):
            self.shared.update(operands)
        elif name not in PASSED_OVER:
            raise AssemblyError(f"{line.where}: {name} is not known")

    def _own(self, name: str) -> str:
        return f"{name}@{self.file}"

    def _operand(self, index: int, text: str, private: set[str]) -> str:
        if LOCAL.fullmatch(text):
            at = self.numbered.get(text[:-1], [])
            found = [i for i in at if i <= index] if text[-1] == "b" else [i for i in at if i > index]
            if not found:
                raise AssemblyError(f"{self.code[index].where}: no label for {text}")
            return f"{text[:-1]}#{found[-1] if text[-1] == 'b' else found[0]}@{self.file}"
        if text in private or text in self.constants:
            return self._own(text)
        return text


def read(paths: Iterable[Path], defined: Iterable[str] = ()) -> Program:
    """The files at `paths` as one program. `defined`: names that #ifdef finds."""
    return linked(parse(included(path), path.name, defined) for path in paths)


def included(path: Path) -> str:
    """The file's text with those that it includes from its own folder."""
    return INCLUDE.sub(lambda found: included(path.parent / found[1]), path.read_text())


def parse(text: str, file: str = "source", defined: Iterable[str] = ()) -> Program:
    """A file's text."""
    return walked(Reader(file), text, defined).program()


def walked(reader: Reader, text: str, defined: Iterable[str] = ()) -> Reader:
    """The reader, having read the text of its file."""
    _walk(reader, list(_chosen(_lines(text, reader.file), set(defined))))
    return reader


def split(operands: str) -> tuple[str, ...]:
    """The parts between commas."""
    return tuple(part.strip() for part in operands.split(",")) if operands else ()


def _lines(text: str, file: str) -> Iterator[Line]:
    plain = BLOCK_COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text)
    for number, line in enumerate(plain.splitlines(), 1):
        rest = LINE_COMMENT.sub("", line).strip()
        for part in rest.split(";"):
            if part.strip():
                yield Line(part.strip(), f"{file}:{number}")


def _chosen(lines: Iterator[Line], defined: set[str]) -> Iterator[Line]:
    """Lines that the preprocessor and .ifdef leave; both see names that .set and #define make."""
    open_blocks: list[bool] = []
    for line in lines:
        word, *rest = re.split(r"[\s,]+", line.text.lstrip("#."), maxsplit=2)
        is_directive = line.text[0] in "#."
        if is_directive and word in CONDITIONS:
            open_blocks.append((rest[0] in defined) == (word == "ifdef"))
        elif is_directive and word == "else":
            open_blocks[-1] = not open_blocks[-1]
        elif is_directive and word == "endif":
            open_blocks.pop()
        elif all(open_blocks):
            if is_directive and word in ("set", "equ", "define"):
                defined.add(rest[0])
            if line.text[0] != "#":
                yield line


def _walk(reader: Reader, lines: list[Line]) -> None:
    at = 0
    while at < len(lines):
        line = lines[at]
        word = line.text.split(maxsplit=1)[0]
        if word == ".macro":
            end = _end_of(lines, at, ".macro", ".endm")
            name, macro = _macro(line, tuple(lines[at + 1 : end]))
            reader.macros[name] = macro
            at = end + 1
        elif word == ".rept":
            end = _end_of(lines, at, ".rept", ".endr")
            for _ in range(value(line.text.split(maxsplit=1)[1], reader.constants)):
                _walk(reader, lines[at + 1 : end])
            at = end + 1
        else:
            _statement(reader, line)
            at += 1


def _end_of(lines: list[Line], start: int, opens: str, closes: str) -> int:
    depth = 0
    for index in range(start, len(lines)):
        word = lines[index].text.split(maxsplit=1)[0]
        depth += (word == opens) - (word == closes)
        if depth == 0:
            return index
    raise AssemblyError(f"{lines[start].where}: {opens} without {closes}")


def _macro(line: Line, body: tuple[Line, ...]) -> tuple[str, Macro]:
    _, name, *rest = line.text.split(maxsplit=2)
    parameters = []
    for word in rest[0].split(",") if rest else []:
        parameter, equals, default = word.partition("=")
        parameters.append((parameter.strip(), default.strip() if equals else None))
    return name, Macro(tuple(parameters), body)


def _statement(reader: Reader, line: Line) -> None:
    text = line.text
    while found := LABEL.match(text):
        reader.place(found[1])
        text = text[found.end() :].strip()
    if not text:
        return
    name, *parts = text.split(maxsplit=1)
    rest = parts[0] if parts else ""
    if name in reader.macros:
        _expand(reader, reader.macros[name], split(rest), line)
    elif name.startswith("."):
        reader.directive(name, rest, line)
    else:
        reader.code.append(Instruction(name.lstrip("_").lower(), split(rest), line.where))


def _expand(reader: Reader, macro: Macro, given: tuple[str, ...], line: Line) -> None:
    values: dict[str, str] = {"@": str(reader.expansions)}
    reader.expansions += 1
    by_name = dict(part.split("=", 1) for part in given if "=" in part)
    in_order = [part for part in given if "=" not in part]
    for i, (name, default) in enumerate(macro.parameters):
        chosen = in_order[i] if i < len(in_order) else by_name.get(name, default)
        if chosen is None:
            raise AssemblyError(f"{line.where}: {name} is missing")
        values[name] = chosen

    def replaced(text: str) -> str:
        return re.sub(r"\\(@|\w+)", lambda found: values.get(found[1], found[0]), text).replace("\\()", "")

    _walk(reader, [Line(replaced(one.text), one.where) for one in macro.body])


def value(text: str, constants: Mapping[str, int]) -> int:
    """A constant expression of +, -, *, shifts and parentheses; its names by `constants`."""
    named = NAME.sub(lambda found: str(constants[found[0]]) if found[0] in constants else found[0], text)
    try:
        return _evaluated(ast.parse(named, mode="eval").body)
    except (SyntaxError, ValueError) as error:
        raise AssemblyError(f"{text!r} is no number") from error


def _evaluated(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_evaluated(node.operand)
    if isinstance(node, ast.BinOp):
        left, right = _evaluated(node.left), _evaluated(node.right)
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, ast.LShift):
            return left << right
    raise ValueError

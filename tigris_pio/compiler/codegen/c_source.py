"""Parses C sources to a tree of declarations, from which `kernels` selects.

Only the runtime's own sources can be parsed: directives and declarations begin in their own lines, and no macro makes
declarations. A declaration that the parser misses is undeclared in the result, so the C compiler reports it.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias

_LEXEME = re.compile(
    r'/\*.*?\*/|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|(?P<name>[A-Za-z_]\w*)|\d[\w.]*|->|\s+|.', re.DOTALL
)
_DIRECTIVE = re.compile(r"#[ \t]*(\w+)((?:[^\n\\/]|/(?!\*)|\\.|\\\n|/\*.*?\*/)*)", re.DOTALL)


@dataclasses.dataclass(frozen=True)
class Declaration:
    """A function, a type, a constant, a macro or another directive, with the comment above it."""

    text: str
    comment: str
    defines: frozenset[str]  #: names at file level; empty: an assertion or a pragma
    uses: frozenset[str]  #: every name in it, including `defines`


@dataclasses.dataclass(frozen=True)
class Branch:
    """A directive such as `#if X` or `#else`, and the nodes of its branch."""

    directive: str
    nodes: tuple[Node, ...]


@dataclasses.dataclass(frozen=True)
class Conditional:
    """The branches from `#if` to `#endif`."""

    branches: tuple[Branch, ...]


@dataclasses.dataclass(frozen=True)
class Include:
    """`#include`; `target` with its quotes or brackets."""

    target: str


Node: TypeAlias = Declaration | Conditional | Include


def lexemes(text: str) -> Iterator[tuple[str, bool]]:
    """Yields the pieces of `text`, including comments and white space, and whether each is a name."""
    for match in _LEXEME.finditer(text):
        yield match[0], match["name"] is not None


def names_in(text: str) -> frozenset[str]:
    """Every name in `text` outside comments and literals."""
    return frozenset(piece for piece, is_name in lexemes(text) if is_name)


def strip_guard(text: str) -> str:
    """`text` without its include guard."""
    found = re.search(r"^#ifndef (\w+_H)\n#define \1\n", text, re.MULTILINE)
    if found is None:
        return text
    inner = text[: found.start()] + text[found.end() :]
    return re.sub(r"#endif\s*\Z", "", inner)


def resolve_conditionals(text: str, known: Mapping[str, str | None]) -> str:
    """`text` without the conditionals that `known` decides. known: macro to value; None: undefined."""
    kept: list[str] = []
    open_ifs: list[bool | None] = []  # for each #if around: whether this branch stays; None: undecided
    for line in text.split("\n"):
        word = line.split(None, 1)[0] if line.startswith("#") else ""
        if word in ("#if", "#ifdef", "#ifndef"):
            decision = _decision(line, known)
            if all(stays is not False for stays in open_ifs) and decision is None:
                kept.append(line)
            open_ifs.append(decision)
            continue
        if word in ("#else", "#endif") and open_ifs[-1] is not None:
            open_ifs[-1] = not open_ifs[-1]
            if word == "#endif":
                open_ifs.pop()
            continue
        if all(stays is not False for stays in open_ifs):
            kept.append(line)
        if word == "#endif":
            open_ifs.pop()
    return "\n".join(kept)


def _decision(line: str, known: Mapping[str, str | None]) -> bool | None:
    word, condition = ([*line.split(), ""])[:2]
    name = condition.removeprefix("!") if word == "#if" else condition
    if name not in known or len(line.split()) != 2:
        return None
    if word == "#if":
        return (known[name] in (None, "0")) == (name != condition)
    return (known[name] is not None) == (word == "#ifdef")


def parse(text: str) -> tuple[Node, ...]:
    """Parses a file's text without include guard."""
    return tuple(_Parser(text).nodes(inside=False))


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.comment = ""

    def nodes(self, inside: bool) -> list[Node]:
        """Nodes up to the end of the file, or to the `#else` or `#endif` that ends this branch."""
        found: list[Node] = []
        while self._skip_space():
            if self.text[self.at] == "#":
                match = self._directive()
                if match[1] in ("else", "elif", "endif") and inside:
                    return found
                self.at = match.end()
                found.append(self._of_directive(match))
            else:
                found.append(self._declaration())
            self.comment = ""
        return found

    def _directive(self) -> re.Match[str]:
        match = _DIRECTIVE.match(self.text, self.at)
        assert match is not None
        return match

    def _skip_space(self) -> bool:
        """Moves to the next declaration and keeps the comment right above it; false at the end."""
        while self.at < len(self.text):
            if self.text[self.at].isspace():
                if self.text.startswith("\n\n", self.at):
                    self.comment = ""
                self.at += 1
            elif self.text.startswith("/*", self.at):
                end = self.text.index("*/", self.at) + 2
                self.comment = self.text[self.at : end]
                self.at = end
            else:
                return True
        return False

    def _of_directive(self, match: re.Match[str]) -> Node:
        word, rest, comment = match[1], match[2].strip(), self.comment
        if word == "include":
            return Include(rest.split()[0])
        if word in ("if", "ifdef", "ifndef"):
            return self._conditional(match)
        text = match[0].rstrip()
        names = names_in(rest)
        defines = frozenset({re.split(r"\W", rest, maxsplit=1)[0]}) if word == "define" else frozenset()
        return Declaration(text, comment, defines, names)

    def _conditional(self, match: re.Match[str]) -> Conditional:
        branches = []
        directive = match[0].rstrip()
        while True:
            branches.append(Branch(directive, tuple(self.nodes(inside=True))))
            match = self._directive()
            self.at = match.end()
            if match[1] == "endif":
                return Conditional(tuple(branches))
            directive = match[0].rstrip()

    def _declaration(self) -> Declaration:
        start, depth, before = self.at, 0, ""
        is_function = False
        for match in _LEXEME.finditer(self.text, start):
            piece = match[0]
            if piece == "{":
                is_function = is_function or (depth == 0 and before == ")")
                depth += 1
            depth -= piece == "}"
            if depth == 0 and (piece == ";" or (piece == "}" and is_function)):
                self.at = match.end()
                text = self.text[start : self.at]
                return Declaration(text, self.comment, _defined(text, is_function), names_in(text))
            if not piece.isspace() and not piece.startswith("/*"):
                before = piece
        raise ValueError(f"a declaration does not end: {self.text[start : start + 60]!r}")


def _defined(text: str, is_function: bool) -> frozenset[str]:
    """Names that a declaration defines at file level."""
    plain = re.sub(r"/\*.*?\*/|__attribute__\s*\(\(.*?\)\)\s*", "", text, flags=re.DOTALL)
    if plain.startswith(("typedef", "enum", "struct", "union")) and not is_function:
        return _defined_type(plain)
    if re.match(r"\w+\s*\(", plain):  # a macro that asserts something
        return frozenset()
    if is_function or re.match(r"[^={]*\)\s*;\s*\Z", plain, re.DOTALL):
        return frozenset(re.findall(r"(\w+)\s*\(", plain)[:1])
    return frozenset(re.findall(r"(\w+)\s*(?:\[[^\]]*\]\s*)*(?:=|;)", plain.split("{", 1)[0])[:1])


def _defined_type(text: str) -> frozenset[str]:
    names = set(re.findall(r"\A(?:typedef\s+)?(?:struct|enum|union)\s+(\w+)\s*[{;]", text))
    names |= set(re.findall(r"\}\s*(\w+)\s*;\s*\Z", text))
    names |= set(re.findall(r"\Atypedef\s[^{]*?\(\s*\*\s*(\w+)\s*\)\s*\(", text))
    names |= set(re.findall(r"\Atypedef\s[^{(]*?(\w+)(?:\[[^\]]*\])?\s*;\Z", text))
    if re.match(r"(?:typedef\s+)?enum\b", text) and "{" in text:
        names |= set(re.findall(r"(?:\A|,)\s*(\w+)", text[text.index("{") + 1 : text.rindex("}")]))
    return frozenset(names)

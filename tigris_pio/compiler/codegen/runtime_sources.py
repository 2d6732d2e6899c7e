"""Reads the runtime's sources: the files, their includes, and their declarations after rewriting.

Each file is read once. Static names of a `.c` file get the file's name as prefix.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tigris_pio.compiler.codegen.c_source import (
    Branch,
    Conditional,
    Declaration,
    Include,
    Node,
    lexemes,
    names_in,
    parse,
    resolve_conditionals,
    strip_guard,
)
from tigris_pio.compiler.codegen.call_layout import OWN_TYPES
from tigris_pio.errors import ToolError
from tigris_pio.format.c_header import PARAMS_PATH, render_params

_PACKAGE = Path(__file__).resolve().parents[2]
_ENTRY = re.compile(r"^TIGRIS_KERNEL_ENTRY\((\w+),[^)]*?(\w+),\s*\w+\);", re.MULTILINE)
_FUNCTION = re.compile(r"^(?!static|typedef|extern)\w[\w *]*?\b(tigris_\w+)\([^;{]*\)\n\{", re.MULTILINE)
_BODY = re.compile(r"^static void run\(", re.MULTILINE)
#: Macros that are undefined in generated C; code for them is left out.
_UNDEFINED: dict[str, str | None] = {"__cplusplus": None, "TIGRIS_MVE": None}


@cache
def runtime() -> Path:
    """The folder of the runtime: in a checkout, or in the installed package."""
    folders = [path for path in (_PACKAGE.parent / "runtime", _PACKAGE / "runtime") if (path / "src").is_dir()]
    if not folders:
        raise ToolError(f"the runtime's sources, which codegen reads, are not in {_PACKAGE}; install tigris-pio again")
    return folders[0].resolve()


@cache
def text_of(path: Path) -> str:
    """The text of a file. Structs of parameters have all comments, because a model's file may have only one of them."""
    return render_params(every_comment=True) if path.name == PARAMS_PATH.name else path.read_text("utf-8")


@cache
def entries() -> Mapping[str, tuple[Path, str]]:
    """File and `run` function of each kernel entry."""
    found = {}
    for path in sorted((runtime() / "src" / "kernels").glob("*.c")):
        text = text_of(path)
        bodies = "".join(text_of(header) for header in _bodies(path))
        for match in _ENTRY.finditer(text + bodies):
            found[match[1]] = (path, match[2])
    return found


@cache
def kernel_files() -> frozenset[str]:
    """Names of the kernels' files without ending, which are prefixes of their functions."""
    return frozenset(path.stem for path in (runtime() / "src" / "kernels").glob("*.c"))


@cache
def functions() -> Mapping[str, Path]:
    """The file of each external function."""
    paths = sorted((runtime() / "src").rglob("*.c"))
    found = {match[1]: path for path in paths for match in _FUNCTION.finditer(text_of(path))}
    return {name: path for name, path in found.items() if name not in OWN_TYPES}


def _header(path: Path, target: str) -> Path:
    """The file that `path` includes as "target"."""
    near = (path.parent / target.strip('"')).resolve()
    return near if near.exists() else runtime() / "include" / target.strip('"')


def _bodies(path: Path) -> list[Path]:
    """Headers in `path` that hold the body of several kernels; each kernel gets its own copy."""
    targets = re.findall(r'^#include ("[^"]+")', text_of(path), re.MULTILINE)
    headers = [_header(path, target) for target in targets]
    return [header for header in headers if _BODY.search(text_of(header))]


def _settings(path: Path) -> dict[str, str | None]:
    """Macros in the conditions of a kernel's body, with the kernel's values; None: undefined."""
    choice = re.compile(r"^#if(?:n?def)? !?(TIGRIS\w+)$", re.MULTILINE)
    asked = {name for body in _bodies(path) for name in choice.findall(text_of(body))}
    asked = {name for name in asked if not name.endswith("_H")}
    given = dict(re.findall(r"^#define (\w+)(?: (\w+))?$", text_of(path), re.MULTILINE))
    return {name: given.get(name) for name in sorted(asked)}


@dataclasses.dataclass(frozen=True)
class Inlined:
    """A header whose #include depends on the machine; its declarations stay at that place."""

    path: Path
    nodes: tuple[Any, ...]


@dataclasses.dataclass(frozen=True)
class File:
    """A file's includes (own and of the C library), and its declarations after rewriting."""

    headers: tuple[Path, ...]
    system: frozenset[str]
    nodes: tuple[Any, ...]


@cache
def source_file(path: Path) -> File:
    """Reads a `.c` file with the bodies that it includes; its static names get its name as prefix."""
    settings: dict[str, str | None] = {**_settings(path), **_UNDEFINED}
    reader = _Reader(settings, frozenset(_bodies(path)))
    nodes = reader.read(path)
    names = {
        name: f"{path.stem}_{name.removeprefix('tigris_')}"
        for node in declarations(nodes)
        for name in node.defines
        if node.text.startswith("static") or not name.startswith(("tigris_", "TIGRIS_"))
    }
    return File(tuple(reader.headers), frozenset(reader.system), _rewritten(nodes, names, set(settings)))


@cache
def header_file(path: Path) -> File:
    """Reads a header."""
    reader = _Reader(_UNDEFINED, frozenset())
    nodes = reader.read(path)
    return File(tuple(reader.headers), frozenset(reader.system), _rewritten(nodes, {}, set(_UNDEFINED)))


class _Reader:
    """Reads a file and lists its includes."""

    def __init__(self, settings: Mapping[str, str | None], bodies: frozenset[Path]) -> None:
        self.headers: list[Path] = []
        self.system: set[str] = set()
        self._settings, self._bodies = settings, bodies

    def read(self, path: Path) -> list[Any]:
        """The declarations of a file. An include behind a body's first declaration is a part of the body."""
        nodes: list[Any] = []
        for node in parse(strip_guard(resolve_conditionals(text_of(path), self._settings))):
            if not isinstance(node, Include):
                nodes += self._inside(path, node)
            elif node.target.startswith("<"):
                self.system.add(node.target)
            elif _header(path, node.target) in self._bodies or (path in self._bodies and any(declarations(nodes))):
                nodes += self.read(_header(path, node.target))
            else:
                self.headers.append(_header(path, node.target))
        return nodes

    def _inside(self, path: Path, node: Node) -> list[Any]:
        """`node` with includes that depend on the machine replaced by the files."""
        if isinstance(node, Include):
            if node.target.startswith("<"):
                return [Declaration(f"#include {node.target}", "", frozenset(), frozenset())]
            header = _header(path, node.target)
            inner = parse(strip_guard(resolve_conditionals(text_of(header), self._settings)))
            return [Inlined(header, tuple(new for child in inner for new in self._inside(header, child)))]
        if isinstance(node, Declaration):
            return [node]
        branches = [
            Branch(branch.directive, tuple(new for child in branch.nodes for new in self._inside(path, child)))
            for branch in node.branches
        ]
        return [Conditional(tuple(branches))]


def declarations(nodes: Iterable[Any]) -> Iterator[Declaration]:
    """Yields every declaration, also inside conditionals and inlined headers."""
    for node in nodes:
        if isinstance(node, Declaration):
            yield node
        elif isinstance(node, Conditional):
            for branch in node.branches:
                yield from declarations(branch.nodes)
        elif isinstance(node, Inlined):
            yield from declarations(node.nodes)


def _rewritten(nodes: Iterable[Any], names: Mapping[str, str], dropped: set[str]) -> tuple[Any, ...]:
    """`nodes` with static names prefixed, without what TYPES of call_layout replaces."""
    result: list[Any] = []
    for node in nodes:
        if isinstance(node, Inlined):
            result.append(Inlined(node.path, _rewritten(node.nodes, names, dropped)))
        elif isinstance(node, Conditional):
            branches = [
                Branch(_renamed(branch.directive, names), _rewritten(branch.nodes, names, dropped))
                for branch in node.branches
            ]
            result.append(Conditional(tuple(branches)))
        elif isinstance(node, Declaration) and not node.defines & (dropped | OWN_TYPES):
            text = _renamed(node.text, names)
            defines = frozenset(names.get(name, name) for name in node.defines)
            result.append(Declaration(text, node.comment, defines, names_in(text)))
    return tuple(result)


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """`text` with names changed, except members of structs."""
    pieces = list(lexemes(text))
    is_struct = re.match(r"(?:typedef\s+)?(?:struct|union)\b", text) is not None
    result, depth = [], 0
    for place, (piece, is_name) in enumerate(pieces):
        depth += (piece == "{") - (piece == "}")
        if is_name and piece in names:
            before = next((other for other, _ in reversed(pieces[:place]) if not other.isspace()), "")
            after = next((other for other, _ in pieces[place + 1 :] if not other.isspace()), "")
            member = before in (".", "->") or (is_struct and depth > 0 and after in (";", ",", "[", ":"))
            result.append(piece if member else names[piece])
        else:
            result.append(piece)
    return "".join(result)

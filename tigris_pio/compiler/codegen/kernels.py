"""The kernels that a model needs, out of the runtime's own sources, as text that compiles in one file.

Taken are the functions that compute, with the types, macros and functions that they use, and nothing else: no checks of
plans, for what the compiler writes need not be checked on the chip. Names that a file has for itself begin with the
file's name afterwards, so that all go into one.

How they see a call is another matter than in the runtime: call_layout.py.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tigris_pio.compiler.codegen.call_layout import OWN_TYPES, as_bands
from tigris_pio.compiler.codegen.c_source import (
    Branch,
    Conditional,
    Declaration,
    Include,
    Node,
    lexemes,
    names_in,
    parse,
    resolved,
    without_guard,
)

RUNTIME = Path(__file__).resolve().parents[3] / "runtime"
_ENTRY = re.compile(r"^const tigris_kernel_entry (\w+) = \{([^}]*)\};", re.MULTILINE)
_FUNCTION = re.compile(r"^(?!static|typedef|extern)\w[\w *]*?\b(tigris_\w+)\([^;{]*\)\n\{", re.MULTILINE)
_BODY = re.compile(r"^static void run\(", re.MULTILINE)

@dataclasses.dataclass(frozen=True)
class Bundle:
    """Text of the kernels, still without a layout of calls, the C library's headers that it needs, and each kernel's function by its entry's name.

    asks_first: entries of the kernels that ask for the numbers of rows.
    """

    includes: tuple[str, ...]
    text: str
    functions: Mapping[str, str]
    asks_first: frozenset[str]


@dataclasses.dataclass(frozen=True)
class _Part:
    """A file's declarations, as they are written."""

    path: Path
    nodes: tuple[Node, ...]


@cache
def _text(path: Path) -> str:
    return path.read_text("utf-8")


@cache
def _entries() -> Mapping[str, tuple[Path, str]]:
    """Of each kernel's entry the file and the function that computes."""
    found = {}
    for path in sorted((RUNTIME / "src" / "kernels").glob("*.c")):
        text = _text(path)
        bodies = "".join(_text(header) for header in _bodies(path))
        for match in _ENTRY.finditer(text + bodies):
            found[match[1]] = (path, [word.strip() for word in match[2].split(",")][3])
    return found


@cache
def _functions() -> Mapping[str, Path]:
    """The file of each function that other files may call."""
    paths = sorted((RUNTIME / "src").rglob("*.c"))
    return {match[1]: path for path in paths for match in _FUNCTION.finditer(_text(path))}


def _header(path: Path, target: str) -> Path:
    """The file that `path` includes as "target"."""
    near = (path.parent / target.strip('"')).resolve()
    return near if near.exists() else RUNTIME / "include" / target.strip('"')


def _bodies(path: Path) -> list[Path]:
    """Headers that are the body of several kernels, as `path` includes them: each kernel has its own copy."""
    targets = re.findall(r'^#include ("[^"]+")', _text(path), re.MULTILINE)
    headers = [_header(path, target) for target in targets]
    return [header for header in headers if _BODY.search(_text(header))]


def _settings(path: Path) -> dict[str, str | None]:
    """Macros by which a kernel chooses in its body."""
    asked = {name for body in _bodies(path) for name in re.findall(r"^#if(?:n?def)? (TIGRIS\w+)$", _text(body), re.M)}
    asked = {name for name in asked if not name.endswith("_H")}
    given = dict(re.findall(r"^#define (\w+)(?: (\w+))?$", _text(path), re.MULTILINE))
    return {name: given.get(name) for name in sorted(asked)}


@dataclasses.dataclass(frozen=True)
class _Inlined:
    """A header that is included where some machine wants it, in its place."""

    path: Path
    nodes: tuple[Any, ...]


@dataclasses.dataclass(frozen=True)
class _File:
    """What a file includes, and its own declarations as they are to be written."""

    headers: tuple[Path, ...]
    system: frozenset[str]
    nodes: tuple[Any, ...]


@cache
def _source_file(path: Path) -> _File:
    """A `.c` file, with the bodies that it includes; its own names begin with its name."""
    settings: dict[str, str | None] = {"__cplusplus": None, **_settings(path)}
    reader = _Reader(settings, frozenset(_bodies(path)))
    nodes = reader.read(path)
    names = {
        name: f"{path.stem}_{name.removeprefix('tigris_')}"
        for node in _declarations(nodes)
        for name in node.defines
        if node.text.startswith("static") or not name.startswith(("tigris_", "TIGRIS_"))
    }
    return _File(tuple(reader.headers), frozenset(reader.system), _rewritten(nodes, names, set(settings)))


@cache
def _header_file(path: Path) -> _File:
    """A header."""
    reader = _Reader({"__cplusplus": None}, frozenset())
    nodes = reader.read(path)
    return _File(tuple(reader.headers), frozenset(reader.system), _rewritten(nodes, {}, {"__cplusplus"}))


class _Reader:
    """Reads a file apart from what it includes."""

    def __init__(self, settings: Mapping[str, str | None], bodies: frozenset[Path]) -> None:
        self.headers: list[Path] = []
        self.system: set[str] = set()
        self._settings, self._bodies = settings, bodies

    def read(self, path: Path) -> list[Any]:
        """Its declarations."""
        nodes: list[Any] = []
        for node in parse(without_guard(resolved(_text(path), self._settings))):
            if not isinstance(node, Include):
                nodes += self._inside(path, node)
            elif node.target.startswith("<"):
                self.system.add(node.target)
            elif _header(path, node.target) in self._bodies:
                nodes += self.read(_header(path, node.target))
            else:
                self.headers.append(_header(path, node.target))
        return nodes

    def _inside(self, path: Path, node: Node) -> list[Any]:
        """`node` with files in place of the includes that depend on the machine."""
        if isinstance(node, Include):
            if node.target.startswith("<"):
                return [Declaration(f"#include {node.target}", "", frozenset(), frozenset())]
            header = _header(path, node.target)
            inner = parse(without_guard(resolved(_text(header), self._settings)))
            return [_Inlined(header, tuple(new for child in inner for new in self._inside(header, child)))]
        if isinstance(node, Declaration):
            return [node]
        branches = [
            Branch(branch.directive, tuple(new for child in branch.nodes for new in self._inside(path, child)))
            for branch in node.branches
        ]
        return [Conditional(tuple(branches))]


class _Collector:
    """Files in the order in which their declarations must stand, each once."""

    def __init__(self) -> None:
        self.parts: list[_Part] = []
        self.system: set[str] = set()
        self._done: set[Path] = set()

    def add_source(self, path: Path) -> None:
        """A `.c` file with what it includes."""
        self._add(path, _source_file)

    def add_header(self, path: Path) -> None:
        """A header with what it includes."""
        self._add(path, _header_file)

    def _add(self, path: Path, read: Callable[[Path], _File]) -> None:
        if path in self._done:
            return
        self._done.add(path)
        file = read(path)
        self.system |= file.system
        for header in file.headers:
            self.add_header(header)
        self.parts.append(_Part(path, tuple(self._once(file.nodes))))

    def _once(self, nodes: Iterable[Any]) -> Iterator[Node]:
        """`nodes` with inlined headers that no file before has."""
        for node in nodes:
            if isinstance(node, Conditional):
                yield Conditional(tuple(Branch(b.directive, tuple(self._once(b.nodes))) for b in node.branches))
            elif not isinstance(node, _Inlined):
                yield node
            elif node.path not in self._done:
                self._done.add(node.path)
                yield from self._once(node.nodes)


def _declarations(nodes: Iterable[Any]) -> Iterator[Declaration]:
    for node in nodes:
        if isinstance(node, Declaration):
            yield node
        elif isinstance(node, Conditional):
            for branch in node.branches:
                yield from _declarations(branch.nodes)
        elif isinstance(node, _Inlined):
            yield from _declarations(node.nodes)


def _rewritten(nodes: Iterable[Any], names: Mapping[str, str], dropped: set[str]) -> tuple[Any, ...]:
    """`nodes` with a file's own names changed, and calls as TYPES has them."""
    result: list[Any] = []
    for node in nodes:
        if isinstance(node, _Inlined):
            result.append(_Inlined(node.path, _rewritten(node.nodes, names, dropped)))
        elif isinstance(node, Conditional):
            branches = [
                Branch(_renamed(branch.directive, names), _rewritten(branch.nodes, names, dropped))
                for branch in node.branches
            ]
            result.append(Conditional(tuple(branches)))
        elif isinstance(node, Declaration) and not node.defines & (dropped | OWN_TYPES):
            text = as_bands(_renamed(node.text, names))
            defines = frozenset(names.get(name, name) for name in node.defines)
            result.append(Declaration(text, node.comment, defines, names_in(text)))
    return tuple(result)


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """`text` with names changed, but not where they are members of a struct."""
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


def _needed(parts: Iterable[_Part], roots: Iterable[str]) -> tuple[set[int], set[str]]:
    """The identities of the declarations that `roots` need, and names that no declaration defines."""
    by_name: dict[str, list[Declaration]] = {}
    for part in parts:
        for node in _declarations(part.nodes):
            for name in node.defines:
                by_name.setdefault(name, []).append(node)
    conditions = {id(node): names for part in parts for node, names in _conditions(part.nodes, frozenset())}
    kept: set[int] = set()
    seen, waiting = set(), list(roots)
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for node in by_name.get(name, ()):
            kept.add(id(node))
            waiting += node.uses | conditions[id(node)]
    return kept, seen


def _conditions(nodes: Iterable[Node], around: frozenset[str]) -> Iterator[tuple[Declaration, frozenset[str]]]:
    """Every declaration, and the names in the directives around it."""
    for node in nodes:
        if isinstance(node, Conditional):
            named = around.union(*(names_in(branch.directive) for branch in node.branches))
            for branch in node.branches:
                yield from _conditions(branch.nodes, named)
        elif isinstance(node, Declaration):
            yield node, around


def _written(nodes: Iterable[Node], kept: set[int], seen: set[str]) -> list[str]:
    """Texts of what is kept. Assertions and pragmas stay where something else of their file does."""
    any_kept = any(id(node) in kept for node in _declarations(nodes))
    texts = []
    for node in nodes:
        if isinstance(node, Conditional):
            inner = [(branch.directive, _inner(branch, kept, seen, any_kept)) for branch in node.branches]
            if any(text for _, text in inner):
                texts.append("\n".join(f"{directive}\n{text}".rstrip() for directive, text in inner) + "\n#endif")
        elif isinstance(node, Declaration) and (id(node) in kept or (any_kept and _stays(node, seen))):
            texts.append((node.comment + "\n" if node.comment else "") + _static(node))
    return texts


def _inner(branch: Branch, kept: set[int], seen: set[str], any_kept: bool) -> str:
    """A branch: directives and assertions stay where the file does."""
    texts = _written(branch.nodes, kept, seen)
    if not texts and any_kept:
        texts = [node.text for node in branch.nodes if isinstance(node, Declaration) and _stays(node, seen)]
    return "\n".join(texts)


def _stays(node: Declaration, seen: set[str]) -> bool:
    if node.defines:
        return False
    if node.text.startswith("#"):
        return True
    own = {name for name in node.uses if name.startswith("tigris_")}
    return own <= seen


def _static(node: Declaration) -> str:
    """A function that other files of the runtime may call is this file's own, but apart as it is there: what is called
    seldom would make those worse that call it."""
    plain = node.text.startswith(("static", "typedef", "enum", "struct", "union", "#", "TIGRIS_"))
    return node.text if plain else "static TIGRIS_APART " + node.text


def bundle(symbols: Iterable[str], types: Iterable[str] = (), functions: Iterable[str] = ()) -> Bundle:
    """The kernels of the entries `symbols`, the runtime's `types`, and functions of the runtime that are no kernels."""
    collector = _Collector()
    found: dict[str, str] = {}
    for symbol in dict.fromkeys(symbols):
        path, function = _entries()[symbol]
        collector.add_source(path)
        found[symbol] = f"{path.stem}_{function}"
    collector.add_header(RUNTIME / "include" / "tigris_format.h")
    roots = [*found.values(), *types, *functions, "TIGRIS_STATIC_ASSERT"]
    while True:
        kept, seen = _needed(collector.parts, roots)
        defined = {name for part in collector.parts for node in _declarations(part.nodes) if "{" in node.text
                   for name in node.defines}  # fmt: skip
        missing = sorted({_functions()[name] for name in seen - defined if name in _functions()})
        if not missing:
            break
        for path in missing:
            collector.add_source(path)
    texts = ["\n\n".join(_written(part.nodes, kept, seen)) for part in collector.parts]
    text = "\n\n".join(text for text in texts if text)
    for name in found.values():
        text = re.sub(rf"^static (void {name}\()", r"static TIGRIS_APART \1", text, flags=re.MULTILINE)
    asks = frozenset(symbol for symbol, name in found.items() if "first_row" in _needed(collector.parts, [name])[1])
    return Bundle(_system(collector.system, text), text + "\n", found, asks)


def _system(found: set[str], text: str) -> tuple[str, ...]:
    """The C library's headers that the text needs."""
    uses = names_in(text)
    asked = {"<string.h>": {"memcpy", "memmove", "memset", "memcmp"}, "<stddef.h>": {"NULL", "size_t", "offsetof"}}
    return tuple(sorted({"<stdint.h>"} | {name for name in found if name not in asked or asked[name] & uses}))

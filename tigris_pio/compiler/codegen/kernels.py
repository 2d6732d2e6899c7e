"""Selects the kernels that a model needs from the runtime's sources, as text that compiles in one file.

The text has the functions that compute, and the types, macros and functions that they use. Checks of plans are left
out, because the compiler's own calls need none. A file's static names get the file's name as prefix, so that all files
can be joined.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tigris_pio.compiler.codegen.c_source import Branch, Conditional, Declaration, Node, names_in
from tigris_pio.compiler.codegen.runtime_sources import (
    File,
    Inlined,
    declarations,
    entries,
    functions,
    header_file,
    runtime,
    source_file,
)


@dataclasses.dataclass(frozen=True)
class Bundle:
    """The selected kernels.

    includes: headers of the C library. text: C text. functions: C function by kernel entry.
    first_row_readers: entries of the kernels that read the numbers of rows.
    """

    includes: tuple[str, ...]
    text: str
    functions: Mapping[str, str]
    first_row_readers: frozenset[str]


@dataclasses.dataclass(frozen=True)
class _Part:
    """A file's declarations after rewriting."""

    path: Path
    nodes: tuple[Node, ...]


class _Collector:
    """Collects files, each once, in an order in which their declarations compile."""

    def __init__(self) -> None:
        self.parts: list[_Part] = []
        self.system: set[str] = set()
        self._done: set[Path] = set()

    def add_source(self, path: Path) -> None:
        """Adds a `.c` file and its includes."""
        self._add(path, source_file)

    def add_header(self, path: Path) -> None:
        """Adds a header and its includes."""
        self._add(path, header_file)

    def _add(self, path: Path, read: Callable[[Path], File]) -> None:
        if path in self._done:
            return
        self._done.add(path)
        file = read(path)
        self.system |= file.system
        for header in file.headers:
            self.add_header(header)
        self.parts.append(_Part(path, tuple(self._once(file.nodes))))

    def _once(self, nodes: Iterable[Any]) -> Iterator[Node]:
        """`nodes` with inlined headers replaced by their declarations, unless an earlier file has them."""
        for node in nodes:
            if isinstance(node, Conditional):
                yield Conditional(tuple(Branch(b.directive, tuple(self._once(b.nodes))) for b in node.branches))
            elif not isinstance(node, Inlined):
                yield node
            elif node.path not in self._done:
                self._done.add(node.path)
                yield from self._once(node.nodes)


def _needed(parts: Iterable[_Part], roots: Iterable[str]) -> tuple[set[int], set[str]]:
    """The id() of each declaration that `roots` need, and all names that these use."""
    by_name: dict[str, list[Declaration]] = {}
    for part in parts:
        for node in declarations(part.nodes):
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
    """Yields every declaration with the names in the directives around it."""
    for node in nodes:
        if isinstance(node, Conditional):
            named = around.union(*(names_in(branch.directive) for branch in node.branches))
            for branch in node.branches:
                yield from _conditions(branch.nodes, named)
        elif isinstance(node, Declaration):
            yield node, around


def _written(nodes: Iterable[Node], kept: set[int], seen: set[str]) -> list[str]:
    """Texts of the kept declarations. Assertions and pragmas stay if another declaration of their file does."""
    any_kept = any(id(node) in kept for node in declarations(nodes))
    texts = []
    for node in nodes:
        if isinstance(node, Conditional):
            inner = [(branch.directive, _inner(branch, kept, seen, any_kept)) for branch in node.branches]
            if any(text for _, text in inner):
                texts.append("\n".join(f"{directive}\n{text}".rstrip() for directive, text in inner) + "\n#endif")
        elif isinstance(node, Declaration) and node.text.startswith("extern inline "):
            continue  # only makes the function external for other files
        elif isinstance(node, Declaration) and (id(node) in kept or (any_kept and _stays(node, seen))):
            texts.append((node.comment + "\n" if node.comment else "") + _static(node))
    return texts


def _inner(branch: Branch, kept: set[int], seen: set[str], any_kept: bool) -> str:
    """Text of a branch; directives and assertions stay if another declaration of the file does."""
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
    """Makes an external or inline function static."""
    if node.text.startswith("inline "):
        return "static " + node.text
    plain = node.text.startswith(("static", "typedef", "enum", "struct", "union", "#", "TIGRIS_"))
    return node.text if plain else "TIGRIS_SHARED " + node.text


def bundle(symbols: Iterable[str], types: Iterable[str] = (), helpers: Iterable[str] = ()) -> Bundle:
    """Selects the kernels of the entries `symbols`, the runtime's `types`, and `helpers`: other functions."""
    collector = _Collector()
    found: dict[str, str] = {}
    for symbol in dict.fromkeys(symbols):
        path, function = entries()[symbol]
        collector.add_source(path)
        found[symbol] = f"{path.stem}_{function}"
    collector.add_header(runtime() / "include" / "tigris_params.h")
    roots = [*found.values(), *types, *helpers, "TIGRIS_STATIC_ASSERT"]
    while True:
        kept, seen = _needed(collector.parts, roots)
        defined = {name for part in collector.parts for node in declarations(part.nodes) if "{" in node.text
                   for name in node.defines}  # fmt: skip
        missing = sorted({functions()[name] for name in seen - defined if name in functions()})
        if not missing:
            break
        for path in missing:
            collector.add_source(path)
    texts = ["\n\n".join(_written(part.nodes, kept, seen)) for part in collector.parts]
    text = "\n\n".join(text for text in texts if text)
    for name in found.values():
        text = re.sub(rf"^static (void {name}\()", r"static TIGRIS_OWN_FRAME \1", text, flags=re.MULTILINE)
    reader = "tigris_first_row"
    asks = frozenset(symbol for symbol, name in found.items() if reader in _needed(collector.parts, [name])[1])
    return Bundle(_system(collector.system, text), text + "\n", found, asks)


def _system(found: set[str], text: str) -> tuple[str, ...]:
    """Headers of the C library that the text needs."""
    uses = names_in(text)
    asked = {"<string.h>": {"memcpy", "memmove", "memset", "memcmp"}, "<stddef.h>": {"NULL", "size_t", "offsetof"}}
    return tuple(sorted({"<stdint.h>"} | {name for name in found if name not in asked or asked[name] & uses}))

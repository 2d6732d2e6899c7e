"""Copies the kernels that a model needs from the runtime's sources, as text that compiles in one file.

A kernel's file is copied with the files that it includes, each once. Paragraphs are left out unless the model's kernels
reach the names that they define; so are checks of plans. tigris_calls.h replaces the runtime's types of calls.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from tigris_pio.compiler.backends.chips import kernel_macros
from tigris_pio.errors import ToolError
from tigris_pio.format.c_header import PARAMS_PATH, render_params

_PACKAGE = Path(__file__).resolve().parents[2]
#: Functions that generated code calls besides kernels, and their files.
HELPERS = {"tigris_move": "move.c", "tigris_lz4_decompress": "lz4.c"}
#: Names that each file needs: of assertions, and of the types in records of tensors.
_ROOTS = ("TIGRIS_STATIC_ASSERT", "tigris_dtype")
_ENTRY = re.compile(r"^TIGRIS_(?:KERNEL|SET|PIE|POOL)_ENTRY\((\w+),\s*\w+,\s*\w+,\s*\w+,\s*(\w+),", re.MULTILINE)
_GUARD = re.compile(r"^#ifndef (\w+_H)\n#define \1\n(.*)^#endif\s*\Z", re.MULTILINE | re.DOTALL)
_QUOTED = r'/\*.*?\*/|"(?:\\.|[^"\\])*"'
_INCLUDE = re.compile(r'^#include (?:"(.+)"|(<.+>))', re.MULTILINE)
_CONDITION = re.compile(r"^#(if|el|endif).*\Z", re.MULTILINE)
#: Values of conditions in all generated C: it has no kernels of these instruction sets.
_DECIDED = {"TIGRIS_MVE": False, "TIGRIS_PIE": False, "__cplusplus": False}
#: Names at file level: macros, types, constants of enumerations, functions and variables.
_NAMES = re.compile(
    r"^#define (\w+)|^\} (\w+);|^typedef [^;{]*?(\w+);|^typedef .*?\(\*(\w+)\)|^    ([A-Z][A-Z_\d]+)(?: = .*)?,?$"
    r"|^(?!typedef|struct|enum|union|extern|#|TIGRIS_[A-Z_]+\()[A-Za-z_][\w *]*?\b(?!__)(\w+)(?:\[.*?\])*(?:\(| =|;)",
    re.MULTILINE)  # fmt: skip
_EMPTY = re.compile(r"^(?:/\*(?:[^*]|\*(?!/))*\*/\n)?#if.*\n+(?:#el.*\n+)*#endif\n+", re.MULTILINE)
_EXTERNAL = re.compile(r"^(?=(?!static|typedef|struct|enum|union|extern)[a-z][\w *]*\()", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Paragraph:
    """A definition or a directive. names: those that it defines; words: all in it."""

    text: str
    names: frozenset[str]
    words: frozenset[str]


@dataclasses.dataclass(frozen=True)
class Bundle:
    """The copied kernels.

    includes: headers of the C library. functions: C function by kernel entry.
    first_row_readers: entries of the kernels that read the numbers of rows.
    """

    includes: tuple[str, ...]
    text: str
    functions: Mapping[str, str]
    first_row_readers: frozenset[str]


@cache
def sources() -> Path:
    """The folder of the runtime's sources: in a checkout, or in the installed package."""
    folders = [path for path in (_PACKAGE.parent / "runtime", _PACKAGE / "runtime") if (path / "src").is_dir()]
    if not folders:
        raise ToolError(f"the runtime's sources, which codegen copies, are not in {_PACKAGE}; install tigris-pio again")
    return folders[0].resolve() / "src"


@cache
def text_of(path: Path) -> str:
    """The text of a file. Structs of parameters have all comments, because a model's file may have only one of them."""
    return render_params(every_comment=True) if path.name == PARAMS_PATH.name else path.read_text("utf-8")


@cache
def entries() -> Mapping[str, tuple[Path, str]]:
    """File and `run` function of each kernel entry."""
    paths = sorted((sources() / "kernels").glob("*.c"))
    return {match[1]: (path, match[2]) for path in paths for match in _ENTRY.finditer(text_of(path))}


@cache
def kernel_files() -> frozenset[str]:
    """Names of the kernels' files without ending, which are prefixes of their functions."""
    return frozenset(path.stem for path in (sources() / "kernels").glob("*.c"))


def names_in(text: str) -> frozenset[str]:
    """Every name in `text` outside comments and strings."""
    return frozenset(re.findall(r"[A-Za-z_]\w*", re.sub(_QUOTED, "", text, flags=re.DOTALL)))


def inner(text: str) -> str:
    """The text of a header inside its include guard."""
    guard = _GUARD.search(text)
    return guard[2] if guard else text


def shared_text(file: str) -> str:
    """The text of a file of runtime/codegen, without guard and includes."""
    return _INCLUDE.sub("", inner(text_of(sources().parent / "codegen" / file))).strip("\n") + "\n"


def types() -> str:
    """C text of the types of calls."""
    return shared_text("tigris_calls.h")


def _defined(text: str) -> frozenset[str]:
    plain = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    constants = re.findall(r"^enum \{ (.*) \};$", plain, re.MULTILINE)
    return frozenset(name for found in _NAMES.findall(plain) for name in found if name) | names_in(" ".join(constants))


def _value(condition: str, known: Mapping[str, bool]) -> bool | None:
    """The value of names joined by &&, each alone or as !NAME, defined(NAME) or !defined(NAME); None: undecided."""
    found = [re.fullmatch(r"(!?)(?:defined\()?(\w+)\)?", part) for part in condition.split(" && ")]
    values = [known[part[2]] != bool(part[1]) if part and part[2] in known else None for part in found]
    return False if False in values else None if None in values else True


def _decided(text: str, known: Mapping[str, bool]) -> Iterator[str]:
    """The lines of `text` without the branches that `known` excludes."""
    branches: list[bool | None] = []  # for each #if around: whether this branch stays; None: undecided
    for line in text.split("\n"):
        word, _, condition = line.partition(" ")
        if word in ("#if", "#ifdef", "#ifndef"):
            branches.append(_value("!" * (word == "#ifndef") + condition, known))
        elif word == "#else" and branches[-1] is not None:
            branches[-1] = not branches[-1]
        is_directive = re.match("#(?:if|el|endif)", word)
        if False not in branches and not (is_directive and branches[-1] is not None):
            yield line
        if word == "#endif":
            branches.pop()


def _paragraphs(lines: Iterable[str]) -> Iterator[str]:
    """Joins lines to definitions with the comments above them, and to directives."""
    found: list[str] = []
    inside = False
    for line in [*lines, ""]:
        directive = not inside and re.match(r"#(?:if|el|endif|include)", line)
        begins = directive or (not inside and line.startswith("#define"))
        if begins and not (found and found[-1].endswith("*/")):
            yield "\n".join(found)
            found = []
        found.append(line)
        if line[:1].strip() and line.endswith("{"):
            inside = True
        elif line.startswith("}"):
            inside = False
        if directive or not (inside or line):
            yield "\n".join(found).strip("\n")
            found = []


class _Copier:
    """Copies files; headers whose names begin with tigris_ once, others for each kernel's file that includes them."""

    def __init__(self, chip: str) -> None:
        self._known = _DECIDED | kernel_macros(chip)
        self.paragraphs: list[Paragraph] = []
        self.system: set[str] = set()
        self._replaced = _defined(types())
        self._done = set[Path | tuple[Path, Path]]()

    def add(self, path: Path) -> None:
        """Adds a file and the files that it includes."""
        if path in self._done:
            return
        self._done.add(path)
        defined = re.findall(r"^#define (TIGRIS_\w+) ([01])$", text_of(path), re.MULTILINE)
        values = {name: value == "1" for name, value in defined}
        copied = list(self._copied(path, path, values, 0))
        names = {
            name: f"{path.stem}_{re.sub('^tigris_', '', name, flags=re.IGNORECASE)}"
            for text, is_own in copied if is_own
            for name in _defined(text)
            if name in values or re.search("^static", text, re.MULTILINE) or not name.lower().startswith("tigris_")
        }  # fmt: skip
        rename = re.compile(rf"{_QUOTED}|(?<![\w.>])(?:{'|'.join(names) or '$^'})\b", re.DOTALL)
        for text, is_own in copied:
            new = rename.sub(lambda match: names.get(match[0], match[0]), text) if is_own else text
            new = _EXTERNAL.sub("TIGRIS_SHARED ", re.sub(r"^inline ", "static inline ", new, flags=re.MULTILINE))
            self.paragraphs.append(Paragraph(new, _defined(new), names_in(new)))

    def add_bodies(self) -> None:
        """Adds the `.c` files of the headers so far, and of the headers that these include."""
        headers = [found for found in self._done if isinstance(found, Path) and found.suffix == ".h"]
        for body in sorted({header.with_suffix(".c") for header in headers} - self._done):
            if body.exists() and not _ENTRY.search(text_of(body)):
                self.add(body)
                self.add_bodies()

    def _copied(self, path: Path, owner: Path, values: dict[str, bool], depth: int) -> Iterator[tuple[str, bool]]:
        """Yields paragraphs, each with whether it is the owner's own. depth: of conditions around them."""
        text = inner(text_of(path))
        is_own = path.suffix == ".c" or not all(name.lower().startswith("tigris_") for name in _defined(text))
        is_own = is_own or not values.keys().isdisjoint(names_in(text))
        if path != owner:
            if (path, owner) in self._done or path in self._done:
                return
            self._done.add((path, owner) if is_own else path)
        for paragraph in _paragraphs(_decided(text, self._known | values)):
            include, condition = _INCLUDE.search(paragraph), _CONDITION.search(paragraph)
            if include and include[1]:
                near = (path.parent / include[1]).resolve()
                target = near if near.exists() else sources().parent / "include" / include[1]
                yield from self._copied(target, owner, values, depth)
                continue
            if include and depth == 0:
                self.system.add(include[2])
                continue
            depth += {"if": 1, "endif": -1}.get(condition[1], 0) if condition else 0
            if not (self._replaced & _defined(paragraph) or re.search("^extern", paragraph, re.MULTILINE)):
                yield paragraph, is_own


def _reached(paragraphs: Iterable[Paragraph], roots: Iterable[str]) -> frozenset[str]:
    """All names that the definitions of `roots` use."""
    by_name: dict[str, list[Paragraph]] = {}
    for paragraph in paragraphs:
        for name in paragraph.names:
            by_name.setdefault(name, []).append(paragraph)
    seen, waiting = set[str](), set(roots)
    while waiting:
        seen |= waiting
        waiting = {word for name in waiting for found in by_name.get(name, ()) for word in found.words} - seen
    return frozenset(seen)


def _needed(paragraphs: Iterable[Paragraph], seen: frozenset[str]) -> str:
    """Text of the definitions of names in `seen`, of assertions about them, and of conditions around these."""
    defined = frozenset(name for paragraph in paragraphs for name in paragraph.names)
    kept = [
        paragraph.text
        for paragraph in paragraphs
        if names_in(paragraph.text)
        and (paragraph.names & seen if paragraph.names else paragraph.words & defined <= seen
             or _CONDITION.search(paragraph.text))
    ]  # fmt: skip
    text, shorter = "", "\n\n".join(kept) + "\n\n"
    while text != shorter:
        text, shorter = shorter, _EMPTY.sub("", shorter)
    return re.sub(r"(?m)^(#.*)\n\n(?=#)", r"\1\n", text)


def bundle(symbols: Sequence[str], roots: Sequence[str] = (), chip: str = "") -> Bundle:
    """Copies the kernels of the entries `symbols`, and `roots`: types of parameters, and functions of HELPERS.

    chip: branches of other instruction sets are left out; "": for any chip.
    """
    copier = _Copier(chip)
    helpers = [sources() / HELPERS[name] for name in roots if name in HELPERS]
    access = [sources().parent / "include" / PARAMS_PATH.name, sources() / "kernels" / "access.h"]
    for path in (*access, *(entries()[symbol][0] for symbol in symbols), *helpers):
        copier.add(path)
    copier.add_bodies()
    functions = {symbol: f"{path.stem}_{name}" for symbol in symbols for path, name in [entries()[symbol]]}
    found = copier.paragraphs
    declared = "".join(f"static TIGRIS_OWN_FRAME void {name}(const tigris_kernel_call *call);\n"
                       for name in functions.values())  # fmt: skip
    text, seen, wanted = "", frozenset[str](), frozenset([*functions.values(), *roots, *_ROOTS])
    while not wanted <= seen:
        seen = _reached(found, seen | wanted)
        text = _needed(found, seen)
        wanted = names_in("\n".join(re.findall("^#(?:if|el).*", text, re.MULTILINE)))
    readers = frozenset(symbol for symbol, name in functions.items() if "tigris_first_row" in _reached(found, [name]))
    return Bundle(tuple(sorted(copier.system)), f"{declared}\n{text.rstrip()}\n", functions, readers)

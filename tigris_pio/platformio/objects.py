"""How the runtime's sources are compiled: for speed or for size, those that the models need, and each once.

Objects outlive the build folder, which PlatformIO wipes with every change of platformio.ini. Runs inside SCons.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

LEVELS = {"speed": "-O2", "size": "-Os"}
#: What needs no `speed`.
_FAST = ("-O2", "-O3", "-Ofast")
_DEFINED = re.compile(r"^const tigris_(?:kernel_entry|backend) (tigris_\w+) =", re.MULTILINE)
_NAME = re.compile(r"\btigris_\w+")
_HEADER = Path("include", "tigris.h")  #: in the runtime's folder
_TEXTS = (".c", ".cc", ".cpp", ".h", ".hpp", ".ino")
#: Kernels in an instruction set that these chips do not have, by folder.
_MVE = ("cortex-m52", "cortex-m55", "cortex-m85")


def add(env: Any, optimize: str, folders: Iterable[Path], kept: Path, needed: Callable[[], Iterable[str] | None],
        lacks: Iterable[str]) -> None:  # fmt: skip
    """Compiles the runtime's sources, and those in `folders`, as `optimize` says, into objects that stay in `kept`.

    `needed`: texts with the names of kernels that the firmware needs, None: all. `lacks`: folders of kernels for
    instruction sets that the chip does not have.
    """
    others = [folder.resolve() for folder in folders]
    environments: dict[int, tuple[Any, Any]] = {}
    wanted: dict[Path, Callable[[Path], bool]] = {}

    def compiled(of: Any, node: Any) -> Any:
        path = Path(node.srcnode().get_abspath()).resolve()
        runtime = next((folder for folder in path.parents if (folder / _HEADER).is_file()), None)
        if runtime is None and any(folder in path.parents for folder in others):
            return of.Object(node, CCFLAGS=_later(of, optimize))
        if runtime is None:
            return node
        if runtime not in wanted:
            wanted[runtime] = _filter(runtime, needed(), frozenset(lacks))
        if not wanted[runtime](path):
            return None
        if id(of) not in environments:
            environments[id(of)] = of, _environment(of, optimize, kept)
        return environments[id(of)][1].Object(node)

    env.AddBuildMiddleware(compiled)


def _environment(of: Any, optimize: str, kept: Path) -> Any:
    own = of.Clone()
    own.Append(CCFLAGS=_level(own, optimize))
    if not own.get("BUILD_CACHE_DIR"):
        own.CacheDir(str(kept).replace("$", "$$"))
    return own


def _later(of: Any, optimize: str) -> Any:
    """The same flags for sources that are added before the platform has set its own."""

    def flags(target: Any, source: Any, env: Any, for_signature: Any) -> list[Any]:
        return [*of.Flatten(of.get("CCFLAGS", [])), *_level(of, optimize)]

    return flags


def _level(env: Any, optimize: str) -> list[str]:
    given = [str(flag) for flag in env.Flatten([env.get("CFLAGS", []), env.get("CCFLAGS", [])])]
    levels = [flag for flag in given if flag.startswith("-O")]
    is_fast = optimize == "speed" and levels and levels[-1] in _FAST
    return [] if is_fast or "debug" in env.get("BUILD_TYPE", "") else [LEVELS[optimize]]


def libraries(env: Any) -> list[Path]:
    """The folders of the libraries that the project depends on, without the runtime's."""
    found = (Path(library.path) for library in env.GetLibBuilders() if library.is_dependent)
    return [folder for folder in found if not (folder / "runtime" / _HEADER).is_file()]


def texts_in(folders: Iterable[Path]) -> Iterator[str]:
    """The texts of the C and C++ files in `folders`."""
    for folder in folders:
        for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
            if path.suffix in _TEXTS and path.is_file():
                yield path.read_text("utf-8", "replace")


def lacks(chip: str, backend: str) -> list[str]:
    """The folders of kernels that compile to nothing for a chip that is known."""
    if not chip:
        return []
    return ["host", "rvv", *(() if chip in _MVE else ("mve",)), *(() if backend == "pie" else ("pie",))]


def _filter(runtime: Path, texts: Iterable[str] | None, lacks: frozenset[str]) -> Callable[[Path], bool]:
    """Whether a source of the runtime is needed: not where it defines kernels of which none is."""
    if texts is None:
        return lambda path: True
    contents = {path: path.read_text("utf-8", "replace") for path in runtime.rglob("*.c")}
    defined = {path: set(_DEFINED.findall(text)) for path, text in contents.items()}
    names = _closure(set(_NAME.findall("\n".join(texts))) | {"tigris_models_backend"}, defined, contents)

    def is_needed(path: Path) -> bool:
        own = defined.get(path)
        return path.parent.name not in lacks and (not own or bool(own & names))

    return is_needed


def _closure(names: set[str], defined: Mapping[Path, set[str]], contents: Mapping[Path, str]) -> set[str]:
    """With what the sources that define `names` name in turn."""
    pending = [path for path, own in defined.items() if own]
    while found := [path for path in pending if defined[path] & names]:
        pending = [path for path in pending if path not in found]
        names = names.union(*(_NAME.findall(contents[path]) for path in found))
    return names

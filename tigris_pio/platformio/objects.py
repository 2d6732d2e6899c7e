"""Compiles the runtime's sources: for speed or for size, and only those that the models need. Runs inside SCons.

Their objects are cached outside the build folder, which PlatformIO deletes after every change of platformio.ini.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

LEVELS = {"speed": "-O2", "size": "-Os"}
#: Of runtime/src/hot.h.
HOT = ("-DTIGRIS_HOT_IN_IRAM",)
#: Levels that are fast enough for `speed`.
_SPEED_LEVELS = ("-O2", "-O3", "-Ofast")
_DEFINED = re.compile(r"^(?:const tigris_(?:kernel_entry|backend) |TIGRIS_\w+_ENTRY\()(tigris_\w+)", re.MULTILINE)
_NAME = re.compile(r"\btigris_\w+")
_HEADER = Path("include", "tigris.h")  #: in the runtime's folder
_TEXTS = (".c", ".cc", ".cpp", ".h", ".hpp", ".ino")
#: Cores with the instruction set MVE.
_MVE = ("cortex-m52", "cortex-m55", "cortex-m85")


def add(env: Any, optimize: str, folders: Iterable[Path], kept: Path, needed: Callable[[], Iterable[str] | None],
        unusable: Iterable[str], *, hot: bool = False) -> None:  # fmt: skip
    """Compiles the runtime's sources, and those in `folders`, with the level of `optimize`; `kept` caches the objects.

    `needed`: returns texts with the names of the kernels that the firmware needs; None: all. `unusable`: folders of
    kernels for instruction sets that the chip does not have. `hot`: executor and int8 kernels lie in internal memory.
    """
    others = [folder.resolve() for folder in folders]
    environments: dict[int, tuple[Any, Any]] = {}
    wanted: dict[Path, Callable[[Path], bool]] = {}

    def compiled(library_env: Any, node: Any) -> Any:
        path = Path(node.srcnode().get_abspath()).resolve()
        runtime = next((folder for folder in path.parents if (folder / _HEADER).is_file()), None)
        if runtime is None and any(folder in path.parents for folder in others):
            return library_env.Object(node, CCFLAGS=_delayed_flags(library_env, optimize, hot))
        if runtime is None:
            return node
        if runtime not in wanted:
            wanted[runtime] = _filter(runtime, needed(), frozenset(unusable))
        if not wanted[runtime](path):
            return None
        if id(library_env) not in environments:
            environments[id(library_env)] = library_env, _environment(library_env, optimize, kept, hot)
        return environments[id(library_env)][1].Object(node)

    env.AddBuildMiddleware(compiled)


def _environment(library_env: Any, optimize: str, kept: Path, hot: bool) -> Any:
    own = library_env.Clone()
    own.Append(CCFLAGS=[*_level(own, optimize), *(HOT if hot else ())])
    if not own.get("BUILD_CACHE_DIR"):
        kept.parent.mkdir(parents=True, exist_ok=True)  # SCons makes the last folder only
        own.CacheDir(str(kept).replace("$", "$$"))
    return own


def _delayed_flags(library_env: Any, optimize: str, hot: bool) -> Any:
    """The flags for sources that are added before the platform has set its own, evaluated later."""

    def flags(target: Any, source: Any, env: Any, for_signature: Any) -> list[Any]:
        given = library_env.Flatten(library_env.get("CCFLAGS", []))
        return [*given, *_level(library_env, optimize), *(HOT if hot else ())]

    return flags


def _level(env: Any, optimize: str) -> list[str]:
    given = [str(flag) for flag in env.Flatten([env.get("CFLAGS", []), env.get("CCFLAGS", [])])]
    levels = [flag for flag in given if flag.startswith("-O")]
    is_fast = optimize == "speed" and levels and levels[-1] in _SPEED_LEVELS
    return [] if is_fast or "debug" in env.get("BUILD_TYPE", "") else [LEVELS[optimize]]


def libraries(env: Any) -> list[Path]:
    """The folders of the project's libraries, except the runtime's."""
    found = (Path(library.path) for library in env.GetLibBuilders() if library.is_dependent)
    return [folder for folder in found if not (folder / "runtime" / _HEADER).is_file()]


def texts_in(folders: Iterable[Path]) -> Iterator[str]:
    """The texts of the C and C++ files in `folders`."""
    for folder in folders:
        for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
            if path.suffix in _TEXTS and path.is_file():
                yield path.read_text("utf-8", "replace")


def unusable_folders(chip: str, backend: str) -> list[str]:
    """The folders of kernels that compile to nothing for a known chip."""
    if not chip:
        return []
    return [*(() if chip in _MVE else ("mve",)), *(() if backend == "pie" else ("pie",))]


def _filter(runtime: Path, texts: Iterable[str] | None, unusable: frozenset[str]) -> Callable[[Path], bool]:
    """Returns a predicate that is False for a source that defines kernels none of which the firmware needs."""
    if texts is None:
        return lambda path: True
    contents = {path: path.read_text("utf-8", "replace") for path in runtime.rglob("*.c")}
    defined = {path: set(_DEFINED.findall(text)) for path, text in contents.items()}
    names = _closure(set(_NAME.findall("\n".join(texts))) | {"tigris_models_backend"}, defined, contents)

    def is_needed(path: Path) -> bool:
        own = defined.get(path)
        return path.parent.name not in unusable and (not own or bool(own & names))

    return is_needed


def _closure(names: set[str], defined: Mapping[Path, set[str]], contents: Mapping[Path, str]) -> set[str]:
    """Adds to `names` those in the sources that define them, repeatedly."""
    pending = [path for path, own in defined.items() if own]
    while found := [path for path in pending if defined[path] & names]:
        pending = [path for path in pending if path not in found]
        names = names.union(*(_NAME.findall(contents[path]) for path in found))
    return names

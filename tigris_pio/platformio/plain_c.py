"""`custom_tigris_mode = c`: models are C that is compiled with the firmware; there is no plan and no partition.

The C is written while the build is laid out, because SCons looks for sources then, and written again only when the
model, an option or the compiler is another.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import compiler as compilers
from . import sources
from .options import Model, Settings
from .plans import compile_arguments

RUNTIME = compilers.ROOT / "runtime" / "src"


def add(env: Any, settings: Settings, compiler: compilers.Compiler) -> None:
    """Adds the models' C to the program, and its headers to the include path."""
    build = Path(env.subst("$BUILD_DIR")) / "tigris"
    for model in settings.models:
        folder = build / "c" / model.name
        if provide(model, settings, compiler, folder):
            print(f"Writing model {model.name} as C for {settings.mem}")
        report = json.loads((folder / "made.json").read_text("utf-8"))
        print(f"Model {model.name}: {report['fast']} bytes of fast and {report['slow']} of slow memory, which the "
              "program gives")  # fmt: skip
        env.Append(CPPPATH=[str(folder)])
        env.BuildSources(str(build / "objects" / model.name), str(folder))


def provide(model: Model, settings: Settings, compiler: compilers.Compiler, folder: Path) -> bool:
    """Puts the model's C into `folder`; True if the compiler had to run."""
    note = folder / "made.json"
    decisive = [sources.digest(model), compile_arguments(model, settings), compiler.fingerprint, _runtime_digest()]
    made = _note(note)
    if made.get("of") == decisive and made.get("files") == _digests(folder):
        return False
    with tempfile.TemporaryDirectory() as work:
        arguments = [str(model.path), *compile_arguments(model, settings), "-o", str(folder)]
        report = compilers.run(compiler, arguments, Path(work), "codegen")
    own: Any = report["c"]
    text = {"of": decisive, "files": _digests(folder), "fast": own["fast_bytes"], "slow": own["slow_bytes"]}
    note.write_text(json.dumps(text), "utf-8")
    return True


def _note(path: Path) -> Mapping[str, Any]:
    """What an earlier build noted; nothing where it is not whole."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _digests(folder: Path) -> dict[str, str]:
    """Of the C files that are there."""
    return {path.name: sources.of_bytes(path.read_bytes()) for path in sorted(folder.glob("*.[ch]"))}


def _runtime_digest() -> str:
    """Of the sources from which kernels are taken."""
    return sources.of_bytes(b"".join(path.read_bytes() for path in sorted(RUNTIME.rglob("*.[ch]"))))

"""`custom_tigris_mode = c`: models are C that is compiled with the firmware; there is no plan.

Nor is there a partition, unless `custom_tigris_weights = partition` asks for one that holds the weights alone.

The C is written while the build is laid out, because SCons looks for sources then, and written again only when the
model, an option or the compiler is another.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from . import compiler as compilers
from . import layout, sources, weights
from .options import Model, OptionError, Settings
from .partitions import Partition
from .plans import compile_arguments

RUNTIME = compilers.ROOT / "runtime" / "src"
WEIGHTS_END = "_weights.bin"


def add(env: Any, settings: Settings, compiler: compilers.Compiler) -> None:
    """Adds the models' C to the program, and its headers to the include path."""
    build = Path(env.subst("$BUILD_DIR")) / "tigris"
    seen: dict[str, Model] = {}
    for model in settings.models:
        folder = _folder(build, model)
        if provide(model, settings, compiler, folder):
            print(f"Writing model {model.name} as C for {settings.mem}")
        report = json.loads((folder / "made.json").read_text("utf-8"))
        name = report["name"]
        other = seen.setdefault(name.upper(), model)
        if other is not model:
            both = f"the models {other.name} and {model.name} are both {name} in C"
            raise OptionError("models", model.path.name, f"{both}; name them by lines of NAME = PATH")
        print(f"Model {model.name}: {report['fast']} bytes of fast and {report['slow']} of slow memory, which the "
              f"program gives to {name}_run, see {name}.h")  # fmt: skip
        env.Append(CPPPATH=[str(folder)])
        env.BuildSources(str(build / "objects" / model.name), str(folder))


def weights_bytes(model: Model, build: Path) -> int | None:
    """Of the file that an earlier build made; None: there is none."""
    made = _weights_file(_folder(build, model))
    return made.stat().st_size if made and made.is_file() else None


def place_weights(settings: Settings, partitions: Mapping[str, Partition], build: Path) -> dict[Path, bytes]:
    """The contents of the partitions of weights, by their labels' order, and tigris_weights.h behind them."""
    placed = {}
    for label, partition in partitions.items():
        read = []
        for model in settings.models_in(label):
            file = _weights_file(_folder(build, model))
            assert file is not None
            read.append((file.name.removesuffix(WEIGHTS_END), file.read_bytes()))
        placed[label] = layout.place(read, partition, said="the weights take")
        for item in placed[label]:
            print(layout.weights_summary(item, partition))
    images = {build / f"{label}.bin": layout.image(items) for label, items in placed.items()}
    return {**images, build / weights.FILE: weights.header(placed).encode()}


def _folder(build: Path, model: Model) -> Path:
    return build / "c" / model.name


def _weights_file(folder: Path) -> Path | None:
    """Named as the C is, which is not the model's name where that is a keyword."""
    name = _note(folder / "made.json").get("name")
    return folder / f"{name}{WEIGHTS_END}" if name else None


def provide(model: Model, settings: Settings, compiler: compilers.Compiler, folder: Path) -> bool:
    """Puts the model's C into `folder`; True if the compiler had to run."""
    note = folder / "made.json"
    of_any_chip = replace(settings, chip="")  # `tigris codegen` writes C for all
    options = [*compile_arguments(model, of_any_chip), "--weights", settings.weights]
    decisive = [sources.digest(model), options, compiler.fingerprint, _runtime_digest()]
    made = _note(note)
    if made.get("of") == decisive and made.get("files") == _digests(folder):
        return False
    with tempfile.TemporaryDirectory() as work:
        arguments = [str(model.path), *options, "-o", str(folder)]
        report = compilers.run(compiler, arguments, Path(work), "codegen")
    own: Any = report["c"]
    for path in set(_written(folder)) - {folder / Path(file).name for file in own["files"]}:
        path.unlink()  # which was written when the model had another name
    text = {"of": decisive, "files": _digests(folder), "fast": own["fast_bytes"], "slow": own["slow_bytes"],
            "name": own["name"]}  # fmt: skip
    note.write_text(json.dumps(text), "utf-8")
    return True


def _note(path: Path) -> Mapping[str, Any]:
    """What an earlier build noted; nothing where it is not whole."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _written(folder: Path) -> list[Path]:
    """The C files and the weights that are there."""
    return sorted([*folder.glob("*.[ch]"), *folder.glob(f"*{WEIGHTS_END}")])


def _digests(folder: Path) -> dict[str, str]:
    return {path.name: sources.of_bytes(path.read_bytes()) for path in _written(folder)}


def _runtime_digest() -> str:
    """Of the sources from which kernels are taken."""
    return sources.of_bytes(b"".join(path.read_bytes() for path in sorted(RUNTIME.rglob("*.[ch]"))))

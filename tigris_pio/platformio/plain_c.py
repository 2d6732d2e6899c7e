"""`custom_tigris_mode = c`: the compiler writes models as C, which is compiled with the firmware; there is no plan.

With `custom_tigris_weights = partition` the weights have a partition. The C code is written while SCons sets up the
build, because SCons then looks for sources. It is written again only if the model, an option or the compiler changes.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from . import compiler as compilers
from . import interface, layout, sources, weights
from .options import Model, OptionError, Settings
from .partitions import Partition
from .plans import TUNED_CHIPS, compile_arguments

RUNTIME = compilers.ROOT / "runtime"
WEIGHTS_END = "_weights.bin"


def add(env: Any, settings: Settings, compiler: compilers.Compiler) -> None:
    """Adds the models' C to the program, and its headers to the include path."""
    build = Path(env.subst("$BUILD_DIR")) / "tigris"
    seen: dict[str, Model] = {}
    kernels: set[str] = set()  # files that models share; the first model's are compiled
    for model in settings.models:
        folder = _folder(build, model)
        if write_c(model, settings, compiler, folder):
            print(f"Writing model {model.name} as C for {settings.mem}")
        report = json.loads((folder / "made.json").read_text("utf-8"))
        name = report["name"]
        other = seen.setdefault(name.upper(), model)
        if other is not model:
            both = f"the models {other.name} and {model.name} both have the C name {name}"
            raise OptionError("models", model.path.name, f"{both}; name them by lines of NAME = PATH")
        print(f"Model {model.name}: {name}_run takes {report['fast']} bytes of fast and {report['slow']} of slow "
              f"memory, see {name}.h")  # fmt: skip
        env.Append(CPPPATH=[str(folder)])
        own = {path.name for path in folder.glob("tigris_*.c")}
        chosen = ["+<*>", *(f"-<{name}>" for name in sorted(own & kernels))]
        env.BuildSources(str(build / "objects" / model.name), str(folder), chosen)
        kernels |= own


def weights_bytes(model: Model, build: Path) -> int | None:
    """Bytes of the weights file of an earlier build; None: there is none."""
    made = _weights_file(_folder(build, model))
    return made.stat().st_size if made and made.is_file() else None


def place_weights(settings: Settings, partitions: Mapping[str, Partition], build: Path) -> dict[Path, bytes]:
    """Contents by file: the images of the weights' partitions, then tigris_weights.h."""
    placed = {}
    for label, partition in partitions.items():
        read = []
        for model in settings.models_in(label):
            file = _weights_file(_folder(build, model))
            assert file is not None
            read.append((file.name.removesuffix(WEIGHTS_END), file.read_bytes()))
        placed[label] = layout.place(read, partition, subject="the weights take")
        for item in placed[label]:
            print(layout.weights_summary(item, partition))
    images = {build / f"{label}.bin": layout.image(items) for label, items in placed.items()}
    return {**images, build / weights.FILE: weights.header(placed).encode()}


def _folder(build: Path, model: Model) -> Path:
    return build / "c" / model.name


def _weights_file(folder: Path) -> Path | None:
    """The weights file, named like the C files: that differs from the model's name if this is a C keyword."""
    name = interface.load(folder / "made.json").get("name")
    return folder / f"{name}{WEIGHTS_END}" if name else None


def write_c(model: Model, settings: Settings, compiler: compilers.Compiler, folder: Path) -> bool:
    """Writes the model's C code into `folder`; returns True if the compiler had to run."""
    note = folder / "made.json"
    chip = settings.chip if settings.chip in TUNED_CHIPS or settings.chip.startswith("esp") else ""
    options = [*compile_arguments(model, replace(settings, chip="")), *(["--chip", chip] if chip else []),
               "--weights", settings.weights, "--layout", "split" if len(settings.models) > 1 else "one"]  # fmt: skip
    inputs = [sources.digest(model), options, compiler.fingerprint, _runtime_digest()]
    made = interface.load(note)
    if made.get("of") == inputs and made.get("files") == _digests(folder):
        return False
    with tempfile.TemporaryDirectory() as work:
        arguments = [str(model.path), *options, "-o", str(folder)]
        report = compilers.run(compiler, arguments, Path(work), "codegen")
    own: Any = report["c"]
    for path in set(_written_files(folder)) - {folder / Path(file).name for file in own["files"]}:
        path.unlink()  # of an earlier name of the model
    text = {"of": inputs, "files": _digests(folder), "fast": own["fast_bytes"], "slow": own["slow_bytes"],
            "name": own["name"]}  # fmt: skip
    note.write_text(json.dumps(text), "utf-8")
    return True


def _written_files(folder: Path) -> list[Path]:
    """The C files and the weights in `folder`."""
    return sorted([*folder.glob("*.[ch]"), *folder.glob(f"*{WEIGHTS_END}")])


def _digests(folder: Path) -> dict[str, str]:
    return {path.name: sources.of_bytes(path.read_bytes()) for path in _written_files(folder)}


def _runtime_digest() -> str:
    """The digest of the runtime's sources, from which codegen copies kernels."""
    return sources.of_bytes(b"".join(path.read_bytes() for path in sorted(RUNTIME.rglob("*.[ch]"))))

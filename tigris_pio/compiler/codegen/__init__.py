"""Writes a compiled model as plain C: one `.c` and one `.h`, without plan, loader, executor or session.

Stages, bands, places and kernels are those of the plan, so outputs are bit-exact. The plan's records, and the row
numbers that the executor computes from them, become calls, loops and constants.

    kernels                     copies the kernels that a model needs from the runtime's sources
    schedule                    lists the actions of each stage, as loops
    names, model                collect the contents as plain data
    constants, memory, weights, calls, moves, stages, header, source, split    write the text
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path

from tigris_pio.compiler.backends.chips import find_chip
from tigris_pio.compiler.codegen.header import header_text
from tigris_pio.compiler.codegen.model import model_of
from tigris_pio.compiler.codegen.names import prefix_of
from tigris_pio.compiler.codegen.source import source_text
from tigris_pio.compiler.codegen.split import shared_files
from tigris_pio.compiler.codegen.weights import partition
from tigris_pio.compiler.ir.plan import ExecutionPlan
from tigris_pio.errors import FileError, UsageError
from tigris_pio.files import write_if_changed

WEIGHTS = ("c", "partition")
LAYOUTS = ("one", "split")


@dataclasses.dataclass(frozen=True)
class Generated:
    """A model as C.

    name: prefix of its files and public names
    files: contents by file name
    fast_bytes, slow_bytes: sizes of the arenas
    notes: sentences about names that were changed
    """

    name: str
    files: Mapping[str, bytes]
    fast_bytes: int
    slow_bytes: int
    notes: tuple[str, ...]

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Writes the files whose content changed to a folder, which is created if missing; returns all paths."""
        target = Path(folder)
        try:
            target.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"{target}: the folder cannot be created: {error.strerror}; choose another one") from error
        paths = [target / name for name in self.files]
        for path in paths:
            write_if_changed(path, self.files[path.name])
        return paths


def generate(
    plan: ExecutionPlan, name: str | None = None, weights: str = "c", layout: str = "one", chip: str = ""
) -> Generated:
    """Writes `plan` as C.

    name: prefix of public names, a C identifier; None: the model's name
    weights: "c" for constants, "partition" for a binary file that a flash partition holds
    layout: "one" for kernels in NAME.c, "split" for kernels in files that several models can share
    chip: leaves out what other chips' instruction sets need; "": C for any chip
    """
    for option, value, known in (("weights", weights, WEIGHTS), ("layout", layout, LAYOUTS)):
        if value not in known:
            raise UsageError(f"{option}: '{value}' is unknown; use one of {', '.join(known)}")
    if plan.backend is not None:
        raise UsageError(f"C cannot call the kernels of {plan.backend.name}; use backend portable")
    model = model_of(plan, prefix_of(name or plan.program.name), weights == "partition", layout == "split",
                     find_chip(chip))  # fmt: skip
    data, offsets = partition(model) if model.partition else (b"", {})
    files = {f"{model.name}.c": source_text(model, offsets), f"{model.name}.h": header_text(model, len(data))}
    contents = {file: text.encode() for file, text in (files | shared_files(model)).items()}
    if model.partition:
        contents[f"{model.name}_weights.bin"] = data
    wanted = name or plan.program.name
    note = f"{wanted!r} is {model.name} in C: the name is reserved or used in C"
    notes = model.notes if model.name == wanted else (note, *model.notes)
    return Generated(model.name, contents, model.fast_bytes, plan.slow_bytes, notes)

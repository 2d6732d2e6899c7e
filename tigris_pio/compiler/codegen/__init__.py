"""A compiled model as plain C: one `.c` and one `.h`, without plan, loader, executor or session.

The same stages, bands and places as in the plan, and the same kernels, so the same bytes; but what a plan says in
records, and what the runtime's executor computes from them, is here C: calls, loops and constants.

    c_source      the runtime's sources as declarations
    kernels       those that a model needs
    call_layout   how kernels see a call
    schedule      what each stage does, as loops
    names, model  what is written, as plain data
    constants, memory, weights, calls, moves, stages, header, source    the text
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path

from tigris_pio.compiler.codegen.header import header_text
from tigris_pio.compiler.codegen.model import Model, model_of
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

    name: what its files and public names begin with
    files: by name, what they hold
    fast_bytes, slow_bytes: of the arenas
    notes: names that had to be changed
    """

    name: str
    files: Mapping[str, bytes]
    fast_bytes: int
    slow_bytes: int
    notes: tuple[str, ...]

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Writes the files, those that are not there already, to a folder, which is made; returns their paths."""
        target = Path(folder)
        try:
            target.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"{target}: cannot be made a folder: {error.strerror}; give another one") from error
        paths = [target / name for name in self.files]
        for path in paths:
            write_if_changed(path, self.files[path.name])
        return paths


def generate(plan: ExecutionPlan, name: str | None = None, weights: str = "c", layout: str = "one") -> Generated:
    """`plan` as C.

    name: what public names begin with, a C identifier; None: the model's name
    weights: "c", as constants, or "partition", in a file that is flashed alone
    layout: "one" file, or "split": kernels in files of their own, which several models share
    """
    for option, value, known in (("weights", weights, WEIGHTS), ("layout", layout, LAYOUTS)):
        if value not in known:
            raise UsageError(f"{option}: '{value}' is unknown; use one of {', '.join(known)}")
    if plan.backend is not None:
        raise UsageError(f"the kernels of {plan.backend.name} are called by plans only; use backend portable")
    model = model_of(plan, prefix_of(name or plan.program.name), weights == "partition", layout == "split")
    data, offsets = partition(model) if model.partition else (b"", {})
    files = {f"{model.name}.c": source_text(model, offsets), f"{model.name}.h": header_text(model, len(data))}
    contents = {file: text.encode() for file, text in (files | shared_files(model)).items()}
    if model.partition:
        contents[f"{model.name}_weights.bin"] = data
    return Generated(model.name, contents, model.fast_bytes, plan.slow_bytes, _notes(model, name))


def _notes(model: Model, name: str | None) -> tuple[str, ...]:
    wanted = name or model.plan.program.name
    why = "it is no name in C, or that of something else"
    return (*(() if model.name == wanted else (f"{wanted!r} is {model.name} in C: {why}",)), *model.notes)

"""Kernel libraries to run the adapters with: stand-ins that are always there, and the real ones where
TIGRIS_ESP_NN and TIGRIS_CMSIS_NN name checkouts of them."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from tests.runtime.build import RUNTIME
from tigris_pio.platformio.backend import LIBRARIES

STAND_IN = Path(__file__).parent / "stand_in"
STAND_IN_SOURCES = {"esp-nn": "esp_nn.c", "cmsis-nn": "cmsis_nn.c"}
VARIABLES = {"esp-nn": "TIGRIS_ESP_NN", "cmsis-nn": "TIGRIS_CMSIS_NN"}


@dataclasses.dataclass(frozen=True)
class Sources:
    """What is compiled beside the runtime's core, and how."""

    files: tuple[Path, ...]
    flags: tuple[str, ...]


def checkout(backend: str) -> Path | None:
    """The folder of the real library."""
    named = os.environ.get(VARIABLES[backend])
    return Path(named) if named else None


def sources(backend: str, real: bool) -> Sources:
    """The adapter with its library."""
    library = LIBRARIES[backend]
    adapters = tuple(sorted((RUNTIME / "backends").glob("*.c")))
    flags = (f"-D{library.define}", f"-DTIGRIS_DEFAULT_BACKEND={library.symbol}", *(f"-D{d}" for d in library.defines))
    if not real:
        return Sources((*adapters, STAND_IN / STAND_IN_SOURCES[backend]), (*flags, f"-isystem{STAND_IN}"))
    folder = checkout(backend)
    assert folder is not None and (folder / library.header).is_file(), f"{VARIABLES[backend]}={folder} is no checkout"
    found: set[Path] = set()
    for entry in library.sources:  # SCons filters, each applied to what those before it left
        matched = set(folder.glob(entry[2:-1]))
        found = found | matched if entry.startswith("+") else found - matched
    includes = tuple(f"-isystem{folder / include}" for include in library.includes)
    return Sources((*adapters, *sorted(found)), (*flags, *includes))

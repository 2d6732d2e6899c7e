"""Kernel libraries to run the adapters with: stand-ins that are always there, and the real ones where
TIGRIS_ESP_NN and TIGRIS_CMSIS_NN name checkouts of them."""

import os
import sys
from pathlib import Path

import pytest

from bench.libraries import Sources, adapters, definitions, library_sources
from tests.runtime.build import replay

STAND_IN = Path(__file__).parent / "stand_in"
STAND_IN_SOURCES = {"esp-nn": "esp_nn.c", "cmsis-nn": "cmsis_nn.c"}
VARIABLES = {"esp-nn": "TIGRIS_ESP_NN", "cmsis-nn": "TIGRIS_CMSIS_NN"}
#: (name, whether the library itself), for fixtures' parameters; `case_name` is their `ids`.
CASES = [pytest.param((name, real), marks=[pytest.mark.vendor(variable)] if real else [])
         for name, variable in VARIABLES.items() for real in (False, True)]  # fmt: skip


def case_name(case: tuple[str, bool]) -> str:
    """A case of CASES in test names."""
    return f"{case[0]}-{'real' if case[1] else 'stand-in'}"


def checkout(backend: str) -> Path | None:
    """The folder of the real library."""
    named = os.environ.get(VARIABLES[backend])
    return Path(named) if named else None


def sources(backend: str, real: bool) -> Sources:
    """The adapter with its library."""
    folder = checkout(backend)
    if real and folder is not None:
        return library_sources(backend, folder)
    files = (*adapters(), STAND_IN / STAND_IN_SOURCES[backend])
    return Sources(files, (*definitions(backend), f"-isystem{STAND_IN}"))


def backend_replay(backend: str, real: bool) -> Path:
    """The sanitised program that runs plans, with the backend."""
    given = sources(backend, real)
    # What a library computes from values is its own affair, where it reads and writes is not.
    return replay("", given.files, *given.flags, *(["-w", "-fno-sanitize=undefined"] if real else []))


def main() -> None:
    """Prints what a compiler wants for an adapter and its library, one argument a line: for fuzz/run.sh."""
    name = sys.argv[1]
    given = sources(name, real=checkout(name) is not None)
    print("\n".join((*given.flags, *map(str, given.files))))


if __name__ == "__main__":
    main()

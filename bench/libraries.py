"""Kernel libraries against the project's kernels: python -m bench.libraries cmsis-nn CHECKOUT [--machine cortex-m4]

Instructions of an inference for the int8 networks of a folder. Each network is planned for the library in the folder
CHECKOUT, and for the chip without it. On cortex-m55 both use vector instructions (MVE). Every output is compared with
the recorded one. Exit status 1 if one differs.
"""

import dataclasses
from pathlib import Path

from bench.command import Row, command, parser_of, print_table
from bench.emulator import MACHINES, RUNTIME, BenchError, build, measure, work_folder
from bench.networks import int8_networks, recorded
from tigris_pio import compile_model
from tigris_pio.platformio.backend import LIBRARIES

CHIPS = {"rv32imc": "esp32c3"}
COLUMNS = [("network", "name"), ("own", "portable"), "library", ("ratio", "ratio", ".2f"),
           ("operators", "ops"), "scratch", "right"]  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Sources:
    """A library with its adapter: what is compiled, and how."""

    files: tuple[Path, ...]
    flags: tuple[str, ...]


def library_sources(backend: str, folder: Path) -> Sources:
    """The adapter and the sources that the hook compiles from a checkout in `folder`."""
    library = LIBRARIES[backend]
    if not (folder / library.header).is_file():
        raise BenchError(f"{folder} has no {library.header}; give a checkout of {library.repository}")
    found: set[Path] = set()
    for entry in library.sources:  # SCons filters, each applied to what those before it left
        matched = set(folder.glob(entry[2:-1]))
        found = found | matched if entry.startswith("+") else found - matched
    includes = tuple(f"-isystem{folder / include}" for include in library.includes)
    return Sources((*adapters(), *sorted(found)), (*definitions(backend), *includes))


def adapters() -> tuple[Path, ...]:
    """The runtime's part."""
    return tuple(sorted((RUNTIME / "backends").glob("*.c")))


def definitions(backend: str) -> tuple[str, ...]:
    """The -D flags that make a library the default backend."""
    library = LIBRARIES[backend]
    defines = (library.define, f"TIGRIS_DEFAULT_BACKEND={library.symbol}", *library.defines)
    return tuple(f"-D{define}" for define in defines)


def bench(machine_name: str, backend: str, source: Sources, networks: Path, folder: Path) -> list[Row]:
    """A row for each network."""
    machine = MACHINES[machine_name]
    (folder / "portable").mkdir()
    extra = ("-DNDEBUG", *source.flags, *map(str, source.files))  # a failed assertion would want a system to end
    programs = (build(machine, folder / "portable"), build(machine, folder, extra=extra))
    chip = CHIPS.get(machine_name, machine_name)
    rows = []
    for name in int8_networks(networks):
        path, content = recorded(networks, name)
        plans = [compile_model(path, fast="256K", backend=one, chip=chip) for one in ("auto", backend)]
        portable, own = (measure(machine, program, plan.data, content)
                         for program, plan in zip(programs, plans, strict=True))  # fmt: skip
        rows.append({
            "name": name, "portable": portable.run, "library": own.run, "ratio": own.run / portable.run,
            "ops": plans[1].report["backend"]["ops"], "scratch": plans[1].report["memory"]["backend_scratch"],
            "right": portable.right and own.right,
        })  # fmt: skip
    return rows


@command
def main() -> int:
    """The command."""
    parser = parser_of(__doc__, "folder")
    parser.add_argument("library", choices=LIBRARIES)
    parser.add_argument("checkout", type=Path, help="folder with a checkout of the library")
    parser.add_argument("--machine", choices=MACHINES, help="default: cortex-m4 for cmsis-nn, rv32imc for esp-nn")
    options = parser.parse_args()
    machine = options.machine or {"cmsis-nn": "cortex-m4", "esp-nn": "rv32imc"}[options.library]
    with work_folder() as folder:
        rows = bench(machine, options.library, library_sources(options.library, options.checkout),
                     options.folder, folder)  # fmt: skip
    print_table(f"{options.library} on {machine}, instructions an inference, -O2, 256K", rows, COLUMNS)
    return 0 if all(row["right"] for row in rows) else 1

"""Builds and runs sweep.c with the sources of a kernel library."""

from dataclasses import dataclass
from pathlib import Path

from bench.emulator import BUILD_SECONDS, MACHINES, RUNTIME, BenchError, emulate, link, run_tool
from bench.libraries import Sources
from bench.vendor.faults import Table, read

HERE = Path(__file__).parent
#: The portable kernels, and what their checks need.
_PORTABLE = (
    "kernels/plain_conv_2d_int8.c", "kernels/plain_fully_connected_int8.c", "kernels/window.c",
    "kernels/plain_check.c", "kernels/check.c", "kernels/check_conv_int8.c", "kernels/check_fully_connected_int8.c",
    "extents.c", "band.c",
)  # fmt: skip
_COMPILE = ("-O2", "-w", "-std=gnu99", "-DNDEBUG", "-ffunction-sections", "-fdata-sections", f"-I{RUNTIME / 'include'}")
LINK = ("-Wl,--gc-sections", "-lm")


@dataclass(frozen=True)
class Sweep:
    """The layers of a run. products: the most multiply-accumulates of a layer"""

    shapes: int
    seed: int
    products: int


def judge(library: str, sweep: Sweep, adapted: bool = True) -> Sources:
    """The sources beside a library's own, and their flags. adapted: the runtime's adapter is judged too"""
    name, both = library.replace("-", "_"), int(library == "cmsis-nn")
    defines = (f"-DSHAPES={sweep.shapes}", f"-DSEED={sweep.seed}U", f"-DPRODUCTS={sweep.products}",
               f"-DLIBRARY_HAS_IMAGES={both}", f"-DLIBRARY_DILATES={both}",
               *((f"-DADAPTER={name}",) if adapted else ()))  # fmt: skip
    files = (HERE / "sweep.c", HERE / f"{name}.c", *(RUNTIME / "src" / part for part in _PORTABLE))
    return Sources(files, (*_COMPILE, f"-I{HERE}", *defines))


def on_host(library: str, sources: Sources, sweep: Sweep, folder: Path) -> Table:
    """The layers of a sweep of a library compiled for this machine."""
    own, program = judge(library, sweep), folder / "sweep"
    run_tool(["gcc", *own.flags, *sources.flags, *map(str, (HERE / "on_host.c", *own.files, *sources.files)), *LINK,
              "-pthread", "-o", str(program)], timeout=BUILD_SECONDS)  # fmt: skip
    return read(run_tool([str(program)], timeout=BUILD_SECONDS))


def on_board(library: str, sources: Sources, sweep: Sweep, machine: str, folder: Path) -> Table:
    """The same, compiled for a machine that QEMU emulates."""
    own = judge(library, sweep)
    program = link(MACHINES[machine], folder / "sweep.elf", HERE / "on_board.c", *own.flags, *sources.flags,
                   *own.files, *sources.files)  # fmt: skip
    *lines, end = emulate(MACHINES[machine], program, how=()).splitlines() or [""]
    if end != "end":
        raise BenchError(f"{library} on {machine} ended after {len(lines)} layers: {end}")
    return read("\n".join(lines))

"""Builds of the C runtime for tests: the host library, kept up to date, objects for each machine, sanitised drivers.

Sources are compiled one by one, which two processors can share and a compiler cache can remember.
"""

import atexit
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.emulator import SECTIONS

ROOT = Path(__file__).resolve().parents[2]
RUNTIME = ROOT / "runtime"
INCLUDE = RUNTIME / "include"
HERE = Path(__file__).parent
C99 = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wcast-qual", "-pedantic", "-Werror")
#: Of -g only line numbers are needed. Without optimisation the core compiles in 14 processor seconds instead of 26.
SANITIZERS = ("-O0", "-g1", "-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all")
PLAIN = ("-O1", "-g1")
DSP_IN_C = f"-include{HERE / 'dsp_in_c.h'}"
#: Kernels of other processors in a program for this one: the flags that choose them, the header that they depend on.
#: Rows by themselves have their way where compilers optimise.
VARIANTS = {
    "dsp": ((DSP_IN_C, "-D__OPTIMIZE__"), "instruction_set.h"),
    "pixels4": (("-DTIGRIS_MANY_REGISTERS",), "conv_2d_int8.h"),
    "small": (("-Os",), "instruction_set.h"),
    "pie": (("-DTIGRIS_PIE",), "layer.h"),
    "small-dsp": (("-Os", DSP_IN_C), "instruction_set.h"),
}

COMPILERS = {
    "gcc": (["gcc"], "gcc"),
    "clang": (["clang"], "clang"),
    "rv32imc": (["riscv64-unknown-elf-gcc", "-march=rv32imc", "-mabi=ilp32", "--specs=picolibc.specs"],
                "gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf"),
    "cortex-m4": (["arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb"], "gcc-arm-none-eabi libnewlib-arm-none-eabi"),
    "lx106": (["xtensa-lx106-elf-gcc", "-mlongcalls"], "gcc-xtensa-lx106"),
    "aarch64": (["aarch64-linux-gnu-gcc"], "gcc-aarch64-linux-gnu libc6-dev-arm64-cross"),
}


def program(name: str, package: str) -> str:
    """The name of a program that is there; the test fails with the package that has it when it is not."""
    assert shutil.which(name), f"{name} is needed: apt install {package}"
    return name


def compiler(machine: str) -> list[str]:
    """The command that compiles for a machine of COMPILERS."""
    command, packages = COMPILERS[machine]
    program(command[0], packages)
    # Debian's compiler for this machine comes without a C library; newlib's headers are those of any machine.
    return [*command, "-isystem", str(_newlib_headers())] if machine == "lx106" else command


@functools.cache
def _newlib_headers() -> Path:
    """Where the headers of Arm's newlib lie."""
    rule = subprocess.run([*compiler("cortex-m4"), "-M", "-x", "c", "-"], input="#include <string.h>",
                          capture_output=True, text=True, check=True).stdout
    return next(Path(word).parent for word in rule.split() if word.endswith("/string.h"))


def object_name(source: Path) -> str:
    """The name of a source, with that of its folder where kernels of an instruction set have the names of others."""
    own = source.parent.parent.name == "kernels"
    return f"{source.parent.name}_{source.stem}" if own else source.stem


def compile_each(command: Sequence[str], sources: Iterable[Path], folder: Path) -> list[Path]:
    """Objects of the sources in `folder`, by their names; the compiler's words on failure."""

    def compile_one(source: Path) -> Path:
        target = folder / f"{object_name(source)}.o"
        _compile([*command, "-c", str(source), "-o", str(target)], folder)
        return target

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(compile_one, sources))


@functools.cache
def objects(machine: str) -> tuple[Path, ...]:
    """The core compiled with optimisation, once for all tests: for this machine as its programs share it, for rv32imc
    as small as it gets, with stack usage and call graph beside the objects."""
    if machine == "gcc":
        return tuple(core_objects(*PLAIN))
    small = ("-Os", *SECTIONS, "-fcallgraph-info=su,da") if machine == "rv32imc" else ("-O1",)
    command = [*compiler(machine), *C99, *small, f"-I{INCLUDE}"]
    return tuple(compile_each(command, core_sources(), own_folder("tigris-objects-")))


def own_folder(prefix: str) -> Path:
    """One that goes with this process."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def core_sources() -> list[Path]:
    """The loader, executor and kernels: what every firmware with a model links."""
    return sorted(path for path in (RUNTIME / "src").rglob("*.c") if not path.name.startswith("serve"))


@functools.cache
def ensure_library() -> None:
    """Builds the host library beside the package when a source is newer than it."""
    built = [path for path in (ROOT / "tigris_pio" / "host").glob("_runtime*") if path.suffix != ".py"]
    newest = max(path.stat().st_mtime for path in RUNTIME.rglob("*.[ch]"))
    if built and max(path.stat().st_mtime for path in built) > newest:
        return
    command = [sys.executable, "-W", "ignore", "setup.py", "-q", "build_ext", "--inplace", "--force"]
    environment = {**os.environ, "TIGRIS_REQUIRE_RUNTIME": "1"}
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"the host library does not build:\n{result.stdout}{result.stderr}")


def _compile(command: list[str], folder: Path | None = None) -> None:
    # ccache keeps objects and stack usage, and would leave out a call graph that it has seen before.
    graph = any(word.startswith("-fcallgraph-info") for word in command)
    environment = {**os.environ, "CCACHE_DISABLE": "1"} if graph else None
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{result.stdout}{result.stderr}")


def _compiler(flags: tuple[str, ...]) -> list[str]:
    return ["gcc", *C99, *flags, f"-I{INCLUDE}", f"-I{RUNTIME / 'src'}", "-DTIGRIS_TENSOR_ALIGN=4"]


@functools.cache
def _objects(flags: tuple[str, ...], sources: tuple[Path, ...]) -> dict[str, Path]:
    """The sources compiled with these flags, once for all programs that link them, by name."""
    return {path.stem: path for path in compile_each(_compiler(flags), sources, own_folder("tigris-core-"))}


@functools.cache
def _dependents(header: str) -> tuple[Path, ...]:
    """Kernels that include a header of this name, or one that does."""
    texts = {path: path.read_text("utf-8") for path in (RUNTIME / "src").rglob("*.[ch]")}
    included = {path: set(re.findall(r'#include "(?:.*/)?([^"/]+)"', text)) for path, text in texts.items()}
    names = {header}
    while more := {path.name for path in texts if path.suffix == ".h" and included[path] & names} - names:
        names |= more
    return tuple(path for path in core_sources() if included[path] & names and path.parent.name == "kernels")


def core_objects(*flags: str) -> list[Path]:
    """The core for this machine with these flags, as all programs with the same ones share it."""
    return list(_objects(flags, tuple(core_sources())).values())


def compile_program(output: Path, sources: list[Path], *flags: str, variant: str = "", paces: bool = False) -> Path:
    """Links `sources` with the runtime's core into `output`; the compiler's words on failure.

    Flags for headers and definitions are for `sources` alone: programs share a core compiled with the same others.
    variant: a key of VARIANTS. paces: operators yield after 64 steps instead of millions.
    """
    core_flags = tuple(flag for flag in flags if not flag.startswith(("-I", "-isystem", "-D", "-pthread")))
    core = _objects(core_flags, tuple(core_sources()))
    chosen_by, header = VARIANTS.get(variant, ((), ""))
    if variant:
        core = core | _objects((*core_flags, *chosen_by), _dependents(header))
    if paces:
        paced = (RUNTIME / "src/band.c", *sorted((RUNTIME / "src/kernels").glob("mat_mul_*.c")))
        core = core | _objects((*core_flags, *chosen_by, "-DTIGRIS_YIELD_STEPS=64U"), paced)
    _compile([*_compiler(flags), *map(str, (*sources, *core.values())), "-lm", "-o", str(output)])
    return output


@functools.cache
def replay(variant: str = "", sources: tuple[Path, ...] = (), *flags: str) -> Path:
    """The sanitised program that runs plans from its standard input (fuzz/replay.c), with further sources and flags."""
    fuzz = HERE / "fuzz"
    program = own_folder("tigris-replay-") / "replay"
    own = [fuzz / "replay.c", fuzz / "run_plan.c", *sources]
    return compile_program(program, own, f"-I{fuzz}", *SANITIZERS, *flags, variant=variant, paces=True)

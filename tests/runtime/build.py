"""Builds of the C runtime for tests: the host library, kept up to date, objects for each machine, sanitised drivers."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RUNTIME = ROOT / "runtime"
INCLUDE = RUNTIME / "include"
DSP_IN_C = f"-include{Path(__file__).with_name('dsp_in_c.h')}"
C99 = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror")

COMPILERS = {
    "gcc": (["gcc"], "gcc"),
    "clang": (["clang"], "clang"),
    "rv32imc": (
        ["riscv64-unknown-elf-gcc", "-march=rv32imc", "-mabi=ilp32", "--specs=picolibc.specs"],
        "gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf",
    ),
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


def compile_all(machine: str, folder: Path, *flags: str) -> list[Path]:
    """Objects of every source of the core, warnings being errors; asserts that there are none."""

    def compile_one(source: Path) -> Path:
        target = folder / f"{source.stem}.o"
        command = [*compiler(machine), *C99, *flags, f"-I{INCLUDE}", "-c", str(source), "-o", str(target)]
        result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        return target

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(compile_one, core_sources()))


@functools.cache
def objects(machine: str) -> tuple[Path, ...]:
    """The core compiled with -O2, once for all tests."""
    folder = tempfile.TemporaryDirectory(prefix="tigris-objects-")
    atexit.register(folder.cleanup)
    return tuple(compile_all(machine, Path(folder.name), "-O2", "-g"))


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
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{result.stdout}{result.stderr}")


def _compiler(flags: tuple[str, ...]) -> list[str]:
    return ["gcc", *C99, *flags, f"-I{INCLUDE}", f"-I{RUNTIME / 'src'}", "-DTIGRIS_TENSOR_ALIGN=4"]


@functools.cache
def _objects(flags: tuple[str, ...], sources: tuple[Path, ...]) -> dict[str, Path]:
    """The sources compiled with these flags, once for all programs that link them, by name."""
    folder = Path(tempfile.mkdtemp(prefix="tigris-core-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _compile([*_compiler(flags), "-c", *map(str, sources)], folder)
    return {path.stem: path for path in folder.glob("*.o")}


@functools.cache
def _dsp_sources() -> tuple[Path, ...]:
    """Those with DSP instructions."""
    command = [*_compiler((DSP_IN_C,)), "-MM", *map(str, core_sources())]
    rules = subprocess.run(command, capture_output=True, text=True, check=True).stdout.replace("\\\n", " ").splitlines()
    return tuple(Path(rule.split()[1]) for rule in rules if any(word.endswith("/arm_dsp.h") for word in rule.split()))


def compile_program(output: Path, sources: list[Path], *flags: str, dsp: bool = False) -> Path:
    """Links `sources` with the runtime's core into `output`; the compiler's words on failure.

    Flags for headers and definitions are for `sources` alone: programs share a core compiled with the same others.
    dsp: its kernels are those of Arm's DSP instructions, with C in their place.
    """
    core_flags = tuple(flag for flag in flags if not flag.startswith(("-I", "-isystem", "-D")))
    core = _objects(core_flags, tuple(core_sources()))
    if dsp:
        core = core | _objects((*core_flags, DSP_IN_C), _dsp_sources())
    _compile([*_compiler(flags), *map(str, (*sources, *core.values())), "-lm", "-o", str(output)])
    return output

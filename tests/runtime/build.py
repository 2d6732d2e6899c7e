"""Builds of the C runtime for tests: the host library, kept up to date, and sanitised drivers."""

from __future__ import annotations

import functools
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RUNTIME = ROOT / "runtime"
INCLUDE = RUNTIME / "include"
C99 = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror")


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
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"the host library does not build:\n{result.stdout}{result.stderr}")


def compile_program(output: Path, sources: list[Path], *flags: str, compiler: str = "gcc") -> Path:
    """Links `sources` with the runtime's core into `output`; the compiler's words on failure."""
    command = [compiler, *C99, *flags, f"-I{INCLUDE}", f"-I{RUNTIME / 'src'}", "-DTIGRIS_TENSOR_ALIGN=4"]
    command += [str(path) for path in [*sources, *core_sources()]] + ["-lm", "-o", str(output)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{result.stdout}{result.stderr}")
    return output

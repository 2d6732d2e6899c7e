"""Builds the C99 runtime as a shared library inside the package; everything else is in pyproject.toml.

The library has no Python API: `tigris_pio.host.library` loads it with ctypes. So only a C compiler is
needed, no Python headers.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
HOST_FUNCTIONS = ROOT / "runtime" / "host" / "tigris_host.c"
INSTALL_A_COMPILER = {
    "linux": "apt install gcc libc6-dev (Debian, Ubuntu), dnf install gcc (Fedora)",
    "darwin": "xcode-select --install",
    "win32": "install the Build Tools for Visual Studio",
}


def runtime_sources() -> list[str]:
    """Every portable C file of the runtime, relative to the project, in a fixed order."""
    sources = [*(ROOT / "runtime" / "src").rglob("*.c"), HOST_FUNCTIONS]
    return sorted(path.relative_to(ROOT).as_posix() for path in sources)


def runtime_headers() -> list[str]:
    """Every header whose change asks for a rebuild."""
    return sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "runtime").rglob("*.h"))


def stop_without_compiler() -> None:
    """Ends the build with one line when there is no C compiler."""
    if sys.platform == "win32":
        return
    command = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[0]
    if shutil.which(command) is None:
        remedy = INSTALL_A_COMPILER.get(sys.platform, INSTALL_A_COMPILER["linux"])
        sys.exit(
            f"error: tigris-pio builds its runtime with a C compiler and found none ({command!r} is not in PATH); "
            f"install one: {remedy}; or name yours in CC"
        )


class BuildRuntime(build_ext):
    """Builds the shared library; stops early and plainly without a compiler."""

    def build_extensions(self) -> None:
        stop_without_compiler()
        super().build_extensions()

    def get_export_symbols(self, ext: Extension) -> list[str]:
        """The functions export themselves: there is no PyInit function to add."""
        return list(ext.export_symbols)


setup(
    ext_modules=[
        Extension(
            "tigris_pio.host._runtime",
            sources=runtime_sources(),
            depends=runtime_headers(),
            include_dirs=["runtime/include"],
            # A plan for any board is accepted here, whatever this machine's own alignment.
            define_macros=[("TIGRIS_TENSOR_ALIGN", "4")],
            extra_compile_args=[] if sys.platform == "win32" else ["-std=c99", "-O3", "-fvisibility=hidden"],
        )
    ],
    cmdclass={"build_ext": BuildRuntime},
)

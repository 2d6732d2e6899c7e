"""Builds the C99 runtime as a shared library inside the package; everything else is in pyproject.toml.

The library has no Python API: `tigris_pio.host.library` loads it with ctypes. So only a C compiler is
needed, no Python headers; without one the package is installed without the library.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.errors import BaseError, CompileError, LinkError

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))
from tigris_pio.installation import REASON_FILE, compiler_hint  # noqa: E402

#: Set where an installation without the library is of no use: a build that lacks it then fails.
REQUIRED = "TIGRIS_REQUIRE_RUNTIME"


def runtime_sources() -> list[str]:
    """Every portable C file of the runtime, relative to the project, in a fixed order."""
    sources = [*(ROOT / "runtime" / "src").rglob("*.c"), *(ROOT / "runtime" / "host").glob("*.c")]
    return sorted(path.relative_to(ROOT).as_posix() for path in sources)


def runtime_headers() -> list[str]:
    """Every header whose change asks for a rebuild."""
    return sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "runtime").rglob("*.h"))


def missing_compiler() -> str | None:
    """Why there is no C compiler, as far as the path tells; setuptools looks for Windows' itself."""
    if sys.platform == "win32":
        return None
    command = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[0]
    return None if shutil.which(command) else f"no C compiler was found ({command!r} is not in PATH)"


class BuildPackage(build_py):
    """Adds the runtime's sources to the package: `tigris codegen` takes kernels from them."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return  # the checkout has them
        headers = [path for folder in ("include", "codegen") for path in (ROOT / "runtime" / folder).glob("*.h")]
        for path in [*(ROOT / "runtime" / "src").rglob("*.[chS]"), *headers]:
            target = Path(self.build_lib) / "tigris_pio" / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


class BuildRuntime(build_ext):
    """Builds the shared library. Compiling models needs none, so without a working compiler there is none."""

    def build_extensions(self) -> None:
        (target,) = [Path(self.get_ext_fullpath(extension.name)) for extension in self.extensions]
        reason = missing_compiler() or self._build()
        target.with_name(REASON_FILE).unlink(missing_ok=True)
        if reason is None:
            return
        if os.environ.get(REQUIRED):
            sys.exit(f"error: the runtime was not built: {reason}; install a compiler: {compiler_hint()}")
        print(f"warning: installed without the runtime for this machine: {reason}. Models can be compiled; "
              "tigris run, verify and hil say what to do", file=sys.stderr)  # fmt: skip
        target.unlink(missing_ok=True)  # an earlier build's
        target.parent.mkdir(parents=True, exist_ok=True)
        target.with_name(REASON_FILE).write_text(reason, "utf-8")
        self.extensions = []

    def _build(self) -> str | None:
        """Runs the compiler; its first error when it fails."""
        with tempfile.TemporaryFile() as errors:
            try:
                with standard_error_to(errors.fileno()):
                    if sys.platform != "win32":
                        self.compiler.compile = in_parallel(self.compiler, bool(self.force))
                    super().build_extensions()
                failure = None
            except (BaseError, CompileError, LinkError, OSError) as error:
                failure = str(error)
            errors.seek(0)
            said = errors.read().decode("utf-8", "replace")
        sys.stderr.write(said)
        lines = [line.strip() for line in said.splitlines() if "error" in line]
        return None if failure is None else f"the C compiler failed: {lines[0] if lines else failure}"

    def get_export_symbols(self, ext: Extension) -> list[str]:
        """The functions export themselves: there is no PyInit function to add."""
        return list(ext.export_symbols)


def in_parallel(compiler: Any, force: bool) -> Callable[..., list[str]]:
    """`compiler.compile` for many sources: in as many processes as there are processors, and without `force` only the
    sources that are newer than their object; all of them if a header or this file is."""
    compile_all: Callable[..., list[str]] = compiler.compile
    shared = max((ROOT / name).stat().st_mtime_ns for name in [*runtime_headers(), "setup.py"])

    def compile_one(source: str, options: dict[str, Any]) -> list[str]:
        (built,) = compiler.object_filenames([source], output_dir=options.get("output_dir"))
        oldest = max(shared, (ROOT / source).stat().st_mtime_ns)
        if not force and os.path.exists(built) and os.stat(built).st_mtime_ns > oldest:
            return [built]
        return compile_all([source], **options)

    def compile_each(sources: list[str], **options: Any) -> list[str]:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            parts = pool.map(lambda source: compile_one(source, options), sources)
            return [name for part in parts for name in part]

    return compile_each


@contextmanager
def standard_error_to(file: int) -> Iterator[None]:
    """What processes say meanwhile goes to an open file."""
    sys.stderr.flush()
    saved = os.dup(2)
    os.dup2(file, 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(saved, 2)
        os.close(saved)


setup(
    ext_modules=[
        Extension(
            "tigris_pio.host._runtime",
            sources=runtime_sources(),
            depends=runtime_headers(),
            include_dirs=["runtime/include"],
            # A plan for any board is accepted here, whatever this machine's own alignment.
            define_macros=[("TIGRIS_TENSOR_ALIGN", "4")],
            extra_compile_args=[] if sys.platform == "win32" else ["-std=c99", "-O2", "-fvisibility=hidden"],
        )
    ],
    cmdclass={"build_ext": BuildRuntime, "build_py": BuildPackage},
)

"""The project's own virtual environment: `.venv` with tigris-pio in editable form and its tools."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

EXTRAS = {"demo": "build", "test": "build,test", "fuzz": "build,test", "dist": "dist", "docs": "docs",
          "release": "build,dist,release"}  # fmt: skip


class EnvironmentFailure(Exception):
    """pip or venv failed; their own messages are on the screen."""


def python_of(venv: Path) -> Path:
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def ensure(root: Path, venv: Path, purpose: str) -> Path:
    """Makes the environment, or updates it if its inputs changed; returns its Python."""
    python = python_of(venv)
    if not _works(python):
        print(f"Creating {venv.name} with Python {sys.version.split()[0]}", flush=True)
        shutil.rmtree(venv, ignore_errors=True)
        _run([sys.executable, "-m", "venv", str(venv)])
    digest = _digest(root, [root / "pyproject.toml", root / "setup.py", *_c_files(root)])
    # A set-up for tests has all that the others need, but for compilers of other systems.
    enough = (purpose,) if purpose in ("dist", "release") else ("test", purpose)
    stamps = [venv / f"tigris-{name}.stamp" for name in enough]
    if not any(stamp.is_file() and stamp.read_text("utf-8") == digest for stamp in stamps):
        print(f"Installing tigris-pio and its tools into {venv.name}", flush=True)
        _install(root, python, f".[{EXTRAS[purpose]}]")
        stamps[-1].write_text(digest, "utf-8")
    return python


def _install(root: Path, python: Path, requirement: str) -> None:
    """By uv, which takes a quarter of pip's time; by pip where uv does not get there, as it knows no pip.conf.

    Few of the packages' modules are ever imported: Python compiles those when they are.
    """
    pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off", "-q"]
    try:
        _run([*pip, "--no-compile", "uv"], root)
        _run([str(python), "-m", "uv", "pip", "install", "--python", str(python), "-e", requirement], root)
    except EnvironmentFailure as failure:
        print(f"{failure}; going on with pip", flush=True)
        _run([*pip, "--no-compile", "-e", requirement], root)


def _works(python: Path) -> bool:
    """False for a moved or half-made environment, or one whose Python is gone."""
    if not python.exists():
        return False
    check = [str(python), "-c", "import pip, sys; sys.exit(sys.version_info < (3, 10))"]
    return subprocess.run(check, capture_output=True, check=False).returncode == 0


def _c_files(root: Path) -> list[Path]:
    return sorted(path for path in (root / "runtime").rglob("*") if path.suffix in (".c", ".h"))


def _digest(root: Path, files: Iterable[Path]) -> str:
    """The digest of all inputs of an installation, with the path of the repository, which editable installs contain."""
    digest = hashlib.sha256(str(root).encode() + sys.version.encode())
    for path in files:
        digest.update(str(path.relative_to(root)).encode() + b"\0")
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _run(command: list[str], folder: Path | None = None) -> None:
    # Without the runtime's library, which an installation can do without, there would be nothing to run.
    environment = {**os.environ, "TIGRIS_REQUIRE_RUNTIME": "1"}
    if subprocess.run(command, cwd=folder, env=environment, check=False).returncode != 0:
        raise EnvironmentFailure(f"failed: {' '.join(command)}")

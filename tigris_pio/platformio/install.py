"""custom_tigris_auto_install: installs the compiler into its own Python environment, in PlatformIO's core folder.

There is one environment for each state of the hook's sources, so compiler and runtime have the same version. A marker
file says that an environment is complete; without it the environment is installed again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from .compiler import is_source, pip_command

MARKER = "complete.json"


class InstallError(Exception):
    """The installation failed; the message says what to do instead."""


def install_compiler(core_dir: Path, root: Path, python: str) -> str:
    """Returns the Python of the environment, installed by `python` if needed. `root`: the checkout with the hook."""
    source = source_of(root)
    folder = core_dir / "tigris-pio" / _digest(root, source)
    inside = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if (folder / MARKER).is_file() and inside.is_file():
        return str(inside)
    print(f"Installing the model compiler, {source}, in {folder}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    _run([python, "-m", "venv", str(folder)], source)
    _run([str(inside), "-m", "pip", "install", "--disable-pip-version-check", source], source)
    (folder / MARKER).write_text(json.dumps({"source": source}), "utf-8")
    return str(inside)


def source_of(root: Path) -> str:
    """The source for pip: the checkout or PlatformIO library itself; InstallError if it is neither."""
    if is_source(root):
        return str(root)
    raise InstallError(
        f"installing the model compiler: {root} is neither a checkout of tigris-pio nor its PlatformIO library (it "
        "has no pyproject.toml); install the compiler yourself and name its Python by the environment variable "
        "TIGRIS_PYTHON"
    )


def _digest(root: Path, source: str) -> str:
    """A digest of the package's files, by size and time: every build computes it."""
    digest = hashlib.sha256(source.encode("utf-8", "surrogateescape"))
    for folder, folders, files in os.walk(root / "tigris_pio"):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(name for name in files if name.endswith(".py")):
            status = os.stat(os.path.join(folder, name))
            digest.update(f"{folder}/{name} {status.st_size} {status.st_mtime_ns}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:16]


def _run(command: Sequence[str], source: str) -> None:
    """Runs a command and shows its output; InstallError if it fails."""
    # pioarduino sets these to its own environment.
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    try:
        status = subprocess.run(command, env=environment, check=False).returncode
    except OSError as error:
        raise InstallError(f"installing the model compiler: {command[0]} cannot be run: {error.strerror}") from None
    if status != 0:
        raise InstallError(
            f"installing the model compiler: `{' '.join(command)}` failed with exit status {status}, see above. "
            f"Install the compiler yourself, {pip_command('python3', Path(source))}, and name its Python by the "
            "environment variable TIGRIS_PYTHON"
        )

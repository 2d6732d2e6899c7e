"""custom_tigris_auto_install: a Python environment of the compiler's own, in PlatformIO's core folder.

It is made once for each state of the sources that the hook belongs to, so that compiler and runtime are of one
version. A marker file says that it is complete; without it the folder is made anew.
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
    """The environment could not be made; the message says what to do instead."""


def provide(core_dir: Path, root: Path, python: str) -> str:
    """The environment's Python. `root` is the checkout that the hook lies in, `python` makes the environment."""
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
    """What pip installs: the checkout or library itself."""
    if is_source(root):
        return str(root)
    raise InstallError(
        f"custom_tigris_auto_install: {root} is neither a checkout of tigris-pio nor its PlatformIO library (it "
        "has no pyproject.toml); install the compiler yourself and name its Python by custom_tigris_python"
    )


def _digest(root: Path, source: str) -> str:
    """Changes when a file of the package does; by size and time, as this is looked at in every build."""
    digest = hashlib.sha256(source.encode("utf-8", "surrogateescape"))
    for folder, folders, files in os.walk(root / "tigris_pio"):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(name for name in files if name.endswith(".py")):
            status = os.stat(os.path.join(folder, name))
            digest.update(f"{folder}/{name} {status.st_size} {status.st_mtime_ns}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:16]


def _run(command: Sequence[str], source: str) -> None:
    """With its output shown."""
    # pioarduino points these at its own environment.
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    try:
        status = subprocess.run(command, env=environment, check=False).returncode
    except OSError as error:
        raise InstallError(f"custom_tigris_auto_install: {command[0]} cannot be run: {error.strerror}") from None
    if status != 0:
        raise InstallError(
            f"custom_tigris_auto_install: `{' '.join(command)}` failed with exit status {status}, see above. Install "
            f"the compiler yourself, {pip_command('python3', Path(source))}, and name its Python by "
            "custom_tigris_python"
        )

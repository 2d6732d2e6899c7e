"""Sets up the project's own PlatformIO core folder without PlatformIO's package registry.

PlatformIO always needs one package, tool-scons: SCons with a manifest. PyPI has the same SCons, and PlatformIO's
requirement names its version: 4.41101.0 is SCons 4.11.1.
"""

from __future__ import annotations

import compileall
import json
import re
import shutil
import subprocess
from pathlib import Path

_QUERY = """
import json, os, SCons
from platformio.dependencies import get_core_dependencies
print(json.dumps([get_core_dependencies()["tool-scons"], SCons.__version__, os.path.dirname(SCons.__file__)]))
"""

_LAUNCHER = """import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import SCons.Script  # noqa: E402

SCons.Script.main()
"""


class CoreFailure(Exception):
    """PlatformIO or SCons is not as expected."""


def scons_version(requirement: str) -> str:
    """SCons' version from PlatformIO's requirement: ~4.41101.0 -> 4.11.1."""
    match = re.search(r"\d+\.(\d)(\d\d)(\d\d)\.\d+", requirement)
    if not match:
        raise CoreFailure(f"PlatformIO asks for tool-scons {requirement}, which names no version of SCons")
    return ".".join(str(int(part)) for part in match.groups())


def ensure(python: Path, core: Path) -> None:
    """Copies tool-scons from the environment of `python` to `core`."""
    requirement, installed, _ = _query(python)
    wanted = scons_version(requirement)
    version = re.sub(r"^[^\d]*", "", requirement)
    package = core / "packages" / "tool-scons"
    if _is_complete(package, version):
        return
    if installed != wanted:
        print(f"PlatformIO was made for SCons {wanted}", flush=True)
        pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off"]
        if subprocess.run([*pip, f"scons=={wanted}"], check=False).returncode != 0:
            print(f"SCons {wanted} cannot be had; going on with {installed}", flush=True)
    _, _, source = _query(python)
    print(f"Setting up PlatformIO's core folder in {core.name}", flush=True)
    _assemble(package, Path(source), version)


def _query(python: Path) -> list[str]:
    answer = subprocess.run([str(python), "-c", _QUERY], capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise CoreFailure(f"PlatformIO and SCons do not work in {python}:\n{answer.stderr.strip()}")
    values: list[str] = json.loads(answer.stdout)
    return values


def _is_complete(package: Path, version: str) -> bool:
    try:
        record = json.loads((package / ".piopm").read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return record.get("version") == version and (package / "SCons" / "Script" / "__init__.py").is_file()


def _assemble(package: Path, source: Path, version: str) -> None:
    shutil.rmtree(package, ignore_errors=True)
    package.mkdir(parents=True)
    shutil.copytree(source, package / "SCons", ignore=shutil.ignore_patterns("__pycache__"))
    compileall.compile_dir(package / "SCons", quiet=1)
    (package / "scons.py").write_text(_LAUNCHER, "utf-8")
    (package / "package.json").write_text(json.dumps({"name": "tool-scons", "version": version}), "utf-8")
    spec = {"owner": "platformio", "id": None, "name": "tool-scons", "requirements": None, "uri": None}
    record = {"type": "tool", "name": "tool-scons", "version": version, "spec": spec}
    # Last: this file marks the package as complete.
    (package / ".piopm").write_text(json.dumps(record), "utf-8")

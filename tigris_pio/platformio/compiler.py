"""Finds the model compiler and runs it, always as a process of its own.

PlatformIO's Python may lack numpy and onnx, and some platforms hide foreign packages from it. Searched in this order:
the option custom_tigris_python, the environment variable TIGRIS_PYTHON, PlatformIO's own Python, `tigris` on PATH.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PROBE_SECONDS = 60.0
#: Exit statuses of the compiler after Ctrl-C, which reaches it as it does the build: its own, a signal's, Windows'.
ENDED_BY_CTRL_C = (130, -signal.SIGINT, 0xC000013A, 0xC000013A - (1 << 32))
#: The checkout or library that the hook lies in.
ROOT = Path(__file__).resolve().parents[2]

# Prints where the package lies, what it lacks, and a digest of everything that decides about a plan.
_PROBE = """
import hashlib, importlib.util, json, os, sys
sys.path[:] = [p for p in sys.path if p not in ("", os.getcwd())]
needed = ("click", "flatbuffers", "lz4", "numpy", "onnx", "rich", "tflite")
missing = [n for n in needed if importlib.util.find_spec(n) is None]
spec = importlib.util.find_spec("tigris_pio")
if spec is None or not spec.origin:
    print(json.dumps({"found": False}))
    sys.exit()
root = os.path.dirname(spec.origin)
digest = hashlib.sha256()
for folder, folders, files in os.walk(root):
    folders[:] = sorted(f for f in folders if f not in ("__pycache__", "platformio", "hil", "report"))
    for name in sorted(f for f in files if f.endswith(".py")):
        path = os.path.join(folder, name)
        digest.update(os.path.relpath(path, root).encode())
        with open(path, "rb") as file:
            digest.update(hashlib.sha256(file.read()).digest())
print(json.dumps({"found": True, "missing": missing, "digest": digest.hexdigest()}))
"""


class CompilerError(Exception):
    """The compiler is not there, or refused the model; the message is for the user."""


@dataclass(frozen=True)
class Compiler:
    """`command` is completed by the arguments; `fingerprint` changes when the compiler does.

    `pythonpath` is the variable PYTHONPATH with which it was found: espressif32's script for espidf removes it.
    """

    command: tuple[str, ...]
    fingerprint: str
    pythonpath: str | None = None


def find(
    option: str | None,
    environment: Mapping[str, str],
    own_python: str,
    install: Callable[[], str] | None = None,
) -> Compiler:
    """`install`, if given, makes a Python that has the compiler when none was found."""
    for name, python in (("custom_tigris_python", option), ("TIGRIS_PYTHON", environment.get("TIGRIS_PYTHON"))):
        if python:
            found, reason = _probe(os.path.expanduser(python))
            if found is None:
                runs = reason.startswith("has ")
                hint = _install_hint(python) if runs else "Give the path of a Python that has the compiler"
                raise CompilerError(f"{name} = {python}: {reason}. {hint}")
            return found
    tried = []
    for python in (own_python, python_of_script(shutil.which("tigris", path=environment.get("PATH")))):
        if not python:
            continue
        found, reason = _probe(python)
        if found is not None:
            return found
        tried.append(f"{python}: {reason}")
    if install is not None:
        found, reason = _probe(install())
        if found is None:
            raise CompilerError(f"custom_tigris_auto_install: the environment that was made {reason}")
        return found
    raise CompilerError(f"the model compiler was not found ({'; '.join(tried)}). {_install_hint(own_python)}")


def _install_hint(python: str) -> str:
    return (
        f"Install it with: {pip_command(python)}    "
        "or name a Python that has it by custom_tigris_python or TIGRIS_PYTHON, or set custom_tigris_auto_install = yes"
    )


def pip_command(python: str, root: Path = ROOT) -> str:
    """Installs the compiler that belongs to this hook: it lies in the same folder."""
    source = str(root) if is_source(root) else "FOLDER, a checkout of tigris-pio"
    return f"{quoted(python)} -m pip install {quoted(source) if is_source(root) else source}"


def is_source(root: Path) -> bool:
    """Whether pip can install the compiler from this folder."""
    return (root / "pyproject.toml").is_file()


def quoted(text: str, windows: bool = os.name == "nt") -> str:
    """A word of a command line, as a shell and Windows' prompt take it."""
    special = "" if windows else '$`"\\!'
    return f'"{text}"' if not any(sign in text for sign in special) else "'" + text.replace("'", "'\\''") + "'"


def _probe(python: str) -> tuple[Compiler | None, str]:
    try:
        result = subprocess.run(
            [python, "-c", _PROBE], capture_output=True, text=True, timeout=PROBE_SECONDS, check=False
        )
        answer = json.loads(result.stdout)
    except FileNotFoundError:
        return None, "no such file"
    except (OSError, subprocess.TimeoutExpired):
        return None, "cannot be run"
    except ValueError:
        return None, "is no working Python 3"
    if not answer["found"]:
        return None, "has no package tigris-pio"
    if answer["missing"]:
        return None, f"has tigris-pio, but lacks {', '.join(answer['missing'])}"
    return Compiler((python, "-m", "tigris_pio"), answer["digest"], os.environ.get("PYTHONPATH")), ""


def python_of_script(script: str | None) -> str | None:
    """The interpreter of pip's console script, from its first lines."""
    if script is None:
        return None
    if script.lower().endswith(".exe"):
        return _python_beside(Path(script))
    try:
        head = Path(script).read_bytes()[:1024].decode("utf-8", "replace")
    except OSError:
        return None
    # Long or spaced paths are wrapped: #!/bin/sh, then '''exec' "/the path/python" "$0" "$@".
    match = re.match(r"#!\s*/bin/sh\n'''exec' \"?(.+?)\"? \"\$0\"", head) or re.match(r"#!\s*(\S*python\S*)\s*\n", head)
    return match[1] if match else None


def _python_beside(launcher: Path) -> str | None:
    """The Python of a launcher that pip wrote on Windows: in its folder in an environment, else in the one above."""
    for folder in (launcher.parent, launcher.parent.parent):
        if (folder / "python.exe").is_file():
            return str(folder / "python.exe")
    return None


def run(
    compiler: Compiler, arguments: Sequence[str], folder: Path, name: str = "compile"
) -> dict[str, object]:
    """Runs the command `name` and returns its JSON report; raises with the compiler's own message.

    `-m` looks for modules in the current folder first: `folder` must hold none. Paths in `arguments` are absolute.
    """
    command = [*compiler.command, name, *arguments, "--json"]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8", "PYTHONUTF8": "1", "TIGRIS_CALLER": "platformio"}
    if compiler.pythonpath:
        environment["PYTHONPATH"] = compiler.pythonpath
    try:
        result = subprocess.run(
            command, cwd=folder, capture_output=True, encoding="utf-8", errors="replace", env=environment, check=False
        )
    except OSError as error:
        raise CompilerError(f"{command[0]} cannot be run: {error.strerror}") from None
    if result.returncode in ENDED_BY_CTRL_C:
        raise CompilerError("interrupted")
    if result.returncode != 0:
        said = result.stderr.strip().removeprefix("error: ") or result.stdout.strip()
        raise CompilerError(said or f"exit status {result.returncode}")
    try:
        report = json.loads(result.stdout)
    except ValueError:
        raise CompilerError(f"the compiler printed no JSON report: {result.stdout.strip()[:200]}") from None
    if not isinstance(report, dict):
        raise CompilerError("the compiler's report is no JSON object")
    for warning in report.get("warnings") or []:
        print(f"Warning: {warning}")
    return report

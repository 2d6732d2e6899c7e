"""Finds the model compiler and runs it in its own process.

PlatformIO's Python may lack numpy and onnx, and some platforms hide foreign packages from it. The order of the search:
option custom_tigris_python, environment variable TIGRIS_PYTHON, PlatformIO's own Python, `tigris` in PATH.
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
#: Exit statuses of the compiler after Ctrl-C, which ends the build too: its own, a signal's, Windows'.
ENDED_BY_CTRL_C = (130, -signal.SIGINT, 0xC000013A, 0xC000013A - (1 << 32))
#: The folder of the checkout or PlatformIO library with the hook.
ROOT = Path(__file__).resolve().parents[2]

# Prints the missing packages, and a digest of all files that influence a plan.
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
    """The compiler is missing or refused the model; the message is for the user."""


@dataclass(frozen=True)
class Compiler:
    """`command` comes before the arguments; `fingerprint` changes with the compiler's files.

    `pythonpath` is the variable PYTHONPATH at the time of the search: espressif32's script for espidf removes it.
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
    """Finds a compiler; CompilerError says how to install it. `install`, if given, installs it, returns its Python."""
    for name, python in (("custom_tigris_python", option), ("TIGRIS_PYTHON", environment.get("TIGRIS_PYTHON"))):
        if python:
            found, reason = _probe(os.path.expanduser(python))
            if found is None:
                runs = reason.startswith("has ")
                hint = _install_hint(python) if runs else "Give the path of a Python that has the compiler"
                raise CompilerError(f"{name} = {python}: {reason}. {hint}")
            return found
    reasons = []
    for python in (own_python, python_of_script(shutil.which("tigris", path=environment.get("PATH")))):
        if not python:
            continue
        found, reason = _probe(python)
        if found is not None:
            return found
        reasons.append(f"{python}: {reason}")
    if install is not None:
        found, reason = _probe(install())
        if found is None:
            raise CompilerError(f"custom_tigris_auto_install: the installed environment {reason}")
        return found
    raise CompilerError(f"the model compiler was not found ({'; '.join(reasons)}). {_install_hint(own_python)}")


def _install_hint(python: str) -> str:
    return (
        f"Install it with: {pip_command(python)}    "
        "or name a Python that has it by custom_tigris_python or TIGRIS_PYTHON, or set custom_tigris_auto_install = yes"
    )


def pip_command(python: str, root: Path = ROOT) -> str:
    """The command that installs the compiler of this hook's checkout."""
    source = str(root) if is_source(root) else "FOLDER, a checkout of tigris-pio"
    return f"{quoted(python)} -m pip install {quoted(source) if is_source(root) else source}"


def is_source(root: Path) -> bool:
    """True if pip can install the compiler from this folder."""
    return (root / "pyproject.toml").is_file()


def quoted(text: str, windows: bool = os.name == "nt") -> str:
    """Quotes a word of a command line for a shell or Windows' prompt."""
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
    """The interpreter of pip's console script, from the script's first lines."""
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
    """The Python of pip's launcher on Windows: in the launcher's folder (virtual environment) or the one above."""
    for folder in (launcher.parent, launcher.parent.parent):
        if (folder / "python.exe").is_file():
            return str(folder / "python.exe")
    return None


def run(
    compiler: Compiler, arguments: Sequence[str], folder: Path, name: str = "compile", caller: str = "platformio"
) -> dict[str, object]:
    """Runs the command `name` and returns its JSON report; CompilerError has the compiler's own message.

    Messages name the options of `caller`. `folder` is the working directory. It must hold no Python modules, because
    `-m` searches it first. Paths in `arguments` are absolute.
    """
    command = [*compiler.command, name, *arguments, "--json"]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8", "PYTHONUTF8": "1", "TIGRIS_CALLER": caller}
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
        message = result.stderr.strip().removeprefix("error: ") or result.stdout.strip()
        raise CompilerError(message or f"exit status {result.returncode}")
    try:
        report = json.loads(result.stdout)
    except ValueError:
        raise CompilerError(f"the compiler printed no JSON report: {result.stdout.strip()[:200]}") from None
    if not isinstance(report, dict):
        raise CompilerError("the compiler's report is no JSON object")
    for warning in report.get("warnings") or []:
        print(f"Warning: {warning}")
    return report

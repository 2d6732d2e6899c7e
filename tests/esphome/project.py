"""Projects of ESPHome: from a configuration to the generated sources, and to a program for this machine."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.platformio.project import ROOT

HERE = Path(__file__).resolve().parent


def esphome(folder: Path, *arguments: str, status: int = 0) -> str:
    """Runs a command of ESPHome on `device.yaml`; returns what it prints."""
    python = Path(os.environ["TIGRIS_ESPHOME"], "bin", "python")
    environment = {**os.environ, "TIGRIS_PYTHON": sys.executable, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    done = subprocess.run([python, HERE / "on_host.py", *arguments, "device.yaml"], cwd=folder, env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)  # fmt: skip
    assert done.returncode == status, done.stdout
    return done.stdout


def configure(folder: Path, platform: str, text: str) -> None:
    """Writes a configuration with the components of the project and of the tests."""
    local = "\n".join(f"  - source: {{type: local, path: {path}}}" for path in
                      (ROOT / "integrations" / "esphome" / "components", HERE / "components"))  # fmt: skip
    content = f"esphome:\n  name: device\n{platform}\nlogger:\nexternal_components:\n{local}\n{text}"
    (folder / "device.yaml").write_text(content, "utf-8")


def generate(folder: Path) -> Path:
    """The sources that ESPHome generates."""
    esphome(folder, "compile", "--only-generate")
    return folder / ".esphome" / "build" / "device" / "src"


def build(sources: Path) -> Path:
    """The program for this machine, with the flags that ESPHome gives PlatformIO; warnings of C++ are errors."""
    settings = (sources.parent / "platformio.ini").read_text("utf-8")
    flags = re.findall(r"(?m)^    (-[DWf]\S+)$", settings)
    paths = sorted([*sources.rglob("*.cpp"), *sources.rglob("*.c")])

    def compile_one(path: Path) -> str:
        own = "tigris" in str(path.relative_to(sources)) or path.name == "main.cpp"
        command = ["gcc"] if path.suffix == ".c" else ["g++", "-std=gnu++20", *["-Wall", "-Wextra", "-Werror"] * own]
        _run([*command, *flags, "-Wno-unused-parameter", "-O1", "-I.", "-c", str(path), "-o", f"{path}.o"], sources)
        return f"{path}.o"

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compile_one, paths))
    _run(["g++", *objects, "-o", "program"], sources)
    return sources / "program"


def _run(command: Sequence[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

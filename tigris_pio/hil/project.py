"""An environment of a PlatformIO project: its port, its plans and its upload."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from tigris_pio.errors import ToolError, UsageError

#: Options of platformio.ini that name the board's port, best first.
_PORT_OPTIONS = ("test_port", "upload_port", "monitor_port")


@dataclasses.dataclass(frozen=True)
class Project:
    """One environment of a project."""

    directory: Path
    environment: str
    workspace: Path
    build: Path
    ports: dict[str, str | None]  #: by the options of _PORT_OPTIONS
    board: str = ""  #: the option `board`

    def port(self) -> str:
        """The board's port; UsageError if neither platformio.ini nor a running emulated board names one."""
        for option in _PORT_OPTIONS:
            url = self.ports.get(option)
            if url:
                return url
        record = self.emulated_folder / "board.json"
        try:
            return f"socket://127.0.0.1:{int(json.loads(record.read_text('utf-8'))['port'])}"
        except (OSError, ValueError, KeyError, TypeError):
            pass
        raise UsageError(
            f"{self.directory}: environment {self.environment} names no port, and no emulated board of it runs. "
            "Give --port, upload first (--upload), or set test_port in platformio.ini"
        )

    def plan(self, name: str | None = None) -> Path:
        """The environment's plan, of model `name` if it has several."""
        plans = {path.stem: path for path in sorted(self.build.rglob("*.tgrs"))}
        if not plans:
            raise UsageError(f"{self.build}: no plan yet; run pio run -e {self.environment}, or give --upload")
        if name is None and len(plans) == 1:
            return next(iter(plans.values()))
        if name not in plans:
            wanted = "choose one with --model" if name is None else f"there is no {name}"
            raise UsageError(f"{self.build}: plans of {', '.join(plans)}; {wanted}")
        return plans[name]

    @property
    def emulated_folder(self) -> Path:
        """Folder in which an emulated board of this environment keeps its flash and its port."""
        return self.workspace / "emulated" / self.environment

    def upload(self, port: str | None = None) -> None:
        """Builds and flashes, through `port` if given; ToolError if that fails. PlatformIO's output goes to stderr."""
        command = [
            _platformio_python(),
            "-m",
            "platformio",
            "run",
            "-d",
            str(self.directory),
            "-e",
            self.environment,
            "-t",
            "upload",
            *(["--upload-port", port] if port else []),
        ]
        done = subprocess.run(command, stdout=sys.stderr, check=False)
        if done.returncode:
            raise ToolError(f"{' '.join(command)} failed with status {done.returncode}; see its messages above")


def open_project(directory: str, environment: str | None) -> Project:
    """The environment of the project in `directory`; None: its only or default one."""
    projects, default = environments(directory)
    if environment is None:
        chosen = default or tuple(projects)
        if len(chosen) != 1:
            raise UsageError(f"--project {directory}: choose an environment with --env: {', '.join(projects)}")
        environment = chosen[0]
    if environment not in projects:
        raise UsageError(f"--env {environment}: {directory} has the environments {', '.join(projects)}")
    return projects[environment]


def environments(directory: str) -> tuple[dict[str, Project], tuple[str, ...]]:
    """All environments of the project in `directory` by name, and the names of the default ones."""
    path = Path(directory)
    if not (path / "platformio.ini").is_file():
        raise UsageError(f"--project {directory}: has no platformio.ini")
    config = _config(path)
    workspace, build = Path(config["workspace"]), Path(config["build"])
    boards = config["boards"]
    projects = {
        name: Project(path, name, workspace, build / name, ports, boards[name] or "")
        for name, ports in config["environments"].items()
    }
    return projects, tuple(config["default"])


#: Runs in PlatformIO's Python, because `extends`, substitutions and folders of the environment need its parser.
_QUERY = f"""
import json
from platformio.project.config import ProjectConfig
config = ProjectConfig.get_instance()
def ports(name):
    return {{option: config.get("env:" + name, option, None) for option in {_PORT_OPTIONS!r}}}
print(json.dumps({{
    "environments": {{name: ports(name) for name in config.envs()}},
    "boards": {{name: config.get("env:" + name, "board", None) for name in config.envs()}},
    "default": config.default_envs(),
    "workspace": config.get("platformio", "workspace_dir"),
    "build": config.get("platformio", "build_dir"),
}}))
"""


def _config(directory: Path) -> dict[str, Any]:
    command = [_platformio_python(), "-c", _QUERY]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise ToolError(f"{directory / 'platformio.ini'}: PlatformIO cannot read it: {reason}")
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def _platformio_python() -> str:
    """A Python that has PlatformIO: this one, or the one of the `pio` command."""
    if importlib.util.find_spec("platformio") is not None:
        return sys.executable
    command = shutil.which("pio") or shutil.which("platformio")
    if command is None:
        raise ToolError("--project needs PlatformIO: pip install platformio")
    done = subprocess.run([command, "system", "info", "--json-output"], capture_output=True, text=True, check=False)
    try:
        return str(json.loads(done.stdout)["python_exe"]["value"])
    except (ValueError, KeyError, TypeError) as error:
        raise ToolError(f"{command} system info failed: {done.stderr.strip()}; pip install platformio") from error


def platformio_command() -> list[str]:
    """PlatformIO's command line; ToolError if no Python has it."""
    return [_platformio_python(), "-m", "platformio"]

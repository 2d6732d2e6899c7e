"""A firmware's project, an environment of PlatformIO or a build of ESP-IDF: its port, its plans, its build."""

import dataclasses
import importlib
import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tigris_pio.errors import ToolError, UsageError

#: Options of platformio.ini that name the board's port, best first.
_PORT_OPTIONS = ("test_port", "upload_port", "monitor_port")
#: The emulated boards' tool. Its folder lies among PlatformIO's files, where no folder is a package.
board_process: Any = importlib.import_module("tigris_pio.platformio.emulated.tools.board_process")


@dataclasses.dataclass(frozen=True)
class IdfProject:
    """A project's build folder, which `idf.py build` makes."""

    folder: Path

    def port(self) -> str:
        """Raises UsageError: ESP-IDF keeps no port in the project."""
        raise UsageError(f"{self.folder}: an ESP-IDF project names no port; give --port or --qemu")

    def plan(self, name: str | None = None) -> Path:
        """The plan of the build; of model `name` if there are several."""
        return _plan_in(self.folder, name, "run idf.py build")

    def compile(self) -> None:
        """Builds; ToolError if that fails. The build's output goes to stderr."""
        try:
            _run_build(["cmake", "--build", str(self.folder)])
        except FileNotFoundError:
            raise ToolError("cmake is not in PATH; set up ESP-IDF's environment first (export.sh)") from None


@dataclasses.dataclass(frozen=True)
class Project:
    """One environment of a PlatformIO project."""

    directory: Path
    environment: str
    workspace: Path
    build: Path
    ports: dict[str, str | None]  #: by the options of _PORT_OPTIONS
    board: str = ""  #: the option `board`

    def port(self) -> str:
        """The board's port; UsageError if neither platformio.ini nor a running emulated board names one."""
        named = next((url for option in _PORT_OPTIONS if (url := self.ports.get(option))), None)
        emulated = board_process.read_record(self.emulated_folder).get("port")
        if named is None and emulated is None:
            raise UsageError(
                f"{self.directory}: environment {self.environment} names no port, and no emulated board of it runs. "
                "Give --port, upload first (--upload), or set test_port in platformio.ini"
            )
        return named or f"socket://127.0.0.1:{emulated}"

    def plan(self, name: str | None = None) -> Path:
        """The environment's plan, of model `name` if it has several."""
        return _plan_in(self.build, name, f"run pio run -e {self.environment}, or give --upload")

    @property
    def emulated_folder(self) -> Path:
        """Folder in which an emulated board of this environment keeps its flash and its port."""
        folder: Path = board_process.board_folder(self.workspace, self.environment)
        return folder

    def compile(self, *more: str) -> None:
        """Runs `pio run`; ToolError if that fails. PlatformIO's output goes to stderr."""
        _run_build([*platformio_command(), "run", "-d", str(self.directory), "-e", self.environment, *more])

    def upload(self, port: str | None = None) -> None:
        """Builds and flashes, through `port` if given."""
        self.compile("-t", "upload", *(["--upload-port", port] if port else []))


def is_idf_build(folder: Path) -> bool:
    """True if ESP-IDF has built in this folder."""
    return (folder / "flasher_args.json").is_file()


def _plan_in(folder: Path, name: str | None, remedy: str) -> Path:
    """The only plan below a build folder, or that of model `name`; `remedy` makes a missing plan."""
    plans = {path.stem: path for path in sorted(folder.rglob("*.tgrs"))}
    if not plans:
        raise UsageError(f"{folder}: no plan yet; {remedy}")
    if name is None and len(plans) == 1:
        return next(iter(plans.values()))
    if name not in plans:
        wanted = "choose one with --model" if name is None else f"there is no {name}"
        raise UsageError(f"{folder}: plans of {', '.join(plans)}; {wanted}")
    return plans[name]


def _run_build(command: Sequence[str]) -> None:
    status = subprocess.run(command, stdout=sys.stderr, check=False).returncode
    if status:
        raise ToolError(f"{' '.join(command)} failed with status {status}; see its messages above")


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
    projects = {
        name: Project(path, name, workspace, build / name, options, options["board"] or "")
        for name, options in config["environments"].items()
    }
    return projects, tuple(config["default"])


#: Runs in PlatformIO's Python, because `extends`, substitutions and folders of the environment need its parser.
_QUERY = f"""
import json
from platformio.project.config import ProjectConfig
config = ProjectConfig.get_instance()
def options(name):
    return {{option: config.get("env:" + name, option, None) for option in {(*_PORT_OPTIONS, "board")!r}}}
print(json.dumps({{
    "environments": {{name: options(name) for name in config.envs()}},
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

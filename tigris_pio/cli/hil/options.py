"""Options that the commands share: which board, and how long to wait for it."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tigris_pio.cli.hil.listed import choose, list_file
from tigris_pio.errors import UsageError
from tigris_pio.hil.client import Board, Timing
from tigris_pio.hil.idf_project import IdfProject, is_idf_build
from tigris_pio.hil.project import Project, open_project
from tigris_pio.hil.rig.board_list import FILE_NAME, read_list
from tigris_pio.hil.rig.labgrid import acquired
from tigris_pio.hil.rig.place import DEFAULT_BAUD

if TYPE_CHECKING:
    from tigris_pio.hil.qemu.machine import Machine

_T = TypeVar("_T")

#: An emulated chip that boots on a busy machine.
_BOOT_SECONDS = 60.0
#: What click.option makes.
Option = Callable[[Callable[..., None]], Callable[..., None]]


@dataclasses.dataclass(frozen=True)
class Target:
    """Where the board is: its line, and the project that names it, where one does."""

    url: str
    baud: int
    project: Project | IdfProject | None
    timing: Timing

    def board(self) -> Board:
        """A connection; HarnessError when the board does not answer."""
        return Board(self.url, self.baud, self.timing)


@dataclasses.dataclass(frozen=True)
class TargetOptions:
    """What was asked for on the command line."""

    port: str | None
    baud: int | None
    project: str | None
    environment: str | None
    board: str | None = None
    tags: tuple[str, ...] = ()
    boards: str | None = None
    upload: bool = False
    timeout: float = Timing.run
    silence: float = Timing.silence
    qemu: bool = False
    qemu_arguments: str = ""

    def open(self, complete: bool = False) -> Target:
        """The board meant, which --qemu starts: it runs until the command ends. `complete`: nothing else needs a
        project, so the folder's own is not looked at where there is a port."""
        connect = _BOOT_SECONDS if self.qemu else Timing.connect
        timing = Timing(connect=connect, run=self.timeout, silence=self.silence)
        if self.board is not None or self.tags:
            return self._listed(timing)
        directory = self.project
        if directory is None and (self.port is None or not complete) and _is_project(Path(), self.qemu):
            directory = "."
        project = _project(directory, self.environment, self.upload, self.qemu)
        if self.qemu:
            url = _for_the_command(self._machine(project)).url
        else:
            if self.upload:
                _upload(project)
            found = self.port or (project.port() if project else None)
            if found is None:
                raise UsageError("no port: give --port URL or --project DIR, or call it in a project's folder")
            url = _for_the_command(acquired(found))
        return Target(url, self.baud or DEFAULT_BAUD, project, timing)

    def _listed(self, timing: Timing) -> Target:
        """The first free board of the list that fits; what it is flashed with is a project's, as with pytest."""
        if self.port is not None or self.qemu:
            raise UsageError("--board and --tag choose from a list of boards; --port and --qemu name one themselves")
        path = list_file(self.boards)
        if path is None:
            raise UsageError(f"--board and --tag choose from a list of boards: there is no {FILE_NAME} here")
        entry = choose(read_list(path), path, self.board, self.tags)
        folder = self.project or (str(entry.project) if entry.project else None)
        environment = self.environment or entry.env
        if folder is None and environment is not None:
            folder = str(path.parent)
        project = None if folder is None else _project(folder, environment, self.upload)
        if self.upload:
            _upload(project, entry.upload_port or entry.port)
        found = entry.port or (project.port() if project else None)
        assert found is not None, "an entry has a port or an environment"
        return Target(_for_the_command(acquired(found)), self.baud or entry.baud, project, timing)

    def _machine(self, project: Project | IdfProject | None) -> Machine:
        from tigris_pio.hil.qemu.build import compile_platformio, read_idf, read_platformio  # noqa: PLC0415
        from tigris_pio.hil.qemu.machine import Machine  # noqa: PLC0415

        if project is None or self.port is not None:
            raise UsageError("--qemu runs the firmware of a project: give --project DIR, and no --port")
        if isinstance(project, IdfProject):
            if self.upload:
                project.compile()
            build = read_idf(project.folder)
        else:
            if self.upload:
                compile_platformio(project)
            build = read_platformio(project)
        return Machine(build, build if self.upload else None, erased=self.upload, more=self.qemu_arguments)


def _for_the_command(resource: AbstractContextManager[_T]) -> _T:
    """What lasts until the command ends."""
    return click.get_current_context().with_resource(resource)


_PORT = click.option("--port", metavar="URL", help="/dev/ttyUSB0, COM3, socket://HOST:PORT, rfc2217://HOST:PORT, …")
_BAUD = click.option("--baud", type=int, metavar="RATE", help="Speed of the line.  [default: 115200]")
_LIST = (
    click.option("--board", metavar="NAME", help=f"The board of this name in a list of boards, {FILE_NAME}."),
    click.option("--tag", "tags", multiple=True, metavar="TAG", help="The first free board of the list with this tag."),
    click.option("--boards", metavar="FILE.toml", help=f"The list. Default: {FILE_NAME} in this folder."),
)
_PROJECT = (
    click.option(
        "--project",
        metavar="DIR",
        help="Take plan and port from this PlatformIO project, or the plan from ESP-IDF's build in DIR/build.",
    ),
    click.option(
        "--env", "environment", metavar="ENV", help="The project's environment. Default: its only or default one."
    ),
    click.option("--upload", is_flag=True, help="Build and flash the project first (pio run -t upload)."),
)
_QEMU = (
    click.option(
        "--qemu", is_flag=True, help="Start the project's firmware for an ESP32, ESP32-S3 or -C3 in Espressif's QEMU."
    ),
    click.option("--qemu-args", "qemu_arguments", default="", metavar="WORDS", help="More arguments for QEMU."),
)
_PATIENCE = (
    click.option("--timeout", default=120.0, show_default=True, metavar="S", help="Seconds one inference may take."),
    click.option(
        "--silence",
        default=5.0,
        show_default=True,
        metavar="S",
        help="Seconds a board at work may give no sign of life.",
    ),
)


def target_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options that name a board; the command takes them as one argument `where`."""
    return _gathering(command, (_PORT, _BAUD, *_LIST, *_PROJECT, *_QEMU, *_PATIENCE))


def line_options(command: Callable[..., None]) -> Callable[..., None]:
    """The same for a command that sends no requests."""
    return _gathering(command, (_PORT, _BAUD, *_LIST, *_PROJECT[:2], *_QEMU))


def _gathering(command: Callable[..., None], options: Sequence[Option]) -> Callable[..., None]:
    names = [field.name for field in dataclasses.fields(TargetOptions)]

    @functools.wraps(command)
    def gathered(**values: Any) -> None:
        given = {name: values.pop(name) for name in names if name in values}
        command(where=TargetOptions(**given), **values)

    wrapped: Callable[..., None] = gathered
    for option in reversed(options):
        wrapped = option(wrapped)
    return wrapped


PLAN = click.argument("plan", required=False, type=click.Path(), metavar="PLAN.tgrs")
MODEL = click.option("--model", metavar="NAME", help="Which of the project's models.")


def plan_path(plan: str | None, project: Project | IdfProject | None, model: str | None) -> Path:
    """The plan's file: the one named, or the one that the project built."""
    if plan is not None:
        path = Path(plan)
        if not path.is_file():
            raise UsageError(f"{plan}: no such file; tigris compile writes plans")
        return path
    if project is None:
        raise UsageError("no plan: name a .tgrs file, give --project DIR, or call it in a project's folder")
    return project.plan(model)


def _is_project(folder: Path, qemu: bool) -> bool:
    return (folder / "platformio.ini").is_file() or (qemu and is_idf_build(folder / "build"))


def _project(
    directory: str | None, environment: str | None, upload: bool, qemu: bool = False
) -> Project | IdfProject | None:
    """The project in a folder. Where both may have built, it is PlatformIO's by --env, and where it has a port to give:
    ESP-IDF's otherwise."""
    if directory is None:
        if environment is not None or upload:
            raise UsageError("--env and --upload need --project DIR, or a project's folder to be called in")
        return None
    folder = Path(directory)
    is_platformio = (folder / "platformio.ini").is_file()
    if environment is None and (qemu or not is_platformio or not (upload or (folder / ".pio").is_dir())):
        for build in (folder / "build", folder):
            if is_idf_build(build):
                return IdfProject(build)
    return open_project(directory, environment)


def _upload(project: Project | IdfProject | None, port: str | None = None) -> None:
    if not isinstance(project, Project):
        raise UsageError("--upload flashes PlatformIO's projects; for ESP-IDF's: idf.py flash, or --qemu --upload")
    project.upload(port)

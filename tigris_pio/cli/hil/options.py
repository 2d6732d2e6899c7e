"""Options that the hil commands share: they choose a board and its timeouts."""

from __future__ import annotations

import dataclasses
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from tigris_pio.cli.gather import gathering
from tigris_pio.errors import UsageError
from tigris_pio.hil.client import Board, Timing
from tigris_pio.hil.project import IdfProject, Project, is_idf_build, open_project
from tigris_pio.hil.rig.board_list import FILE_NAME, find_list, first_free, fitting, read_list
from tigris_pio.hil.rig.labgrid import acquired
from tigris_pio.hil.rig.place import DEFAULT_BAUD

if TYPE_CHECKING:
    from tigris_pio.hil.qemu.machine import Machine

_T = TypeVar("_T")

#: Time for an emulated chip to boot on a busy machine.
_BOOT_SECONDS = 60.0


@dataclasses.dataclass(frozen=True)
class Target:
    """The board's line, and its project if there is one."""

    url: str
    baud: int
    project: Project | IdfProject | None
    timing: Timing

    def board(self) -> Board:
        """Opens a connection; HarnessError if the board does not answer."""
        return Board(self.url, self.baud, self.timing)


@dataclasses.dataclass(frozen=True)
class TargetOptions:
    """The values of the options."""

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
        """Finds the chosen board; --qemu starts it until the command ends.

        complete: the command needs nothing from a project, so the current folder's is not read if --port is given.
        """
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
                raise UsageError("no port: give --port URL or --project DIR, or run the command in a project's folder")
            url = _for_the_command(acquired(found))
        return Target(url, self.baud or DEFAULT_BAUD, project, timing)

    def _listed(self, timing: Timing) -> Target:
        """The first free board of the list with the name and tags. --upload flashes its entry's project."""
        if self.port is not None or self.qemu:
            raise UsageError("--board and --tag choose a board from a list; leave out --port and --qemu")
        path = find_list(self.boards, Path())
        if path is None:
            raise UsageError(f"--board and --tag need a list of boards: write {FILE_NAME} or give --boards FILE.toml")
        wanted = [*([f"the name {self.board}"] if self.board else []), *(f"the tag {tag}" for tag in self.tags)]
        entry = first_free(fitting(read_list(path), path, " and ".join(wanted), self.tags, self.board))
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
        from tigris_pio.hil.qemu.build import read_idf, read_platformio  # noqa: PLC0415
        from tigris_pio.hil.qemu.machine import Machine  # noqa: PLC0415

        if project is None or self.port is not None:
            raise UsageError("--qemu runs the firmware of a project: give --project DIR and leave out --port")
        if self.upload:
            project.compile()
        build = read_idf(project.folder) if isinstance(project, IdfProject) else read_platformio(project)
        return Machine(build, build if self.upload else None, erased=self.upload, options=self.qemu_arguments)


def _for_the_command(resource: AbstractContextManager[_T]) -> _T:
    """Keeps a resource open until the command ends."""
    return click.get_current_context().with_resource(resource)


_PORT = click.option("--port", metavar="URL", help="/dev/ttyUSB0, COM3, socket://HOST:PORT, rfc2217://HOST:PORT, …")
_BAUD = click.option("--baud", type=int, metavar="RATE", help="Baud rate of the serial line.  [default: 115200]")
_LIST = (
    click.option("--board", metavar="NAME", help=f"Use the board NAME of a list of boards ({FILE_NAME})."),
    click.option("--tag", "tags", multiple=True, metavar="TAG", help="Use the list's first free board with this tag."),
    click.option("--boards", metavar="FILE.toml", help=f"List of boards. Default: {FILE_NAME} in the current folder."),
)
_PROJECT = (
    click.option(
        "--project",
        metavar="DIR",
        help="Use plan and port of this PlatformIO project, or the plan of an ESP-IDF build in DIR/build.",
    ),
    click.option(
        "--env", "environment", metavar="ENV", help="The project's environment. Default: its only one or its default."
    ),
    click.option("--upload", is_flag=True, help="Build and flash the project first (pio run -t upload)."),
)
_QEMU = (
    click.option(
        "--qemu", is_flag=True, help="Run the project's firmware (ESP32, ESP32-S3 or ESP32-C3) in Espressif's QEMU."
    ),
    click.option("--qemu-args", "qemu_arguments", default="", metavar="WORDS", help="Additional arguments for QEMU."),
)
_TIMEOUTS = (
    click.option("--timeout", default=120.0, show_default=True, metavar="S", help="Longest inference, in seconds."),
    click.option(
        "--silence",
        default=5.0,
        show_default=True,
        metavar="S",
        help="Longest time without a byte from a running board, in seconds.",
    ),
)


#: The options that choose a board, with timeouts; the command gets them as one argument `where`.
target_options = gathering("where", TargetOptions, (_PORT, _BAUD, *_LIST, *_PROJECT, *_QEMU, *_TIMEOUTS))
#: Those of a command that sends no requests: without --upload and timeouts.
line_options = gathering("where", TargetOptions, (_PORT, _BAUD, *_LIST, *_PROJECT[:2], *_QEMU))


PLAN = click.argument("plan", required=False, type=click.Path(), metavar="PLAN.tgrs")
MODEL = click.option("--model", metavar="NAME", help="Name of one of the project's models.")


def plan_path(plan: str | None, project: Project | IdfProject | None, model: str | None) -> Path:
    """The plan's file: `plan`, or the one that the project built for `model`."""
    if plan is not None:
        path = Path(plan)
        if not path.is_file():
            raise UsageError(f"{plan}: no such file; tigris compile writes plans")
        return path
    if project is None:
        raise UsageError("no plan: give a .tgrs file or --project DIR, or run the command in a project's folder")
    return project.plan(model)


def _is_project(folder: Path, qemu: bool) -> bool:
    return (folder / "platformio.ini").is_file() or (qemu and is_idf_build(folder / "build"))


def _project(
    directory: str | None, environment: str | None, upload: bool, qemu: bool = False
) -> Project | IdfProject | None:
    """Opens the project in a folder.

    A folder with builds of both PlatformIO and ESP-IDF is PlatformIO's with --env or --upload, or if it has .pio and
    QEMU is not wanted; else it is ESP-IDF's.
    """
    if directory is None:
        if environment is not None or upload:
            raise UsageError("--env and --upload need a project: give --project DIR, or run in a project's folder")
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
        raise UsageError("--upload flashes only PlatformIO projects; for ESP-IDF use idf.py flash, or --qemu --upload")
    project.upload(port)

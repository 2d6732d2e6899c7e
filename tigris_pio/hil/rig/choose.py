"""Which boards a test run may use: from options to places."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from tigris_pio.errors import UsageError
from tigris_pio.hil.project import Project, environments, open_project
from tigris_pio.hil.rig.board_list import FILE_NAME, Entry, read_list
from tigris_pio.hil.rig.place import DEFAULT_BAUD, Place


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What was asked for. `root` is the folder that relative paths begin in."""

    root: Path
    port: str | None = None
    baud: int | None = None
    project: Path | None = None
    envs: tuple[str, ...] = ()
    emulated: tuple[str, ...] = ()
    boards: Path | None = None
    tags: tuple[str, ...] = ()
    flash: bool | None = None  #: None: what the place says


def choose(wanted: Wanted) -> tuple[Place, ...]:
    """The places that fit, none when nothing was asked for; UsageError when nothing fits what was.

    A port goes before emulated boards, these before a list of boards, and that before the project's environment.
    """
    if wanted.port is not None:
        return (_at_port(wanted, wanted.port),)
    if wanted.emulated:
        return _emulated(wanted)
    path = _list_file(wanted)
    if path is not None:
        places = _listed(wanted, path)
        if places:
            return places
    if wanted.tags:
        raise UsageError(f"no board has the tags {', '.join(wanted.tags)}: there is no {FILE_NAME}")
    if wanted.project is None:
        return ()
    return tuple(_of_project(wanted, project) for project in _environments(wanted))


def _flash(wanted: Wanted, usual: bool) -> bool:
    return usual if wanted.flash is None else wanted.flash


def _environments(wanted: Wanted) -> list[Project]:
    assert wanted.project is not None
    if len(wanted.envs) <= 1:
        return [open_project(str(wanted.project), next(iter(wanted.envs), None))]
    projects, _ = environments(str(wanted.project))
    for name in wanted.envs:
        if name not in projects:
            raise UsageError(f"{name}: {wanted.project} has environments {', '.join(projects)}")
    return [projects[name] for name in wanted.envs]


def _of_project(wanted: Wanted, project: Project, switch_off: bool = False) -> Place:
    tags = frozenset(name for name in (project.environment, project.board) if name)
    baud = wanted.baud or DEFAULT_BAUD
    flash = _flash(wanted, True)
    name = project.environment
    return Place(name, None, baud, tags, "", project, flash=flash, switch_off=switch_off)


def _at_port(wanted: Wanted, port: str) -> Place:
    """Taken as it is, unless flashing is asked for."""
    project = _environments(wanted)[0] if wanted.project is not None else None
    flash = _flash(wanted, False)
    if flash and project is None:
        raise UsageError(f"{port}: nothing to flash: name the project (--tigris-project DIR)")
    return Place(port, port, wanted.baud or DEFAULT_BAUD, project=project, flash=flash)


def _emulated(wanted: Wanted) -> tuple[Place, ...]:
    """The project's environments for these boards."""
    directory = wanted.project or wanted.root
    projects, _ = environments(str(directory))
    places = []
    for board in wanted.emulated:
        fitting = [project for name, project in projects.items() if project.board == board]
        if wanted.envs:
            fitting = [project for project in fitting if project.environment in wanted.envs]
        if not fitting:
            known = ", ".join(f"{name} for {project.board}" for name, project in projects.items())
            raise UsageError(f"{board}: {directory} has no environment for this board, but {known}")
        places.append(_of_project(wanted, fitting[0], switch_off=True))
    return tuple(places)


def _list_file(wanted: Wanted) -> Path | None:
    """The list that was named, or that lies in the root or project folder."""
    if wanted.boards is not None:
        return wanted.boards
    folders = [folder for folder in (wanted.root, wanted.project) if folder is not None]
    return next((folder / FILE_NAME for folder in folders if (folder / FILE_NAME).is_file()), None)


def _listed(wanted: Wanted, path: Path) -> tuple[Place, ...]:
    entries = read_list(path)
    fitting = [entry for entry in entries if frozenset(wanted.tags) <= entry.all_tags]
    if not fitting:
        known = "; ".join(f"{entry.name}: {', '.join(sorted(entry.all_tags))}" for entry in entries)
        raise UsageError(f"{path}: no board has the tags {', '.join(wanted.tags)}; there are {known or 'none'}")
    if wanted.envs:
        fitting = [entry for entry in fitting if entry.env in (None, *wanted.envs)]
        if not fitting and (wanted.boards is not None or wanted.tags):
            raise UsageError(f"{path}: no board is for the environment {', '.join(wanted.envs)}")
    return tuple(_place(wanted, entry, path) for entry in fitting)


def _place(wanted: Wanted, entry: Entry, path: Path) -> Place:
    """An entry with an environment is flashed; one without is taken as it is."""
    folder = entry.project or wanted.project
    project = None
    if entry.env is not None:
        project = open_project(str(folder or path.parent), entry.env)
    elif folder is not None:
        project = open_project(str(folder), _only(wanted.envs))
    return Place(
        entry.name,
        entry.port,
        wanted.baud or entry.baud,
        entry.all_tags,
        entry.chip,
        project,
        entry.upload_port,
        _flash(wanted, entry.env is not None) and project is not None,
    )


def _only(names: Sequence[str]) -> str | None:
    return names[0] if len(names) == 1 else None

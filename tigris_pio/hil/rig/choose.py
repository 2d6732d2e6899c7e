"""Chooses the boards of a test run: from options to places."""

import dataclasses
from pathlib import Path

from tigris_pio.errors import UsageError
from tigris_pio.hil.project import Project, environments, open_project
from tigris_pio.hil.rig.board_list import FILE_NAME, Entry, find_list, fitting, read_list
from tigris_pio.hil.rig.place import DEFAULT_BAUD, Place


@dataclasses.dataclass(frozen=True)
class Selection:
    """The options of a test run. Relative paths start in `root`."""

    root: Path
    port: str | None = None
    baud: int | None = None
    project: Path | None = None
    envs: tuple[str, ...] = ()
    emulated: tuple[str, ...] = ()
    boards: Path | None = None
    tags: tuple[str, ...] = ()
    flash: bool | None = None  #: None: the place's default


def choose(selection: Selection) -> tuple[Place, ...]:
    """The places that fit the options; empty without options. UsageError if no place fits.

    A port precedes emulated boards, these a list of boards, and that the project's environments.
    """
    if selection.port is not None:
        return (_port_place(selection, selection.port),)
    if selection.emulated:
        return _emulated(selection)
    path = find_list(selection.boards, selection.root, selection.project)
    if path is not None:
        places = _listed(selection, path)
        if places:
            return places
    if selection.tags:
        raise UsageError(f"no board has the tags {', '.join(selection.tags)}: there is no {FILE_NAME}")
    if selection.project is None:
        return ()
    return tuple(_project_place(selection, project) for project in _environments(selection))


def _flash(selection: Selection, default: bool) -> bool:
    return default if selection.flash is None else selection.flash


def _environments(selection: Selection) -> list[Project]:
    assert selection.project is not None
    if len(selection.envs) <= 1:
        return [open_project(str(selection.project), next(iter(selection.envs), None))]
    projects, _ = environments(str(selection.project))
    for name in selection.envs:
        if name not in projects:
            raise UsageError(f"{name}: {selection.project} has environments {', '.join(projects)}")
    return [projects[name] for name in selection.envs]


def _project_place(selection: Selection, project: Project, switch_off: bool = False) -> Place:
    tags = frozenset(name for name in (project.environment, project.board) if name)
    return Place(project.environment, None, selection.baud or DEFAULT_BAUD, tags, "", project,
                 flash=_flash(selection, True), switch_off=switch_off)  # fmt: skip


def _port_place(selection: Selection, port: str) -> Place:
    """The place at a port; it is not flashed unless --tigris-flash is yes."""
    project = _environments(selection)[0] if selection.project is not None else None
    flash = _flash(selection, False)
    if flash and project is None:
        raise UsageError(f"{port}: nothing to flash: give the project (--tigris-project DIR)")
    return Place(port, port, selection.baud or DEFAULT_BAUD, project=project, flash=flash)


def _emulated(selection: Selection) -> tuple[Place, ...]:
    """The places of the project's environments for the emulated boards."""
    directory = selection.project or selection.root
    projects, _ = environments(str(directory))
    places = []
    for board in selection.emulated:
        fitting = [project for name, project in projects.items() if project.board == board]
        if selection.envs:
            fitting = [project for project in fitting if project.environment in selection.envs]
        if not fitting:
            known = ", ".join(f"{name} for {project.board}" for name, project in projects.items())
            raise UsageError(f"{board}: {directory} has no environment for this board; it has {known}")
        places.append(_project_place(selection, fitting[0], switch_off=True))
    return tuple(places)


def _listed(selection: Selection, path: Path) -> tuple[Place, ...]:
    entries = fitting(read_list(path), path, f"the tags {', '.join(selection.tags)}", selection.tags)
    if selection.envs:
        entries = [entry for entry in entries if entry.env in (None, *selection.envs)]
        if not entries and (selection.boards is not None or selection.tags):
            raise UsageError(f"{path}: no board is for the environment {', '.join(selection.envs)}")
    return tuple(_place(selection, entry, path) for entry in entries)


def _place(selection: Selection, entry: Entry, path: Path) -> Place:
    """The place of an entry. By default an entry with an environment is flashed."""
    folder = entry.project or selection.project
    project = None
    if entry.env is not None:
        project = open_project(str(folder or path.parent), entry.env)
    elif folder is not None:
        project = open_project(str(folder), selection.envs[0] if len(selection.envs) == 1 else None)
    flash = _flash(selection, entry.env is not None) and project is not None
    return Place(entry.name, entry.port, selection.baud or entry.baud, entry.all_tags, entry.chip, project,
                 entry.upload_port, flash)  # fmt: skip

"""Chooses a board by name or tag from a list of boards (tigris-boards.toml), which the pytest plugin reads, too."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tigris_pio.errors import UsageError
from tigris_pio.hil.errors import BusyError
from tigris_pio.hil.lock import PortLock
from tigris_pio.hil.rig.board_list import FILE_NAME, Entry
from tigris_pio.hil.rig.labgrid import SCHEME


def list_file(named: str | None) -> Path | None:
    """Path of the list: `named`, else tigris-boards.toml in the current folder; None if there is none."""
    path = Path(named or FILE_NAME)
    return path if named is not None or path.is_file() else None


def choose(entries: Sequence[Entry], path: Path, name: str | None, tags: Sequence[str]) -> Entry:
    """The first free board of a list that has the name and all tags.

    Raises UsageError if no board has them, and BusyError with the users' names if all such boards are in use.
    """
    fitting = [
        entry for entry in entries if (name is None or entry.name == name) and frozenset(tags) <= entry.all_tags
    ]
    if not fitting:
        wanted = " and ".join(([f"the name {name}"] if name else []) + [f"the tag {tag}" for tag in tags])
        known = "; ".join(f"{entry.name}: {', '.join(sorted(entry.all_tags))}" for entry in entries)
        raise UsageError(f"{path}: no board has {wanted}; the list has {known or 'no boards'}")
    holders = []
    for entry in fitting:
        holder = _holder(entry)
        if not holder:
            return entry
        holders.append(holder)
    raise BusyError("; ".join(holders))


def _holder(entry: Entry) -> str:
    """Sentence with the program that uses a board's port; empty if it is free or the port is unknown."""
    if entry.port is None or entry.port.startswith(SCHEME):
        return ""
    try:
        PortLock(entry.port).release()
    except BusyError as error:
        return str(error)
    return ""

"""Boards by name or tag, from the list that the pytest plugin reads, too."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tigris_pio.errors import UsageError
from tigris_pio.hil.errors import BusyError
from tigris_pio.hil.lock import PortLock
from tigris_pio.hil.rig.board_list import FILE_NAME, Entry
from tigris_pio.hil.rig.labgrid import SCHEME


def list_file(named: str | None) -> Path | None:
    """The list that was named, or the one in this folder, if there is one."""
    path = Path(named or FILE_NAME)
    return path if named is not None or path.is_file() else None


def choose(entries: Sequence[Entry], path: Path, name: str | None, tags: Sequence[str]) -> Entry:
    """The first board of a list that has the name and all tags, and that nobody on this machine uses.

    UsageError when none fits, BusyError with who has them when all that fit are in use.
    """
    fitting = [
        entry for entry in entries if (name is None or entry.name == name) and frozenset(tags) <= entry.all_tags
    ]
    if not fitting:
        wanted = " and ".join(([f"the name {name}"] if name else []) + [f"the tag {tag}" for tag in tags])
        known = "; ".join(f"{entry.name}: {', '.join(sorted(entry.all_tags))}" for entry in entries)
        raise UsageError(f"{path}: no board has {wanted}; there are {known or 'none'}")
    holders = []
    for entry in fitting:
        holder = _holder(entry)
        if not holder:
            return entry
        holders.append(holder)
    raise BusyError("; ".join(holders))


def _holder(entry: Entry) -> str:
    """Who uses a board, as far as its port is known."""
    if entry.port is None or entry.port.startswith(SCHEME):
        return ""
    try:
        PortLock(entry.port).release()
    except BusyError as error:
        return str(error)
    return ""

"""Reads a list of boards, `tigris-boards.toml`:

    [[board]]
    name = "desk-s3"                  # unique
    port = "/dev/ttyUSB0"             # any pyserial URL: rfc2217://lab:4000, socket://lab:4001; or labgrid:PLACE
    baud = 921600                     # 115200 unless given
    tags = ["psram", "camera"]        # for --tags; the name, the chip and the environment count as tags
    chip = "esp32s3"
    project = "../firmware"           # relative to the list; with `env`: built and flashed before the tests
    env = "esp32s3"
    upload_port = "/dev/ttyACM0"      # the port for flashing if it is not `port`
"""

import dataclasses
import difflib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tigris_pio.errors import UsageError
from tigris_pio.hil.errors import BusyError
from tigris_pio.hil.lock import PortLock
from tigris_pio.hil.rig.labgrid import SCHEME
from tigris_pio.hil.rig.place import DEFAULT_BAUD

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE_NAME = "tigris-boards.toml"


@dataclasses.dataclass(frozen=True)
class Entry:
    """One board of a list; `project` is absolute."""

    name: str
    port: str | None = None
    baud: int = DEFAULT_BAUD
    tags: tuple[str, ...] = ()
    chip: str = ""
    project: Path | None = None
    env: str | None = None
    upload_port: str | None = None

    @property
    def all_tags(self) -> frozenset[str]:
        """Its tags, name, chip and environment."""
        return frozenset({*self.tags, self.name, self.chip, self.env or ""} - {""})


_KINDS: dict[str, tuple[type, str]] = {
    **{field.name: (str, "text") for field in dataclasses.fields(Entry)},
    "baud": (int, "a whole number"),
    "tags": (list, "a list of texts"),
}


def find_list(named: str | Path | None, *folders: Path | None) -> Path | None:
    """Path of the list: `named`, else tigris-boards.toml in the first of the folders that has one; None without any."""
    paths = [folder / FILE_NAME for folder in folders if folder is not None]
    return Path(named) if named is not None else next(filter(Path.is_file, paths), None)


def fitting(
    entries: Sequence[Entry], path: Path, wanted: str, tags: Sequence[str], name: str | None = None
) -> list[Entry]:
    """The boards of a list that have all tags, and the name if given.

    Raises UsageError without any; `wanted` has name and tags in words.
    """
    found = [entry for entry in entries if frozenset(tags) <= entry.all_tags and name in (None, entry.name)]
    if not found:
        known = "; ".join(f"{entry.name}: {', '.join(sorted(entry.all_tags))}" for entry in entries)
        raise UsageError(f"{path}: no board has {wanted}; the list has {known or 'no boards'}")
    return found


def first_free(entries: Sequence[Entry]) -> Entry:
    """The first board that no program uses; BusyError with the users' names if there is none."""
    holders = []
    for entry in entries:
        holder = _holder(entry)
        if not holder:
            return entry
        holders.append(holder)
    raise BusyError("; ".join(holders))


def _holder(entry: Entry) -> str:
    """Sentence with the program that uses a board's port; empty if it is free or the port is unknown."""
    try:
        if entry.port is not None and not entry.port.startswith(SCHEME):
            PortLock(entry.port).release()
    except BusyError as error:
        return str(error)
    return ""


def read_list(path: Path) -> tuple[Entry, ...]:
    """Reads the boards of a list; UsageError names the file, the entry and the fault."""
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file; a list of boards is a TOML file of [[board]] tables") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from error
    tables = document.get("board")
    if set(document) != {"board"} or not isinstance(tables, list):
        raise UsageError(f"{path}: holds {', '.join(document) or 'nothing'}; write a table [[board]] for each board")
    entries = tuple(_entry(path, number, table) for number, table in enumerate(tables, 1))
    names = [entry.name for entry in entries]
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise UsageError(f"{path}: two boards are called {double}; give each a name of its own")
    return entries


def _entry(path: Path, number: int, table: Any) -> Entry:
    where = f"{path}: [[board]] number {number}"
    if not isinstance(table, dict) or not table.get("name"):
        raise UsageError(f"{where}: has no name")
    where = f"{path}: board {table['name']}"
    for key, value in table.items():
        if key not in _KINDS:
            close = difflib.get_close_matches(key, _KINDS, n=1)
            guess = f"did you mean {close[0]}? " if close else ""
            raise UsageError(f"{where}: there is no key {key}; {guess}Keys are {', '.join(_KINDS)}")
        kind, words = _KINDS[key]
        if not isinstance(value, kind) or (isinstance(value, list) and not all(isinstance(tag, str) for tag in value)):
            raise UsageError(f"{where}: {key} must be {words}")
    if "port" not in table and "env" not in table:
        raise UsageError(f"{where}: has neither port nor env; add one of them")
    values = dict(table)
    values["tags"] = tuple(values.get("tags", ()))
    if "project" in values:
        values["project"] = (path.parent / values["project"]).resolve()
    return Entry(**values)

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

from __future__ import annotations

import dataclasses
import difflib
import sys
from pathlib import Path
from typing import Any

from tigris_pio.errors import UsageError
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
    "name": (str, "text"),
    "port": (str, "text"),
    "baud": (int, "a whole number"),
    "tags": (list, "a list of texts"),
    "chip": (str, "text"),
    "project": (str, "text"),
    "env": (str, "text"),
    "upload_port": (str, "text"),
}


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

"""A place: where a board is, and what firmware it is to have."""

from __future__ import annotations

import dataclasses

from tigris_pio.hil.lock import lock_path
from tigris_pio.hil.project import Project

DEFAULT_BAUD = 115200


@dataclasses.dataclass(frozen=True)
class Place:
    """One board. `port` None: the project's environment names it, or the emulated board that is started."""

    name: str
    port: str | None = None  #: a URL, a device, or labgrid:PLACE
    baud: int = DEFAULT_BAUD
    tags: frozenset[str] = frozenset()
    chip: str = ""
    project: Project | None = None  #: what names plans, and the port where there is none
    upload_port: str | None = None  #: where it is flashed, when that is not `port`
    flash: bool = False  #: the project is built and flashed before the board is used
    switch_off: bool = False  #: an emulated board that is for this run only

    @property
    def key(self) -> str:
        """The same for all names of the same board on this machine."""
        if self.port is not None:
            return f"port {lock_path(self.port).name}"
        assert self.project is not None
        return f"environment {self.project.directory.resolve()} {self.project.environment}"

"""A place: the address of a board, and the firmware that it should have."""

import dataclasses

from tigris_pio.hil.lock import lock_path
from tigris_pio.hil.project import Project

DEFAULT_BAUD = 115200


@dataclasses.dataclass(frozen=True)
class Place:
    """The place of one board. Without `port`, the project's environment or its emulated board names the port."""

    name: str
    port: str | None = None  #: a URL, a device, or labgrid:PLACE
    baud: int = DEFAULT_BAUD
    tags: frozenset[str] = frozenset()
    chip: str = ""
    project: Project | None = None  #: its environment names the plans, and the port if `port` is None
    upload_port: str | None = None  #: the port for flashing if it is not `port`
    flash: bool = False  #: build and flash the project before the board is used
    switch_off: bool = False  #: an emulated board that is started for this run only

    @property
    def key(self) -> str:
        """A key that all names of the same board share on this machine."""
        if self.port is not None:
            return f"port {lock_path(self.port).name}"
        assert self.project is not None
        return f"environment {self.project.directory.resolve()} {self.project.environment}"

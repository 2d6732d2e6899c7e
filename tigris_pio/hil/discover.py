"""Finds where boards may be (serial ports, running emulated boards) and asks what answers there: `tigris hil list`."""

import dataclasses
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tigris_pio.hil.client import Board, BoardInfo, ModelInfo, Timing
from tigris_pio.hil.errors import HarnessError
from tigris_pio.hil.lock import lock_path
from tigris_pio.hil.project import board_process

#: Most ports that are probed at the same time.
_TOGETHER = 16


@dataclasses.dataclass(frozen=True)
class BoardAddress:
    """A place where a board may be."""

    url: str
    kind: str  #: `serial`, `emulated`, or `listed` (known from a list of boards only)
    description: str  #: the system's name of the port; the folder of an emulated board
    vid: int | None = None  #: USB vendor
    pid: int | None = None  #: USB product
    serial_number: str | None = None
    baud: int = 115200
    name: str = ""  #: in a list of boards
    tags: tuple[str, ...] = ()

    @property
    def is_port(self) -> bool:
        """True if `url` can be opened: False for an environment or a labgrid place."""
        return bool(self.url) and not self.url.startswith("labgrid:")


@dataclasses.dataclass(frozen=True)
class ProbeResult:
    """The result of probing an address.

    `outcome`: `answers`, `busy`, `silent`, `other` (bytes, but no answer), `version`, `closed`, `lost` (the line
    failed) or `unknown` (not probed). `problem`: the sentence to each but `answers`.
    """

    outcome: str
    problem: str
    board: BoardInfo | None = None
    models: tuple[ModelInfo, ...] = ()


def find_addresses(folder: Path | None, listed: Sequence[BoardAddress] = ()) -> list[BoardAddress]:
    """The serial ports of this machine by name, then its running emulated boards by port, then the rest of `listed`.

    Only emulated boards of projects in `folder`; None: all, other users' too. Addresses that are also `listed` get the
    list's name, tags and speed.
    """
    from serial.tools import list_ports  # noqa: PLC0415 - slow, and needed for `tigris hil list` only

    addresses = [
        BoardAddress(port.device, "serial", "" if port.description in (None, "n/a") else str(port.description),
                     port.vid, port.pid, port.serial_number)
        for port in sorted(list_ports.comports(), key=lambda port: str(port.device))
    ]
    emulated = sorted(board_process.all_running(), key=lambda item: int(item[1]))
    addresses += [
        BoardAddress(f"socket://127.0.0.1:{port}", "emulated", str(board_folder))
        for board_folder, port in emulated
        if folder is None or board_folder.is_relative_to(folder)
    ]
    return _with_names(addresses, listed)


def _with_names(addresses: Sequence[BoardAddress], listed: Sequence[BoardAddress]) -> list[BoardAddress]:
    by_port = {lock_path(address.url): address for address in listed}
    found = []
    for address in addresses:
        own = by_port.pop(lock_path(address.url), None)
        more = {} if own is None else {"name": own.name, "tags": own.tags, "baud": own.baud}
        found.append(dataclasses.replace(address, **more))  # type: ignore[arg-type]
    return found + list(by_port.values())


def probe_all(addresses: Sequence[BoardAddress], patience: float) -> list[ProbeResult]:
    """Probes all addresses at once. `patience`: seconds that a board may take to its first answer.

    An environment or a labgrid place is not probed: its outcome is `unknown`.
    """
    if not addresses:
        return []
    with ThreadPoolExecutor(min(len(addresses), _TOGETHER)) as pool:
        return list(pool.map(lambda address: _probe(address, patience), addresses))


def _probe(address: BoardAddress, patience: float) -> ProbeResult:
    if not address.is_port:
        return ProbeResult("unknown", "not probed: that would flash or acquire it")
    timing = Timing(connect=patience, answer=min(0.3, patience), longest_answer=patience, tries=3)
    try:
        with Board(address.url, address.baud, timing) as board:
            return ProbeResult("answers", "", board.info, tuple(board.models()))
    except HarnessError as error:
        return ProbeResult(error.outcome, str(error))

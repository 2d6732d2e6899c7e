"""Where boards may be (serial ports, emulated boards that run), and what answers there."""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tigris_pio.hil.client import Board, BoardInfo, ModelInfo, Timing
from tigris_pio.hil.errors import (
    BusyError,
    HarnessError,
    NoisyBoardError,
    PortError,
    SilentBoardError,
    VersionError,
)
from tigris_pio.hil.lock import lock_path

_BOARD_PROCESS = Path(__file__).parents[1] / "platformio" / "emulated" / "tools" / "board_process.py"
#: Ports asked at the same time.
_TOGETHER = 16


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a board may be."""

    url: str
    kind: str  #: `serial`, `emulated`, or `listed`: it is known from a list of boards alone
    description: str  #: what the system calls the port; the folder of an emulated board
    vid: int | None = None  #: of a USB device
    pid: int | None = None
    serial_number: str | None = None
    baud: int = 115200
    name: str = ""  #: in a list of boards
    tags: tuple[str, ...] = ()

    @property
    def is_port(self) -> bool:
        """Whether `url` is one that can be opened: not an environment, not a labgrid place."""
        return bool(self.url) and not self.url.startswith("labgrid:")


@dataclasses.dataclass(frozen=True)
class Answer:
    """What a place said. `state`: `answers`, `busy`, `silent`, `other` (bytes, but no answer), `version`, `closed`,
    `lost`, where it broke off, or `unknown`. `problem` is the sentence to each but the first."""

    state: str
    problem: str
    board: BoardInfo | None = None
    models: tuple[ModelInfo, ...] = ()


def find_places(folder: Path | None, listed: Sequence[Place] = ()) -> list[Place]:
    """The serial ports of this machine, by name, then its emulated boards that run, by port: those of projects in
    `folder`, or with None all, which may be others' that count on being left alone. Those that are `listed`, too, have
    the list's name, tags and speed; the rest of the list follows."""
    from serial.tools import list_ports  # noqa: PLC0415 - slow, and of no use to who names a port

    ports = [
        Place(
            port.device,
            "serial",
            "" if port.description in (None, "n/a") else str(port.description),
            port.vid,
            port.pid,
            port.serial_number,
        )
        for port in sorted(list_ports.comports(), key=lambda port: str(port.device))
    ]
    emulated = sorted(_board_process().all_running(), key=lambda item: int(item[1]))
    ports += [
        Place(f"socket://127.0.0.1:{port}", "emulated", str(state))
        for state, port in emulated
        if folder is None or state.is_relative_to(folder)
    ]
    return _with_names(ports, listed)


def _with_names(places: Sequence[Place], listed: Sequence[Place]) -> list[Place]:
    by_port = {lock_path(place.url): place for place in listed}
    found = []
    for place in places:
        own = by_port.pop(lock_path(place.url), None)
        more = {} if own is None else {"name": own.name, "tags": own.tags, "baud": own.baud}
        found.append(dataclasses.replace(place, **more))  # type: ignore[arg-type]
    return found + list(by_port.values())


def ask(places: Sequence[Place], patience: float) -> list[Answer]:
    """What answers at each place, all asked at once; `patience`: seconds that a board may take to its first answer.

    A place whose name is no port's (an environment's, a labgrid place's) is not asked: its state is `unknown`.
    """
    if not places:
        return []
    with ThreadPoolExecutor(min(len(places), _TOGETHER)) as pool:
        return list(pool.map(lambda place: _ask(place, patience), places))


def _ask(place: Place, patience: float) -> Answer:
    if not place.is_port:
        return Answer("unknown", "it is not asked: that would flash or acquire it")
    timing = Timing(connect=patience, answer=min(0.3, patience), longest_answer=patience, tries=3)
    try:
        with Board(place.url, place.baud, timing) as board:
            return Answer("answers", "", board.info, tuple(board.models()))
    except HarnessError as error:
        return Answer(_state(error), str(error))


def _state(error: HarnessError) -> str:
    kinds: tuple[tuple[type[HarnessError], str], ...] = (
        (BusyError, "busy"),
        (PortError, "closed"),
        (VersionError, "version"),
        (NoisyBoardError, "other"),
        (SilentBoardError, "silent"),
    )
    return next((name for kind, name in kinds if isinstance(error, kind)), "lost")


def _board_process() -> Any:
    """The tool lies beside PlatformIO's files, which are no package."""
    name = "tigris_board_process"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, _BOARD_PROCESS)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]

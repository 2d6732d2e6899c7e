"""Who has which board now, and what has been flashed to it: across processes, by lock files.

A process holds its board for the whole run where there is one for each process, and no test needs several. Otherwise
it holds boards for a test at a time, and after each leaves who waits the time to see that a board is free. Several
boards are always taken in the same order.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from tigris_pio.errors import TigrisError, ToolError
from tigris_pio.hil.client import Board, Timing
from tigris_pio.hil.errors import BusyError
from tigris_pio.hil.lock import Lock, PortLock, named_path
from tigris_pio.hil.rig.board import RigBoard
from tigris_pio.hil.rig.labgrid import SCHEME, acquired
from tigris_pio.hil.rig.place import Place

#: The emulated boards' process, of their PlatformIO platform.
_BOARD_PROCESS = Path(__file__).parents[2] / "platformio" / "emulated" / "tools" / "board_process.py"
_POLL_SECONDS = 0.01
#: After which who waits has seen that a board is free.
_GIVE_WAY_SECONDS = 0.03
#: A build may take minutes, and others of the same project wait for it.
_BUILD_SECONDS = 1800.0


@dataclasses.dataclass(frozen=True)
class Process:
    """Which of how many processes of a test run this is, and the folder in which they tell each other things."""

    folder: Path
    number: int = 0
    count: int = 1


class Rig:
    """The boards that this process may use. `wait`: seconds for which a board that somebody has is waited for."""

    def __init__(
        self, places: Sequence[Place], process: Process, wait: float, plan: Path | None, needs_several: bool,
        timing: Timing | None = None,
    ) -> None:  # fmt: skip
        ordered = sorted(places, key=lambda place: place.key)
        self.boards = tuple(RigBoard(place, self._connect, plan) for place in ordered)
        self.shared = needs_several or process.count > len(places)
        self._process, self._wait, self._timing = process, wait, timing
        self._held: dict[str, ExitStack] = {}  # by the place's key
        self._ports: dict[str, str | None] = {}
        self._own: RigBoard | None = None
        self._all = False  # the test at hand uses all boards

    # What tests ask for.

    def board(self) -> RigBoard:
        """This process' board, connected: any that is free, or where they are shared always the same."""
        assert self.boards
        if self._own is None:
            self._own = self.boards[self._process.number % len(self.boards)] if self.shared else self._any()
        self._own.client  # noqa: B018 - a board that does not answer is known here
        return self._own

    def all(self) -> tuple[RigBoard, ...]:
        """All boards, connected, in the order of their places' keys."""
        self._all = True
        for board in self.boards:
            board.client  # noqa: B018
        return self.boards

    def begin_test(self, needs_all: bool = False) -> None:
        """Logs begin anew. `needs_all`: the test uses all boards, so none is taken before the others."""
        self._all = needs_all
        for board in self.boards:
            board.begin_test()

    def end_test(self) -> None:
        """Others' turn, where boards are shared."""
        if self.shared and self._held:
            self.close()
            time.sleep(_GIVE_WAY_SECONDS)

    def close(self) -> None:
        """Ends all connections, and lets go of all boards."""
        for board in self.boards:
            board.close()
        for key in list(self._held):
            self._held.pop(key).close()

    # How boards are taken.

    def _any(self) -> RigBoard:
        """The first board that is free."""
        end, busy = time.monotonic() + self._wait, dict.fromkeys((board.place.name for board in self.boards), "")
        while True:
            for board in self.boards:
                holder = self._take(board.place)
                if holder is None:
                    return board
                busy[board.place.name] = holder
            if time.monotonic() >= end:
                raise self._busy(busy)
            time.sleep(_POLL_SECONDS)

    def _await(self, place: Place) -> None:
        """Waits for this board."""
        end = time.monotonic() + self._wait
        _poll(lambda: self._take(place), end, lambda holder: self._busy({place.name: holder}))

    def _take(self, place: Place) -> str | None:
        """Holds the place, or says who does. A program that only has the port open holds it as well."""
        lock = Lock(named_path(place.key))
        holder = lock.take()
        if holder is not None:
            return holder
        with ExitStack() as stack:
            stack.callback(lock.release)
            try:
                self._ports[place.key] = _ready(place, stack)
            except BusyError as error:
                return str(error)
            self._held[place.key] = stack.pop_all()
        return None

    def _busy(self, holders: dict[str, str]) -> BusyError:
        told = "; ".join(f"{name}: {holder}" for name, holder in holders.items())
        return BusyError(
            f"no board was free for {self._wait:g} s ({told}). Wait longer (--tigris-wait), run fewer processes, "
            "or add boards"
        )

    # How a board gets ready.

    def _connect(self, board: RigBoard) -> Board:
        for other in self.boards if self._all else (board,):
            if other.place.key not in self._held:
                self._await(other.place)
        place, port = board.place, self._ports[board.place.key]
        if place.flash:
            self._flash_once(place, port)
        if port is None:
            assert place.project is not None
            port = place.project.port()
        return self._open(port, place.baud)

    def _open(self, port: str, baud: int) -> Board:
        """A program that only looks what is there may have the port for a moment."""
        end = time.monotonic() + self._wait
        while True:
            try:
                return Board(port, baud, self._timing)
            except BusyError:
                if time.monotonic() >= end:
                    raise
            time.sleep(_POLL_SECONDS)

    def _flash_once(self, place: Place, port: str | None) -> None:
        """The first process of the run that has the board builds and flashes; the others hear how that went."""
        assert place.project is not None
        digest = hashlib.sha256(place.key.encode()).hexdigest()[:16]
        record = self._process.folder / f"{digest}.flashed"
        if record.is_file():
            failure = json.loads(record.read_text("utf-8"))["failure"]
            if failure:
                raise ToolError(f"{place.name}: not flashed, as another process found: {failure}")
            return
        failure = ""
        state = str(place.project.emulated_state.resolve()) if place.switch_off else ""
        try:
            self._flash(place, port)
        except TigrisError as error:
            failure = str(error)
            raise
        finally:
            record.write_text(json.dumps({"failure": failure, "state": state}), "utf-8")

    def _flash(self, place: Place, port: str | None) -> None:
        assert place.project is not None
        project = place.project
        lock = Lock(named_path(f"build {project.directory.resolve()}"))
        _poll(lock.take, time.monotonic() + _BUILD_SECONDS, lambda holder: ToolError(
            f"{project.directory}: {holder} has been building it for {_BUILD_SECONDS / 60:g} minutes"))  # fmt: skip
        try:
            project.upload(place.upload_port or port)
        finally:
            lock.release()


def _poll(take: Callable[[], str | None], end: float, failure: Callable[[str], Exception]) -> None:
    """Until `take` returns None; `failure` of the last holder after `end`."""
    while (holder := take()) is not None:
        if time.monotonic() >= end:
            raise failure(holder)
        time.sleep(_POLL_SECONDS)


def _ready(place: Place, stack: ExitStack) -> str | None:
    """The port, acquired where that is needed until `stack` is closed; None where flashing will tell. BusyError when
    somebody uses it."""
    if place.port is not None and place.port.startswith(SCHEME):
        return stack.enter_context(acquired(place.port))
    known = place.port
    if known is None:
        assert place.project is not None
        with suppress(TigrisError):
            known = place.project.port()
    if known is not None:
        PortLock(known).release()
    return place.port


def switch_off(folder: Path) -> None:
    """Switches off the emulated boards that were started for the run whose folder this is."""
    for record in folder.glob("*.flashed"):
        state = json.loads(record.read_text("utf-8"))["state"]
        if state:
            command = [sys.executable, str(_BOARD_PROCESS), "stop", "--state", state]
            subprocess.run(command, stdout=subprocess.DEVNULL, check=False)

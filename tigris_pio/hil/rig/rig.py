"""Assigns boards to the processes of a test run and flashes them once, by lock files.

If there is a board for each process and no test needs several, a process holds its board for the whole run. Otherwise
it holds boards for one test, then pauses so that waiting processes see a free board. Several boards are always locked
in the same order.
"""

import dataclasses
import hashlib
import json
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from tigris_pio.errors import TigrisError, ToolError
from tigris_pio.hil.client import Board, Timing
from tigris_pio.hil.errors import BusyError
from tigris_pio.hil.lock import Lock, PortLock, named_path
from tigris_pio.hil.project import board_process
from tigris_pio.hil.rig.board import RigBoard
from tigris_pio.hil.rig.labgrid import SCHEME, acquired
from tigris_pio.hil.rig.place import Place

_POLL_SECONDS = 0.01
#: Longer than a waiting process sleeps between two looks at a board's lock.
_YIELD_SECONDS = 0.03
#: Longest wait for another process that builds the same project.
_BUILD_SECONDS = 1800.0


@dataclasses.dataclass(frozen=True)
class Process:
    """This process of a test run."""

    folder: Path  #: shared by the run's processes
    number: int = 0
    count: int = 1  #: number of the run's processes


class Rig:
    """The boards that this process may use. `wait`: seconds to wait for a busy board."""

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
        self._board: RigBoard | None = None
        self._needs_all = False  # the current test uses all boards

    # Called by fixtures and hooks of pytest.

    def board(self) -> RigBoard:
        """This process's board, connected: any free one, or always the same if boards are shared."""
        assert self.boards
        if self._board is None:
            self._board = self.boards[self._process.number % len(self.boards)] if self.shared else self._lock_any()
        self._board.client  # noqa: B018 - connects
        return self._board

    def all_boards(self) -> tuple[RigBoard, ...]:
        """All boards, connected, in the order of their places' keys."""
        self._needs_all = True
        for board in self.boards:
            board.client  # noqa: B018
        return self.boards

    def begin_test(self, needs_all: bool = False) -> None:
        """Clears the boards' logs. `needs_all`: the test uses all boards, so they are locked together, in order."""
        self._needs_all = needs_all
        for board in self.boards:
            board.begin_test()

    def end_test(self) -> None:
        """Releases shared boards, and gives other processes time to lock them."""
        if self.shared and self._held:
            self.close()
            time.sleep(_YIELD_SECONDS)

    def close(self) -> None:
        """Ends all connections and releases all boards."""
        for board in self.boards:
            board.close()
        for key in list(self._held):
            self._held.pop(key).close()

    # Locking.

    def _lock_any(self) -> RigBoard:
        """Locks and returns the first free board; BusyError if there is none within `wait`."""
        end, busy = time.monotonic() + self._wait, dict.fromkeys((board.place.name for board in self.boards), "")
        while True:
            for board in self.boards:
                holder = self._try_lock(board.place)
                if holder is None:
                    return board
                busy[board.place.name] = holder
            if time.monotonic() >= end:
                raise self._busy_error(busy)
            time.sleep(_POLL_SECONDS)

    def _wait_for(self, place: Place) -> None:
        """Waits until this process has locked the place."""
        end = time.monotonic() + self._wait
        _poll(lambda: self._try_lock(place), end, lambda holder: self._busy_error({place.name: holder}))

    def _try_lock(self, place: Place) -> str | None:
        """Locks the place and returns None, or returns its holder: a rig, or another program with the port open."""
        lock = Lock(named_path(place.key))
        holder = lock.acquire()
        if holder is not None:
            return holder
        with ExitStack() as stack:
            stack.callback(lock.release)
            try:
                self._ports[place.key] = _acquire_port(place, stack)
            except BusyError as error:
                return str(error)
            self._held[place.key] = stack.pop_all()
        return None

    def _busy_error(self, holders: dict[str, str]) -> BusyError:
        holder_texts = "; ".join(f"{name}: {holder}" for name, holder in holders.items())
        return BusyError(
            f"no board was free for {self._wait:g} s ({holder_texts}). "
            "Wait longer (--tigris-wait), run fewer processes, or add boards"
        )

    # Flashing and connecting.

    def _connect(self, board: RigBoard) -> Board:
        for other in self.boards if self._needs_all else (board,):
            if other.place.key not in self._held:
                self._wait_for(other.place)
        place, port = board.place, self._ports[board.place.key]
        if place.flash:
            self._flash_once(place, port)
        if port is None:
            assert place.project is not None
            port = place.project.port()
        return self._open(port, place.baud)

    def _open(self, port: str, baud: int) -> Board:
        """Connects; retries while another program (`tigris hil list`) holds the port for a moment."""
        end = time.monotonic() + self._wait
        while True:
            try:
                return Board(port, baud, self._timing)
            except BusyError:
                if time.monotonic() >= end:
                    raise
            time.sleep(_POLL_SECONDS)

    def _flash_once(self, place: Place, port: str | None) -> None:
        """Builds and flashes in the first process of the run that has the board; the others read the result."""
        assert place.project is not None
        digest = hashlib.sha256(place.key.encode()).hexdigest()[:16]
        record = self._process.folder / f"{digest}.flashed"
        if record.is_file():
            failure = json.loads(record.read_text("utf-8"))["failure"]
            if failure:
                raise ToolError(f"{place.name}: not flashed; another process reported: {failure}")
            return
        failure = ""
        board_folder = str(place.project.emulated_folder.resolve()) if place.switch_off else ""
        try:
            self._flash(place, port)
        except TigrisError as error:
            failure = str(error)
            raise
        finally:
            record.write_text(json.dumps({"failure": failure, "folder": board_folder}), "utf-8")

    def _flash(self, place: Place, port: str | None) -> None:
        assert place.project is not None
        project = place.project
        lock = Lock(named_path(f"build {project.directory.resolve()}"))
        _poll(lock.acquire, time.monotonic() + _BUILD_SECONDS, lambda holder: ToolError(
            f"{project.directory}: {holder} has been building it for {_BUILD_SECONDS / 60:g} minutes"))  # fmt: skip
        try:
            project.upload(place.upload_port or port)
        finally:
            lock.release()


def _poll(attempt: Callable[[], str | None], end: float, failure: Callable[[str], Exception]) -> None:
    """Repeats `attempt` until it returns None; after time `end` raises `failure` of the holder that it returned."""
    while (holder := attempt()) is not None:
        if time.monotonic() >= end:
            raise failure(holder)
        time.sleep(_POLL_SECONDS)


def _acquire_port(place: Place, stack: ExitStack) -> str | None:
    """Returns the place's port, acquired until `stack` closes if it is a labgrid place; None if flashing determines it.

    BusyError if another program uses it.
    """
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
    """Switches off the emulated boards that were started for the run with this folder."""
    for record in folder.glob("*.flashed"):
        board_folder = json.loads(record.read_text("utf-8"))["folder"]
        if board_folder:
            board_process.stop(Path(board_folder))

"""A time limit for each phase of each test: what hangs fails with a traceback, and its processes end with it.

The limit is far above what any test takes on a busy machine: it is there for servers that do not answer and loops that
do not end. A test that stays in C code ends its process, after all threads' tracebacks; pytest-xdist goes on with a
new one.
"""

import contextlib
import faulthandler
import os
import signal
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

from tests.harness import tiers

SECONDS = float(os.environ.get("TIGRIS_TEST_TIMEOUT", "300"))
#: How much longer Python has to reach its signal handler.
GRACE = float(os.environ.get("TIGRIS_TEST_GRACE", "20"))
#: The limit of each test in `make fuzz`: the 300 cases of the planner's oracle take an hour.
FUZZ_SECONDS = 2 * 3600.0
#: In the environment of every process that tests start: this process's own mark.
MARK = "TIGRIS_TEST_PROCESS"

#: The descriptor for tracebacks of a process that ends.
_screen: list[int] = []


class TestTimeout(BaseException):
    """No Exception: neither the code under test nor hypothesis may take it for an answer."""

    __test__ = False


def seconds_of(item: pytest.Item) -> float:
    """The limit of a test: `@pytest.mark.timeout(60)`, or that of the tier."""
    marker = item.get_closest_marker("timeout")
    if marker:
        return float(marker.args[0])
    return FUZZ_SECONDS if tiers.chosen() == "fuzz" else SECONDS


def begin() -> None:
    """To be called once, while pytest captures nothing. What this process starts can be found by its environment."""
    os.environ[MARK] = uuid.uuid4().hex
    _screen.append(os.dup(2))


def started_by(value: str, variable: str = MARK) -> list[int]:
    """Processes whose environment has this variable; where there is no /proc, none."""
    wanted = f"{variable}={value}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if int(folder.name) != os.getpid() and wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


def end_processes_of(nodeid: str) -> None:
    """Kills what this test started, daemons among them: pytest names the running test in their environment."""
    mine = set(started_by(os.environ.get(MARK, "")))
    for phase in ("setup", "call", "teardown"):
        for process in mine & set(started_by(f"{nodeid} ({phase})", "PYTEST_CURRENT_TEST")):
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)


@contextlib.contextmanager
def limited(nodeid: str, seconds: float) -> Iterator[None]:
    """Raises TestTimeout in here when the time is over; again while it is not heeded, since what is raised in a
    destructor or in a callback of the garbage collector is lost."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def over(number: int, frame: FrameType | None) -> None:
        faulthandler.dump_traceback(all_threads=True)
        end_processes_of(nodeid)
        raise TestTimeout(f"{nodeid} took more than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds, GRACE / 4)
    faulthandler.dump_traceback_later(seconds + GRACE, exit=True, file=_screen[0] if _screen else 2)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

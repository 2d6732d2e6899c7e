"""One program a board: a lock for each port on this machine, which names who holds it.

A board answers one host at a time. A second one on a TCP bridge or an emulated board would see a connection that
says nothing, one on a tty would take half of the answers.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tigris_pio.hil.errors import BusyError

#: What Windows locks is a range of bytes, which nobody else may read then: one far behind the holder's name.
_LOCKED_BYTE = 1 << 30
#: URLs that lead nowhere: a test of the line itself.
_OWN = ("loop://", "spy://")
#: Seconds to wait for a lock that nobody's name is in, one after the other.
_MOMENTS = (0.01, 0.05, 0.2)


def lock_path(url: str) -> Path:
    """The lock file of a port; other names of the same port have the same one."""
    parts = urlsplit(url)
    if parts.scheme in {"socket", "rfc2217"} and parts.hostname:
        host = "127.0.0.1" if parts.hostname in {"localhost", "::1"} else parts.hostname
        name = f"{host}:{parts.port}"
    else:
        name = os.path.realpath(url) if os.path.exists(url) else url
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"tigris-port-{digest}.lock"


def named_path(name: str) -> Path:
    """The lock file of what is not a port: a place of a test rig, a project that is built."""
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"tigris-lock-{digest}.lock"


def claim(file: Any, windows: bool = os.name == "nt") -> None:
    """Holds an open file until it is closed; OSError when another program does."""
    if not windows:
        fcntl = importlib.import_module("fcntl")
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    msvcrt = importlib.import_module("msvcrt")
    os.lseek(file.fileno(), _LOCKED_BYTE, os.SEEK_SET)
    msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)


def _claimed_by(file: Any) -> str | None:
    """Claims an open file, or returns who holds it. Nobody holds one without a name for more than a moment: it is about
    to be let go, or a program that was just started has it until it runs."""
    for patience in (*_MOMENTS, 0.0):
        try:
            claim(file)
            return None
        except OSError:
            file.seek(0)
            holder = str(file.read().strip())
            if holder:
                break
            time.sleep(patience)
    return holder or "another program"


class Lock:
    """A lock file that at most one program holds; the system lets go of it when that program ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: Any = None

    def take(self) -> str | None:
        """Holds it from now on and returns None, or returns who holds it."""
        try:
            file: Any = self._path.open("a+", encoding="utf-8")
        except OSError:
            return None  # another user's: better without a lock than not at all
        holder = _claimed_by(file)
        if holder is not None:
            file.close()
            return holder
        self._file = file
        self._file.truncate(0)
        self._file.write(f"process {os.getpid()} ({Path(sys.argv[0]).name or 'python'})")
        self._file.flush()
        return None

    def release(self) -> None:
        """Lets others in; more than once does no harm. The file stays: removing it would race with who waits."""
        if self._file is not None:
            self._file.truncate(0)
            self._file.close()
            self._file = None


class PortLock:
    """Held from its making to `release`. BusyError names the program that has the port."""

    def __init__(self, url: str) -> None:
        self._lock = Lock(lock_path(url))
        holder = None if url.startswith(_OWN) else self._lock.take()
        if holder is not None:
            raise BusyError(f"{url}: busy: {holder} talks to this board. Wait for it, or stop it.")

    def release(self) -> None:
        """Lets others in; more than once does no harm."""
        self._lock.release()

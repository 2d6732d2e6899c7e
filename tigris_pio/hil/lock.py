"""One program a board: a lock for each port on this machine, which names who holds it.

A board answers one host at a time. A second one on a TCP bridge or an emulated board would see a connection that
says nothing, one on a tty would take half of the answers.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tigris_pio.hil.errors import BusyError

#: URLs that lead nowhere: a test of the line itself.
_OWN = ("loop://", "spy://")


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


class Lock:
    """A lock file that at most one program holds; the system lets go of it when that program ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: Any = None

    def take(self) -> str | None:
        """Holds it from now on and returns None, or returns who holds it."""
        if os.name != "posix":
            return None  # Windows lets nobody else open a port, and there nothing is known of sockets
        import fcntl  # noqa: PLC0415 - not on Windows

        try:
            file: Any = self._path.open("a+", encoding="utf-8")
        except OSError:
            return None  # another user's: better without a lock than not at all
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            holder = file.read().strip() or "another program"
            file.close()
            return str(holder)
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

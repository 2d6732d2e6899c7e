"""One program for each board: a lock file for each port on this machine, with the name of its holder.

A board answers one host at a time. On a TCP bridge or an emulated board a second host would get no answer; on a serial
port it would get half of the first host's answers.
"""

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

#: Windows locks a range of bytes, which other programs then cannot read: one far behind the holder's name.
_LOCKED_BYTE = 1 << 30
#: URLs without a board behind them.
_LOOPBACK_SCHEMES = ("loop://", "spy://")
#: Seconds to wait, one after the other, for a lock that holds no name.
_RETRY_SECONDS = (0.01, 0.05, 0.2)


def lock_path(url: str) -> Path:
    """The lock file of a port; all names of a port have the same file."""
    parts = urlsplit(url)
    if parts.scheme in {"socket", "rfc2217"} and parts.hostname:
        host = "127.0.0.1" if parts.hostname in {"localhost", "::1"} else parts.hostname
        name = f"{host}:{parts.port}"
    else:
        name = os.path.realpath(url) if os.path.exists(url) else url
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"tigris-port-{digest}.lock"


def named_path(name: str) -> Path:
    """The lock file of something other than a port: a place of a test rig, a project during its build."""
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"tigris-lock-{digest}.lock"


def lock_open_file(file: Any, windows: bool = os.name == "nt") -> None:
    """Locks an open file until it is closed; OSError if another program has locked it."""
    if not windows:
        fcntl = importlib.import_module("fcntl")
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    msvcrt = importlib.import_module("msvcrt")
    os.lseek(file.fileno(), _LOCKED_BYTE, os.SEEK_SET)
    msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)


def _lock_or_find_holder(file: Any) -> str | None:
    """Locks an open file and returns None, or returns its holder.

    A locked file without a name lasts a moment only: its holder is about to write the name, or to release the lock.
    """
    for seconds in (*_RETRY_SECONDS, 0.0):
        try:
            lock_open_file(file)
            return None
        except OSError:
            file.seek(0)
            holder = str(file.read().strip())
            if holder:
                break
            time.sleep(seconds)
    return holder or "another program"


class Lock:
    """A lock file that at most one program holds; the system releases it when that program ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: Any = None

    def acquire(self) -> str | None:
        """Acquires the lock and returns None, or returns its holder."""
        try:
            file: Any = self._path.open("a+", encoding="utf-8")
        except OSError:
            return None  # the file is another user's: go on without a lock
        holder = _lock_or_find_holder(file)
        if holder is not None:
            file.close()
            return holder
        self._file = file
        self._file.truncate(0)
        self._file.write(f"process {os.getpid()} ({Path(sys.argv[0]).name or 'python'})")
        self._file.flush()
        return None

    def release(self) -> None:
        """Releases the lock; can be called again. The file stays: removing it would race with waiting programs."""
        if self._file is not None:
            self._file.truncate(0)
            self._file.close()
            self._file = None


class PortLock:
    """The lock of a port, held until `release`. BusyError names the program that holds it."""

    def __init__(self, url: str) -> None:
        self._lock = Lock(lock_path(url))
        holder = None if url.startswith(_LOOPBACK_SCHEMES) else self._lock.acquire()
        if holder is not None:
            raise BusyError(f"{url}: busy: {holder} uses this board. Wait for it, or stop it.")

    def release(self) -> None:
        """Releases the lock; can be called again."""
        self._lock.release()

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


class PortLock:
    """Held from its making to `release`. BusyError names the program that has the port."""

    def __init__(self, url: str) -> None:
        self._file: Any = None
        if url.startswith(_OWN) or os.name != "posix":
            return  # Windows lets nobody else open a port, and there nothing is known of sockets
        import fcntl  # noqa: PLC0415 - not on Windows

        try:
            self._file = lock_path(url).open("a+", encoding="utf-8")
        except OSError:
            return  # another user's: better without a lock than not at all
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.seek(0)
            holder = self._file.read().strip() or "another program"
            self._file.close()
            raise BusyError(f"{url}: busy: {holder} talks to this board. Wait for it, or stop it.") from None
        self._file.truncate(0)
        self._file.write(f"process {os.getpid()} ({Path(sys.argv[0]).name or 'python'})")
        self._file.flush()

    def release(self) -> None:
        """Lets others in; more than once does no harm. The file stays: removing it would race with who waits."""
        if self._file is not None:
            self._file.truncate(0)
            self._file.close()
            self._file = None

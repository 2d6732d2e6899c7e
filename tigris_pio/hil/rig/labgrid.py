"""Boards of a labgrid installation: `labgrid:PLACE` is the serial port of that place, acquired while it is used.

labgrid runs in its own process, because of its event loop and its fork of pyserial. It uses this Python, or the one of
`labgrid-client` in PATH. LG_COORDINATOR names the coordinator.
"""

import contextlib
import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tigris_pio.errors import ToolError
from tigris_pio.hil.errors import BusyError, PortError
from tigris_pio.platformio.compiler import python_of_script

SCHEME = "labgrid:"
_SECONDS = 60.0
#: Messages of labgrid-client 26.0 about a place that another user, or the same one, has acquired.
_FOREIGN, _OWN = "is already acquired by ", "You have already acquired place"
#: Prints the serial port of a place. Only the client that has acquired a place gets its resources.
_QUERY = """
import json, sys
from labgrid import Target
from labgrid.resource import RemotePlace
target = Target("tigris")
place = RemotePlace(target, name=sys.argv[1])
target.await_resources([place])
port = target.get_resource("NetworkSerialPort", name=sys.argv[2] or None)
print(json.dumps({"host": port.host, "port": port.port, "protocol": port.protocol}))
"""


@contextlib.contextmanager
def acquired(port: str) -> Iterator[str]:
    """Yields the URL of a port; a labgrid place stays acquired until the end."""
    if not port.startswith(SCHEME):
        yield port
        return
    place = LabgridPlace(port.removeprefix(SCHEME))
    url = place.acquire()
    try:
        yield url
    finally:
        place.release()


class LabgridPlace:
    """A labgrid place. `name` is PLACE, or PLACE/RESOURCE if it has several serial ports."""

    def __init__(self, name: str) -> None:
        self.place, _, self._resource = name.partition("/")
        self._python = _python(name)
        self._is_ours = False

    def acquire(self) -> str:
        """Acquires the place and returns the URL of its serial port; BusyError if another user has it, or PortError."""
        done = self._run([self._python, "-m", "labgrid.remote.client", "-p", self.place, "acquire"])
        message = _last_line(done.stderr).removeprefix("labgrid-client: Error: ")
        if _FOREIGN in message:
            holder = message.split(_FOREIGN, 1)[1].split(". ")[0]
            raise BusyError(f"{SCHEME}{self.place}: busy: acquired by {holder}. Wait for it, or have it released.")
        if done.returncode and _OWN not in message:
            raise PortError(f"{SCHEME}{self.place}: cannot be acquired: {message}. Is LG_COORDINATOR right?")
        self._is_ours = done.returncode == 0
        try:
            return self._url()
        except PortError:
            self.release()
            raise

    def release(self) -> None:
        """Releases the place unless this user had acquired it before `acquire`."""
        if self._is_ours:
            self._is_ours = False
            self._run([self._python, "-m", "labgrid.remote.client", "-p", self.place, "release"])

    def _url(self) -> str:
        done = self._run([self._python, "-c", _QUERY, self.place, self._resource])
        try:
            port = json.loads(done.stdout.strip().splitlines()[-1])
        except (ValueError, IndexError):
            reason = _last_line(done.stderr)
            raise PortError(f"{SCHEME}{self.place}: has no serial port to use: {reason}") from None
        scheme = "rfc2217" if port["protocol"] == "rfc2217" else "socket"
        return f"{scheme}://{port['host']}:{port['port']}"

    def _run(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise PortError(
                f"{SCHEME}{self.place}: labgrid did not answer for {_SECONDS:g} s. Is its coordinator running?"
            ) from None


def _python(name: str) -> str:
    """A Python that has labgrid."""
    if importlib.util.find_spec("labgrid") is not None:
        return sys.executable
    script = shutil.which("labgrid-client")
    python = python_of_script(script)
    if python is None or not Path(python).exists():
        raise ToolError(f"{SCHEME}{name} needs labgrid: pip install labgrid")
    return python


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no message"])[-1]

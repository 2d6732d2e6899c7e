"""Boards of a labgrid installation: `labgrid:PLACE` is the serial port of that place, acquired while it is used.

labgrid runs in a process of its own, in this Python or in the one that `labgrid-client` on PATH belongs to: its event
loop and its fork of pyserial stay out of this one. The coordinator is the one that LG_COORDINATOR names.
"""

from __future__ import annotations

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
#: What labgrid-client 26.0 says of a place that somebody, or its own user, has.
_FOREIGN, _OWN = "is already acquired by ", "You have already acquired place"
#: The serial port of a place. A place gives its resources to the client that has acquired it.
_ASK = """
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
    """The URL of a port; a labgrid place is acquired meanwhile."""
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
    """A place from `acquire` to `release`. `name` is PLACE, or PLACE/RESOURCE where it has several serial ports."""

    def __init__(self, name: str) -> None:
        self.place, _, self._resource = name.partition("/")
        self._python = _python(name)
        self._ours = False

    def acquire(self) -> str:
        """The URL of its serial port. BusyError when somebody else has it, PortError when it has no such port."""
        done = self._run([self._python, "-m", "labgrid.remote.client", "-p", self.place, "acquire"])
        said = _last_line(done.stderr).removeprefix("labgrid-client: Error: ")
        if _FOREIGN in said:
            holder = said.split(_FOREIGN, 1)[1].split(". ")[0]
            raise BusyError(f"{SCHEME}{self.place}: busy: acquired by {holder}. Wait for it, or have it released.")
        if done.returncode and _OWN not in said:
            raise PortError(f"{SCHEME}{self.place}: cannot be acquired: {said}. Is LG_COORDINATOR right?")
        self._ours = done.returncode == 0
        try:
            return self._url()
        except PortError:
            self.release()
            raise

    def release(self) -> None:
        """Gives back what `acquire` took; a place that was ours before stays ours."""
        if self._ours:
            self._ours = False
            self._run([self._python, "-m", "labgrid.remote.client", "-p", self.place, "release"])

    def _url(self) -> str:
        done = self._run([self._python, "-c", _ASK, self.place, self._resource])
        try:
            told = json.loads(done.stdout.strip().splitlines()[-1])
        except (ValueError, IndexError):
            reason = _last_line(done.stderr)
            raise PortError(f"{SCHEME}{self.place}: has no serial port to use: {reason}") from None
        scheme = "rfc2217" if told["protocol"] == "rfc2217" else "socket"
        return f"{scheme}://{told['host']}:{told['port']}"

    def _run(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise PortError(
                f"{SCHEME}{self.place}: labgrid did not answer for {_SECONDS:g} s. Does its coordinator run?"
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

"""A serial line at any pyserial URL: a device name, socket://, rfc2217://, loop://, …"""

from __future__ import annotations

import os
import select
import socket
import stat
import time
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import serial

from tigris_pio.hil.errors import BusyError, PortError, PortNameError
from tigris_pio.hil.lock import PortLock

_READ_BYTES = 4096
_WRITE_SECONDS = 10.0
_NETWORK = ("socket", "rfc2217")
_SCHEMES = (*_NETWORK, "loop", "spy", "hwgrep", "alt", "cp2110")


class Line:
    """Reads and writes bytes; every failure is a PortError that names the URL."""

    def __init__(self, url: str, baudrate: int = 115200) -> None:
        self.url = url
        check_name(url)
        self._lock = PortLock(url)
        # pyserial's RFC 2217 client refuses a write timeout.
        limit = None if url.startswith("rfc2217://") else _WRITE_SECONDS
        try:
            self._port: Any = serial.serial_for_url(
                url, baudrate=baudrate, timeout=0.05, write_timeout=limit, exclusive=True, do_not_open=True
            )
            if url.startswith("socket://"):
                # pyserial's open() drops the bytes received before. An emulated board boots when its UART is connected,
                # so these are the start of its boot log.
                self._port.reset_input_buffer = lambda: None
            self._port.open()
        except (serial.SerialException, ValueError, OSError) as error:
            self._lock.release()
            if "exclusively lock" in str(error):
                raise BusyError(f"{url}: busy: another program has it open. Close it (a monitor?).") from error
            raise PortError(f"{url}: cannot be opened: {_reason(error)}. {_remedy(url, str(error))}") from error
        self._send_at_once()
        self._descriptor = self._selectable()

    def _send_at_once(self) -> None:
        """Turns Nagle's algorithm off: over TCP a frame would wait up to 40 ms for the acknowledgement of the frame
        before. pyserial's socket:// has no option for it."""
        connection = getattr(self._port, "_socket", None)
        if isinstance(connection, socket.socket):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def _selectable(self) -> int | None:
        """Returns a descriptor for select(); None for rfc2217:// and on Windows."""
        if os.name != "posix":
            return None
        try:
            descriptor: int = self._port.fileno()
        except (AttributeError, OSError, ValueError):
            return None
        self._port.timeout = 0  # select() waits; read() then returns at once
        return descriptor

    def now(self) -> float:
        """The clock of `read` and `pause`, in seconds."""
        return time.monotonic()

    def pause(self, seconds: float) -> None:
        """Waits `seconds`."""
        time.sleep(seconds)

    def read(self, seconds: float) -> bytes:
        """Returns the received bytes; waits up to `seconds` for the first, and returns b"" without any."""
        try:
            if self._descriptor is not None:
                ready, _, _ = select.select([self._descriptor], [], [], max(0.0, seconds))
                return bytes(self._port.read(_READ_BYTES)) if ready else b""
            end = time.monotonic() + seconds
            while True:
                data = bytes(self._port.read(max(1, self._port.in_waiting)))
                if data or time.monotonic() >= end:
                    return data
        except (serial.SerialException, OSError, ValueError) as error:
            raise PortError(
                f"{self.url}: the connection ended: {_reason(error)}. Is the board still running?"
            ) from error

    def write(self, data: bytes) -> None:
        """Sends all of `data`."""
        try:
            self._port.write(data)
        except (serial.SerialException, OSError, ValueError) as error:
            raise PortError(f"{self.url}: sending failed: {_reason(error)}. Is the board still running?") from error

    def close(self) -> None:
        """Closes the port; can be called again."""
        self._port.close()
        self._lock.release()

    def __enter__(self) -> Line:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def check_name(url: str) -> None:
    """Raises PortNameError if no port can have this name."""
    scheme, separator, _ = url.partition("://")
    if not separator:
        if os.name == "posix" and os.path.exists(url) and not stat.S_ISCHR(os.stat(url).st_mode):
            what = "a folder" if os.path.isdir(url) else "a file"
            raise PortNameError(f"{url}: cannot be opened: it is {what}, not a serial port. {_found()}")
        return
    if scheme not in _SCHEMES:
        raise PortNameError(f"{url}: cannot be opened: there is no {scheme}://; write a device's name or one of "
                            f"{', '.join(known + '://' for known in _SCHEMES)}")  # fmt: skip
    if scheme in _NETWORK:
        try:
            parts = urlsplit(url)
            complete = bool(parts.hostname and parts.port)
        except ValueError:
            complete = False
        if not complete:
            raise PortNameError(f"{url}: cannot be opened: write {scheme}://HOST:PORT, with PORT from 1 to 65535")


def _reason(error: Exception) -> str:
    """The system's reason, without pyserial's numbers and repetitions."""
    cause: BaseException | None = error.__context__ or error
    text = os.strerror(cause.errno) if isinstance(cause, OSError) and cause.errno else str(error)
    return text[:1].lower() + text[1:]


def _remedy(url: str, reason: str) -> str:
    if url.startswith(("socket://", "rfc2217://")):
        return "Is the emulated board (pio run -t upload) or the serial server running, and the port number right?"
    if "ermission" in reason:
        return "Join the group that owns the device (often dialout), or close the program that has it open."
    return _found()


def _found() -> str:
    from serial.tools import list_ports  # noqa: PLC0415 - slow, and needed for this message only

    ports = ", ".join(port.device for port in list_ports.comports()) or "none"
    return f"Serial ports found: {ports}."

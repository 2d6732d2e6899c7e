"""Gives another program access to a board through a local socket."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable

from tigris_pio.errors import UsageError
from tigris_pio.hil.errors import PortError
from tigris_pio.hil.line import Line

_READ_BYTES = 4096


class Tap:
    """Serves one client at a time in its own thread: the client's bytes go to `line` and to `on_sent`.

    `port`: 0 is any free one; UsageError if it is in use. `to_client` forwards the board's bytes.
    """

    def __init__(self, line: Line, port: int, on_sent: Callable[[bytes], None]) -> None:
        self._line, self._on_sent = line, on_sent
        self._client: socket.socket | None = None
        self._closed = False
        try:
            self._listener = socket.create_server(("127.0.0.1", port), backlog=1)
        except OSError as error:
            raise UsageError(f"--listen {port}: {error.strerror or error}; choose another port, or 0") from error
        self.url = f"socket://127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def __enter__(self) -> Tap:
        return self

    def __exit__(self, *_: object) -> None:
        self._closed = True
        for item in (self._client, self._listener):
            if item is not None:
                with contextlib.suppress(OSError):
                    item.shutdown(socket.SHUT_RDWR)
                item.close()
        self._thread.join(1.0)

    def to_client(self, data: bytes) -> None:
        """Sends the board's bytes to the client; drops them if there is none."""
        client = self._client
        if client is not None and data:
            with contextlib.suppress(OSError):
                client.sendall(data)

    def _serve(self) -> None:
        while not self._closed:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._client = client
            with client, contextlib.suppress(OSError, PortError):  # the reader of the line reports its end
                while data := client.recv(_READ_BYTES):
                    self._line.write(data)
                    self._on_sent(data)
            self._client = None

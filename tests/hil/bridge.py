"""Connects clients with a board's process by TCP or a pty, with faults in the bytes."""

from __future__ import annotations

import contextlib
import itertools
import os
import select
import socket
import subprocess
import threading
import tty
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from tigris_pio.hil.frames import Frame, FrameReader, encode

#: Turns the bytes of one direction into pieces, which are delivered one by one.
Fault = Callable[[bytes], Iterable[bytes]]


def perfect(data: bytes) -> Iterable[bytes]:
    """Delivers all bytes unchanged."""
    return [data]


class Bridge:
    """Connects a client at `url` with a board's process; without a command nothing answers. A socket's board starts
    when the client connects, a pty's at once. `greeting` is sent before any answer."""

    def __init__(
        self, command: Sequence[str | Path] | None = None, to_board: Fault = perfect, to_host: Fault = perfect,
        pty: bool = True, greeting: bytes = b"",
    ) -> None:  # fmt: skip
        self._command = command
        self._greeting = greeting
        self._faults = (to_board, to_host)
        self._process: subprocess.Popen[bytes] | None = None
        self._stop = threading.Event()
        self._booting = threading.Lock()  # also ends a board that starts while the test ends
        self._threads: list[threading.Thread] = []
        self._connection: int | None = None
        self._owned: list[int | socket.socket] = []
        if pty:
            master, slave = os.openpty()
            tty.setraw(slave)
            self.url, self._connection = os.ttyname(slave), master
            self._owned = [master, slave]
            self._start(self._serve)
        else:
            listener = socket.create_server(("127.0.0.1", 0))
            self.url = f"socket://127.0.0.1:{listener.getsockname()[1]}"
            self._owned = [listener]
            self._start(lambda: self._accept(listener))

    def __enter__(self) -> Bridge:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._end_process()
        for thread in self._threads:
            thread.join(5)
        for item in self._owned:
            with contextlib.suppress(OSError):
                os.close(item) if isinstance(item, int) else item.close()

    def restart(self) -> None:
        """The board loses power for a moment."""
        self._end_process()
        self._boot()

    def say(self, data: bytes) -> None:
        """Sends bytes to the client as if the board had sent them."""
        assert self._connection is not None
        os.write(self._connection, data)

    def _start(self, job: Callable[[], None]) -> None:
        thread = threading.Thread(target=job, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _end_process(self) -> None:
        with self._booting:
            process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def _boot(self) -> None:
        with self._booting:
            if self._command is None or self._stop.is_set():
                return
            words = [str(word) for word in self._command]
            process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
            self._process = process
        self._start(lambda: self._from_board(process))

    def _accept(self, listener: socket.socket) -> None:
        while not self._stop.is_set():
            if select.select([listener], [], [], 0.05)[0]:
                connection, _ = listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._owned.append(connection)
                self._connection = connection.fileno()
                self._serve()
                return

    def _serve(self) -> None:
        self._boot()
        assert self._connection is not None
        while not self._stop.is_set():
            if not select.select([self._connection], [], [], 0.05)[0]:
                continue
            try:
                data = os.read(self._connection, 4096)
            except OSError:
                return
            if not data:
                return
            if self._greeting:  # not earlier: opening a terminal drops received bytes
                self.say(self._greeting)
                self._greeting = b""
            for piece in self._faults[0](data):
                with contextlib.suppress(OSError, AttributeError, ValueError):
                    self._process.stdin.write(piece)  # type: ignore[union-attr]

    def _from_board(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None and self._connection is not None
        while data := process.stdout.read(4096):
            for piece in self._faults[1](data):
                with contextlib.suppress(OSError):
                    os.write(self._connection, piece)


def changing(change: Callable[[Frame], Frame | None]) -> Fault:
    """Delivers the result of `change` for each frame; None drops the frame."""
    reader = FrameReader()
    return lambda data: [encode(new) for frame in reader.feed(data) if (new := change(frame)) is not None]


def losing(kind: int, times: int) -> Fault:
    """Loses the first `times` frames of this type."""
    seen = itertools.count()
    return changing(lambda frame: None if frame.type == kind and next(seen) < times else frame)


def answering(answers: Callable[[Frame], Iterable[Frame]]) -> str:
    """The URL of a board without a process: `answer` returns its frames for each received frame."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        reader = FrameReader()
        with listener, connection:
            while data := connection.recv(4096):
                for frame in reader.feed(data):
                    connection.sendall(b"".join(map(encode, answers(frame))))

    threading.Thread(target=serve, daemon=True).start()
    return f"socket://127.0.0.1:{listener.getsockname()[1]}"

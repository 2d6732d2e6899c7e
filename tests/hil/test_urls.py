"""Kinds of ports other than sockets and ptys, which every other test uses."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import serial
import serial.rfc2217

from tests.hil.conftest import QUICK, Connect, Serve, command
from tests.hil.test_line import infer
from tigris_pio.hil.client import Board
from tigris_pio.hil.line import Line
from tigris_pio.hil.rig.choose import Selection, choose
from tigris_pio.hil.rig.rig import Process, Rig


class _Wire:
    """What PortManager writes its negotiation to."""

    def __init__(self, connection: socket.socket) -> None:
        self.write = connection.sendall


@pytest.fixture
def rfc2217(serve: Serve) -> Iterator[Callable[[str], str]]:
    """`rfc2217(device)`: the URL of a server like esp_rfc2217_server for that device."""
    stop = threading.Event()
    threads: list[threading.Thread] = []

    def serve(listener: socket.socket, device: str) -> None:
        connection, _ = listener.accept()
        with listener, connection, serial.serial_for_url(device, timeout=0) as port:
            manager = serial.rfc2217.PortManager(port, _Wire(connection))
            while not stop.is_set():
                ready, _, _ = select.select([connection, port], [], [], 0.05)
                if port in ready and (data := port.read(1024)):
                    connection.sendall(b"".join(manager.escape(data)))
                if connection in ready:
                    received = connection.recv(1024)
                    if not received:
                        return
                    port.write(b"".join(manager.filter(received)))

    def start(device: str) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        threads.append(threading.Thread(target=serve, args=(listener, device), daemon=True))
        threads[-1].start()
        return f"rfc2217://127.0.0.1:{listener.getsockname()[1]}"

    yield start
    stop.set()
    for thread in threads:
        thread.join(5)


@pytest.mark.filterwarnings("ignore:set(Daemon|Name):DeprecationWarning")  # inside pyserial
def test_a_board_of_a_list_may_be_behind_rfc2217(
    digits: Serve, digits_plan: Path, rfc2217: Callable[[str], str], tmp_path: Path
) -> None:
    url = rfc2217(digits(pty=False))
    text = f'[[board]]\nname = "lab"\nport = "{url}"\nbaud = 230400\ntags = ["far"]\n'
    (tmp_path / "tigris-boards.toml").write_text(text, "utf-8")
    rig = Rig(choose(Selection(tmp_path, tags=("far",))), Process(tmp_path), 1.0, digits_plan, False, QUICK)
    assert rig.board().assert_matches().equal
    rig.close()


def test_ports_that_select_cannot_wait_for(standin: Path, line: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows."""
    monkeypatch.setattr(Line, "_selectable", lambda self: None)
    with Board(line(command(standin)).url, timing=QUICK) as board:
        infer(board, 1)

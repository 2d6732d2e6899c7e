"""What users read when the board is not what they think."""

from __future__ import annotations

import os
import socket
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hil.bridge import Bridge
from tests.hil.conftest import CALM
from tests.hil.raw import Raw
from tests.hil.test_line import command
from tigris_pio.hil.client import Board, Timing
from tigris_pio.hil.errors import (
    BusyError,
    HungBoardError,
    NoisyBoardError,
    PortError,
    PortNameError,
    SilentBoardError,
    VersionError,
)
from tigris_pio.hil.frames import Frame, FrameReader, encode
from tigris_pio.hil.lock import lock_path
from tigris_pio.hil.protocol import VERSION, Answer, Busy, Hello, Refusal, Request, Select

Connect = Callable[..., Bridge]
SHORT = Timing(connect=0.4, answer=0.1, longest_answer=0.2, tries=3, run=1.0)
#: Boards that are heard but not understood: a busy machine must have time to bring what they say.
LISTENING = Timing(connect=1.5, answer=0.1, longest_answer=0.2, tries=3, run=1.0)


@pytest.mark.parametrize("pty", [False, True], ids=["socket", "pty"])
def test_silent_board(line: Connect, pty: bool) -> None:
    url = line(pty=pty).url
    with pytest.raises(SilentBoardError) as failure:
        Board(url, timing=SHORT)
    assert str(failure.value).startswith(f"{url}: the board sent nothing for 0.4 s.")
    assert "115200 baud" in str(failure.value)


def test_board_that_boots_into_a_crash(line: Connect) -> None:
    bridge = line(pty=False, greeting=b"Guru Meditation Error: Core 0 panic\nrebooting...\n")
    with pytest.raises(NoisyBoardError) as failure:
        Board(bridge.url, timing=LISTENING)
    assert "49 bytes" in str(failure.value)
    assert "    | Guru Meditation Error: Core 0 panic\n    | rebooting..." in str(failure.value)


def test_board_at_another_speed(line: Connect) -> None:
    bridge = line(pty=False, greeting=b"\x80\xf8\xfe\x80")
    with pytest.raises(NoisyBoardError, match=r"80 f8 fe 80\n(.|\n)*not 115200 baud \(--baud\)"):
        Board(bridge.url, timing=LISTENING)


def test_board_that_echoes(line: Connect) -> None:
    """The host's own frames come back: a console, or transmit tied to receive."""
    with pytest.raises(NoisyBoardError, match="but no answer"):
        Board(line(["/bin/cat"]).url, timing=LISTENING)


def test_board_that_stops_answering(standin: Path, line: Connect) -> None:
    bridge = line(command(standin))
    with Board(bridge.url, timing=SHORT) as board:
        bridge._end_process()
        with pytest.raises(SilentBoardError, match="test board stopped answering: INFO was sent 3 times"):
            board.model(0)


def test_port_that_does_not_exist() -> None:
    with pytest.raises(PortError, match=r"/dev/ttyNONE: cannot be opened: no such file.*Serial ports found"):
        Board("/dev/ttyNONE")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("nonsense://x", r"there is no nonsense://; write a device's name or one of socket://, rfc2217://"),
        ("socket://127.0.0.1", "write socket://HOST:PORT, with PORT from 1 to 65535"),
        ("socket://127.0.0.1:", "write socket://HOST:PORT"),
        ("socket://127.0.0.1:99999", "write socket://HOST:PORT"),
        ("socket://127.0.0.1:0", "write socket://HOST:PORT"),
        ("socket://:5000", "write socket://HOST:PORT"),
        ("socket://127.0.0.1:port", "write socket://HOST:PORT"),
        ("rfc2217://somewhere", "write rfc2217://HOST:PORT"),
        ("socket://[::1", "write socket://HOST:PORT"),
        (__file__, "it is a file, not a serial port. Serial ports found"),
        ("/", "it is a folder, not a serial port"),
    ],
)
def test_names_that_no_port_can_have(url: str, message: str) -> None:
    with pytest.raises(PortNameError, match=message) as failure:
        Board(url)
    assert str(failure.value).startswith(f"{url}: cannot be opened: ")
    assert "\n" not in str(failure.value)
    assert failure.value.exit_status == 2


def test_port_where_nothing_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"socket://127.0.0.1:{listener.getsockname()[1]}"
    with pytest.raises(PortError, match=f"{url}: cannot be opened: .*refused.*emulated board"):
        Board(url)


def hello_server(payload: bytes, kind: int = Request.HELLO | 0x80) -> str:
    """Answers one HELLO with a payload."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        reader = FrameReader()
        with listener, connection:
            while data := connection.recv(4096):
                for frame in reader.feed(data):
                    connection.sendall(encode(Frame(kind, frame.sequence, frame.session, payload)))

    threading.Thread(target=serve, daemon=True).start()
    return f"socket://127.0.0.1:{listener.getsockname()[1]}"


def test_protocol_of_another_version() -> None:
    url = hello_server(struct.pack("<HH", 7, 300) + bytes(80))
    with pytest.raises(
        VersionError, match=r"speaks version 7 of the protocol, this program version 3\. Build and upload"
    ):
        Board(url, timing=SHORT)


def test_plans_of_another_version() -> None:
    url = hello_server(Hello(VERSION, 112, 9, 1, 0, b"", b"future").pack())
    with pytest.raises(VersionError, match=r"reads plans of format 9, this program writes format 1"):
        Board(url, timing=SHORT)


def test_line_that_ends(standin: Path, line: Connect) -> None:
    bridge = line(command(standin), pty=False)
    with Board(bridge.url, timing=SHORT) as board:
        connection = bridge._owned[1]
        assert isinstance(connection, socket.socket)
        connection.shutdown(socket.SHUT_RDWR)
        with pytest.raises(PortError, match=r"the connection ended|sending failed"):
            board.model(0)


def test_a_board_that_hangs_at_work_is_noticed(standin: Path, line: Connect) -> None:
    timing = Timing(connect=5.0, answer=0.1, longest_answer=0.2, tries=3, run=60.0, silence=0.5)
    with Board(line(command(standin, "--hang", "3")).url, timing=timing) as board:
        started = time.monotonic()
        with pytest.raises(HungBoardError, match=r"began RUN and then gave no sign of life for 0.5 s.*--silence"):
            board.run(0)
        assert time.monotonic() - started < 5


def test_a_long_check_gives_signs_of_life_and_can_be_cancelled(standin: Path, line: Connect) -> None:
    with Raw(line(command(standin, "--busy", "1", models=["Large"]), pty=False).url) as raw:
        raw.greet()
        answer = raw.ask(Request.PLAN_CHECK, Select(0).pack())
        assert answer.payload[:4] == bytes(4)
        signs = [Busy.unpack(frame.payload).yields for frame in raw.answers if frame.type == Answer.BUSY]
        assert signs == list(range(256)), "one for each 4 KB"
        raw.send(raw.next(Request.PLAN_CHECK, Select(0).pack()))
        raw.send(raw.next(Request.CANCEL))
        cancelled = raw.receive()
        assert int.from_bytes(cancelled.payload[:4], "little", signed=True) in {0, -5}


def test_a_board_that_stays_busy_with_another_host(line: Connect) -> None:
    url = hello_server(Refusal.BUSY.to_bytes(4, "little"), Answer.ERROR)
    with pytest.raises(BusyError, match=r"busy: the board runs a model for another program, and did so for 0.4 s"):
        Board(url, timing=SHORT)


def test_a_port_is_for_one_program(standin: Path, line: Connect) -> None:
    bridge = line(command(standin))
    with Board(bridge.url, timing=CALM), pytest.raises(BusyError, match=f"process {os.getpid()} "):
        Board(bridge.url)
    with Board(bridge.url, timing=CALM) as board, pytest.raises(PortError):
        Board("/dev/ttyNONE")
    assert board.info.name == "test board"


def test_other_names_of_a_port_have_its_lock(tmp_path: Path) -> None:
    (tmp_path / "by-id").symlink_to("/dev/null")
    assert lock_path(str(tmp_path / "by-id")) == lock_path("/dev/null")
    assert lock_path("socket://localhost:5000") == lock_path("socket://127.0.0.1:5000")
    assert lock_path("socket://127.0.0.1:5000") != lock_path("socket://127.0.0.1:5001")

"""What users read when the board is not what they think."""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hil.bridge import answering
from tests.hil.conftest import CALM, Connect, command
from tests.hil.raw import REFUSED, Raw
from tigris_pio.hil import errors
from tigris_pio.hil.client import Board, Timing
from tigris_pio.hil.frames import Frame
from tigris_pio.hil.lock import lock_path
from tigris_pio.hil.protocol import VERSION, Answer, Busy, Hello, Refusal, Request, Select

SHORT = Timing(connect=0.4, answer=0.1, longest_answer=0.2, tries=3, run=1.0)
#: Boards that are heard but not understood: a busy machine must have time to bring what they say.
LISTENING = Timing(connect=1.5, answer=0.1, longest_answer=0.2, tries=3, run=1.0)


def test_silent_board(line: Connect) -> None:
    url = line(pty=False).url
    with pytest.raises(errors.SilentBoardError, match=rf"^{url}: the board sent nothing for 0.4 s\.(.|\n)*115200 baud"):
        Board(url, timing=SHORT)


CRASH = b"Guru Meditation Error: Core 0 panic\nrebooting...\n"
NOISE = [
    (None, CRASH, r"49 bytes(.|\n)*    \| Guru Meditation Error: Core 0 panic\n    \| rebooting\.\.\."),
    (None, b"\x80\xf8\xfe\x80", r"80 f8 fe 80\n(.|\n)*not 115200 baud \(--baud\)"),
    (["/bin/cat"], b"", "but no answer"),  # the host's own frames come back
]


@pytest.mark.parametrize(("program", "greeting", "message"), NOISE, ids=["crash", "another speed", "echo"])
def test_board_that_is_heard_but_not_understood(
    line: Connect, program: list[str] | None, greeting: bytes, message: str
) -> None:
    with pytest.raises(errors.NoisyBoardError, match=message):
        Board(line(program, pty=program is not None, greeting=greeting).url, timing=LISTENING)


def test_board_that_stops_answering(standin: Path, line: Connect) -> None:
    bridge = line(command(standin))
    with Board(bridge.url, timing=SHORT) as board:
        bridge._end_process()
        with pytest.raises(errors.SilentBoardError, match="test board stopped answering: INFO was sent 3 times"):
            board.model(0)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("nonsense://x", r"there is no nonsense://; write a device's name or one of socket://, rfc2217://"),
        ("socket://127.0.0.1", "write socket://HOST:PORT, with PORT from 1 to 65535"),
        ("rfc2217://somewhere", "write rfc2217://HOST:PORT"),
        ("socket://[::1", "write socket://HOST:PORT"),
        (__file__, "it is a file, not a serial port. Serial ports found"),
        ("/", "it is a folder, not a serial port"),
    ],
)
def test_names_that_no_port_can_have(url: str, message: str) -> None:
    with pytest.raises(errors.PortNameError, match=message) as failure:
        Board(url)
    assert str(failure.value).startswith(f"{url}: cannot be opened: ")
    assert "\n" not in str(failure.value)
    assert failure.value.exit_status == 2


def test_port_where_nothing_is() -> None:
    with pytest.raises(errors.PortError, match=r"/dev/ttyNONE: cannot be opened: no such file.*Serial ports found"):
        Board("/dev/ttyNONE")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"socket://127.0.0.1:{listener.getsockname()[1]}"
    with pytest.raises(errors.PortError, match=f"{url}: cannot be opened: .*refused.*emulated board"):
        Board(url)


HELLO = Request.HELLO | 0x80


@pytest.mark.parametrize(
    ("payload", "kind", "error", "message"),
    [
        (struct.pack("<HH", 7, 300) + bytes(80), HELLO, errors.VersionError,
         r"speaks version 7 of the protocol, this program version 3\. Build and upload"),
        (Hello(VERSION, 112, 9, 1, 0, b"", b"future").pack(), HELLO, errors.VersionError,
         r"reads plans of format 9, this program writes format 1"),
        (REFUSED[Refusal.BUSY], Answer.ERROR, errors.BusyError,
         r"busy: the board has been running a model for another program for 0.4 s"),
    ],
)  # fmt: skip
def test_boards_that_cannot_be_talked_to(payload: bytes, kind: int, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Board(answering(lambda frame: [Frame(kind, frame.sequence, frame.connection, payload)]), timing=SHORT)


def test_line_that_ends(standin: Path, line: Connect) -> None:
    bridge = line(command(standin), pty=False)
    with Board(bridge.url, timing=SHORT) as board:
        connection = bridge._owned[1]
        assert isinstance(connection, socket.socket)
        connection.shutdown(socket.SHUT_RDWR)
        with pytest.raises(errors.PortError, match=r"the connection ended|sending failed"):
            board.model(0)


def test_a_board_that_hangs_at_work_is_noticed(standin: Path, line: Connect) -> None:
    timing = Timing(connect=5.0, answer=0.1, longest_answer=0.2, tries=3, run=60.0, silence=0.5)
    with Board(line(command(standin, "--hang", "3")).url, timing=timing) as board:
        started = time.monotonic()
        with pytest.raises(errors.HungBoardError, match=r"began RUN, then sent no sign of life for 0.5 s.*--sil"):
            board.run(0)
        assert time.monotonic() - started < 5


def test_a_long_check_gives_signs_of_life_and_can_be_cancelled(host: Callable[..., Raw]) -> None:
    raw = host("--busy", "1", models=["Large"])
    raw.greet()
    answer = raw.ask(Request.PLAN_CHECK, Select(0).pack())
    assert answer.payload[:4] == bytes(4)
    signs = [Busy.unpack(frame.payload).yields for frame in raw.answers if frame.type == Answer.BUSY]
    assert signs == list(range(256)), "one for each 4 KB"
    raw.send(raw.next(Request.PLAN_CHECK, Select(0).pack()))
    raw.send(raw.next(Request.CANCEL))
    assert int.from_bytes(raw.receive().payload[:4], "little", signed=True) in {0, -5}


def test_a_port_is_for_one_program(standin: Path, line: Connect) -> None:
    bridge = line(command(standin))
    with Board(bridge.url, timing=CALM), pytest.raises(errors.BusyError, match=f"process {os.getpid()} "):
        Board(bridge.url)
    with Board(bridge.url, timing=CALM) as board, pytest.raises(errors.PortError):
        Board("/dev/ttyNONE")
    assert board.info.name == "test board"


def test_other_names_of_a_port_have_its_lock(tmp_path: Path) -> None:
    (tmp_path / "by-id").symlink_to("/dev/null")
    assert lock_path(str(tmp_path / "by-id")) == lock_path("/dev/null")
    assert lock_path("socket://localhost:5000") == lock_path("socket://127.0.0.1:5000")
    assert lock_path("socket://127.0.0.1:5000") != lock_path("socket://127.0.0.1:5001")

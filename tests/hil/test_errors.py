"""Messages about boards that do not behave as expected."""

import os
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import serial
import serial.rfc2217

from tests.hil.bridge import answering
from tests.hil.conftest import CALM, QUICK, Connect, Serve, command
from tests.hil.raw import REFUSED, Raw
from tests.hil.test_line import infer
from tigris_pio.hil import errors, protocol
from tigris_pio.hil.client import Board, Timing
from tigris_pio.hil.frames import Frame
from tigris_pio.hil.line import Line
from tigris_pio.hil.lock import lock_path
from tigris_pio.hil.protocol import VERSION, Answer, Busy, Direction, Hello, Refusal, Request, Select
from tigris_pio.hil.rig.choose import Selection, choose
from tigris_pio.hil.rig.rig import Process, Rig

SHORT = Timing(connect=0.4, answer=0.1, longest_answer=0.2, tries=3, run=1.0)
#: For boards without valid answers: even on a busy computer their bytes must arrive in this time.
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
def test_a_board_without_valid_answers(
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


def test_a_board_that_hangs_in_a_run_is_noticed(standin: Path, line: Connect) -> None:
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


# Serving a model that could not be opened: every request is answered, and INFO has the reason.

NOT_A_PLAN, FAST_TOO_SMALL, ARGUMENT, TRUNCATED = -10, -2, -1, -12

#: Payloads of every record's length and longer.
PAYLOADS = [b"", bytes(4), b"\0\1\0\0", bytes(8), bytes(12), bytes(8) + b"\4\0\0\0abcd", b"\1\0\0\0"]


@pytest.fixture
def files(tmp_path: Path, digits_plan: Path) -> dict[str, Path]:
    """Files that may be in the plan's place."""
    plan = digits_plan.read_bytes()
    contents = {"erased": b"\xff" * 4096, "zeros": bytes(4096), "short": plan[:100], "cut": plan[:-64], "whole": plan}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    return {name: tmp_path / name for name in contents}


#: The model's file, the board's options, and the status in INFO.
STATES = [
    ("erased", (), NOT_A_PLAN),
    ("short", (), NOT_A_PLAN),
    ("cut", (), TRUNCATED),
    ("erased", ("--as", "null"), NOT_A_PLAN),
    ("whole", ("--as", "null"), ARGUMENT),
    ("whole", ("--as", "unbound"), ARGUMENT),
    ("whole", ("--fast", "64"), FAST_TOO_SMALL),
    ("whole", ("--fast", "64", "--as", "unbound"), FAST_TOO_SMALL),
]


@pytest.mark.parametrize(("file", "options", "status"), STATES, ids=[f"{name} {' '.join(o)}" for name, o, _ in STATES])
def test_every_request_is_answered(
    serve: Serve, files: dict[str, Path], file: str, options: tuple[str, ...], status: int
) -> None:
    """The board runs with the address sanitiser, which would end it."""
    with Raw(serve(files[file], *options, pty=False)) as raw:
        raw.greet()
        for request in [*list(Request)[1:], 0, 13, 99]:
            for payload in PAYLOADS:
                answer = raw.ask(request, payload)
                if answer.type == Answer.ERROR or request in {Request.CANCEL, Request.STATUS_TEXT, Request.FAULT}:
                    continue
                # Requests that need a session are refused; an opened plan can be described.
                assert request == Request.INFO or (request == Request.PLAN_CHECK and file == "whole")
        info = protocol.Info.unpack(raw.ask(Request.INFO, Select(0).pack()).payload)
        assert info.status == status
        for request in (Request.TENSOR, Request.RUN, Request.CHECKSUM):
            answer = raw.ask(request, Select(0, Direction.OUTPUT).pack())
            assert (answer.type, answer.payload) == (Answer.ERROR, Refusal.NOT_READY.to_bytes(4, "little"))


def test_the_client_shows_the_reason(real_board: Path, files: dict[str, Path], line: Connect) -> None:
    with Board(line([real_board, "--model", files["erased"], "--model", files["whole"]]).url, timing=CALM) as board:
        absent, whole = board.models()
        assert (absent.status, absent.status_text, absent.plan_bytes) == (NOT_A_PLAN, "this is no .tgrs plan", 0)
        assert (whole.status, whole.name) == (0, "digits")


# Kinds of ports other than sockets and ptys.


class _Wire:
    """The object to which PortManager writes its negotiation."""

    def __init__(self, connection: socket.socket) -> None:
        self.write = connection.sendall


@pytest.fixture
def rfc2217(serve: Serve) -> Iterator[Callable[[str], str]]:
    """`rfc2217(device)`: the URL of a server like esp_rfc2217_server for this device."""
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


def test_ports_without_select(standin: Path, line: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows."""
    monkeypatch.setattr(Line, "_selectable", lambda self: None)
    with Board(line(command(standin)).url, timing=QUICK) as board:
        infer(board, 1)

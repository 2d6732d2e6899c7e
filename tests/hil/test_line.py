"""Client and server over lines that lose, damage, delay and add bytes."""

import random
import select
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from bench.line import measure, measure_socket
from bench.simulated_line import SimulatedLine
from tests.fuzz.line import Outcome, try_line
from tests.harness.tiers import examples, sampled
from tests.hil.bridge import Fault, losing
from tests.hil.conftest import CALM, HERE, QUICK, SANITISERS, SERVER, Client, Connect, command, compile_c
from tests.hil.raw import REFUSED, Raw
from tigris_pio.hil.client import Board, Timing
from tigris_pio.hil.errors import RefusedError, RestartError, RunError
from tigris_pio.hil.frames import Frame
from tigris_pio.hil.line import Line
from tigris_pio.hil.protocol import Direction, Refusal, Request


def infer(board: Board, seed: int) -> None:
    """Runs the stand-in model on inputs that no other run has."""
    generator = random.Random(seed)
    first, second = generator.randbytes(1000), generator.randbytes(7)
    board.write_input(0, 0, first)
    board.write_input(0, 1, second)
    run = board.run(0)
    assert (run.fast_peak, run.slow_peak, run.slow_read, run.slow_written) == (2000, 1, 2, 3)
    total = sum(second)
    assert board.read_output(0, 0, 1000) == bytes((3 * byte + total) % 256 for byte in reversed(first))
    assert board.read_output(0, 1, 300) == first[:300]


def test_the_start_of_a_boot_log_is_received(monkeypatch: pytest.MonkeyPatch) -> None:
    """An emulated board boots when it is connected, which may be before pyserial's open() returns."""
    connect = socket.create_connection

    def late(*words: object, **options: object) -> socket.socket:
        connection = connect(*words, **options)  # type: ignore[arg-type]
        assert select.select([connection], [], [], 10.0)[0], "nothing was said"
        return connection

    with socket.create_server(("127.0.0.1", 0)) as listener:
        monkeypatch.setattr(socket, "create_connection", late)
        said = threading.Thread(target=lambda: listener.accept()[0].sendall(b"ESP-ROM:esp32c3"))
        said.start()
        with Line(f"socket://127.0.0.1:{listener.getsockname()[1]}") as line:
            assert line.read(10.0) == b"ESP-ROM:esp32c3"
            # Otherwise Nagle's algorithm delays the last frame in flight by 40 ms.
            assert line._port._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        said.join()


@pytest.mark.parametrize("pty", [False, True], ids=["socket", "pty"])
def test_everything_over_a_good_line(standin: Path, line: Connect, pty: bool) -> None:
    """Frames pass between log lines of the firmware, which are kept, and after a new connection."""
    boot = "rst:0x1 (POWERON_RESET)\r\n" if not pty else ""
    bridge = line(command(standin, "--boot", boot, "--chatter", "1"), pty=pty, greeting=b"booted\r\n")
    with Board(bridge.url, timing=CALM) as board:
        assert "booted\n" in board.log
        bridge.say(b"unasked\r\n")
        time.sleep(0.05)
        board.listen()
        assert "unasked\n" in board.log
        assert (board.info.name, board.info.model_count, board.info.payload_bytes) == ("test board", 1, 112)
        assert (board.info.counter_hz, board.info.counter_unit) == (1_000_000_000, "ns")
        model = board.model(0)
        assert (model.name, model.source_sha256, model.plan_bytes) == ("digits", "64" * 32, 4096)
        assert (model.input_count, model.output_count, model.fast_needed, model.status) == (2, 2, 2000, 0)
        tensors = [board.tensor(0, direction, index) for direction in list(Direction)[:2] for index in (0, 1)]
        assert [(tensor.name, tensor.size) for tensor in tensors] == [("a", 1000), ("b", 7), ("c", 1000), ("d", 300)]
        board.check_plan(0)
        for seed in range(3):
            infer(board, seed)
        assert board.output_crc32(0, 1) == zlib.crc32(random.Random(2).randbytes(1000)[:300])
        assert board.repeats == 0
        assert [(count.calls, count.elapsed) for count in board.profile(0)] == [(3, 3 * (100 + op)) for op in range(20)]
        board.run(0, clear_profile=True)
        assert board.profile(0)[19].calls == 1
    if pty:
        with Board(bridge.url, timing=QUICK) as board:
            infer(board, 4)


def noisy(seed: int, share: float) -> Fault:
    """Adds random bytes, zeros among them, before and after pieces."""
    generator = random.Random(seed)

    def add(data: bytes) -> Iterable[bytes]:
        if generator.random() < share:
            yield generator.randbytes(generator.randrange(1, 80))
        yield data

    return add


def lossy(seed: int, share: float) -> Fault:
    """Drops single bytes."""
    generator = random.Random(seed)
    return lambda data: [bytes(byte for byte in data if generator.random() >= share)]


def damaging(seed: int, share: float) -> Fault:
    """Flips bits; checksums then fail."""
    generator = random.Random(seed)
    return lambda data: [
        bytes(byte ^ (1 << generator.randrange(8)) if generator.random() < share else byte for byte in data)
    ]


@pytest.mark.parametrize("fault", [noisy, lossy, damaging])
@pytest.mark.parametrize("direction", ["to_board", "to_host"])
def test_faults_are_repaired_and_nothing_runs_twice(
    client: Client, fault: Callable[[int, float], Fault], direction: str
) -> None:
    # A second run of one request would be noticed, because a run destroys its inputs.
    share = 0.3 if fault is noisy else 0.001
    board = client(**{direction: fault(1, share)})
    for seed in range(4):
        infer(board, seed)
    assert fault is noisy or board.repeats > 0


def test_lost_answer_to_a_run_is_repeated_without_a_second_run(client: Client) -> None:
    board = client(to_host=losing(Request.RUN | 0x80, 1), timing=Timing(answer=1.0))
    infer(board, 1)
    assert board.repeats == 1
    assert board.profile(0)[0].calls == 1


def test_slow_board_is_waited_for(client: Client) -> None:
    """Ten pauses of 100 ms are longer than all tries of an unanswered request."""
    signs: list[int] = []
    board = client("--sleep", "100000", timing=Timing(3, answer=0.1, longest_answer=0.1, tries=3))
    board.run(0, on_busy=signs.append)
    assert signs[0] == 0 and len(signs) >= 4
    assert signs == sorted(signs)


def test_run_that_takes_too_long_ends_with_its_limit(client: Client) -> None:
    board = client("--sleep", "1000000", timing=Timing(3, answer=0.1, longest_answer=0.2, tries=3, run=0.5))
    started = time.monotonic()
    with pytest.raises(RunError, match=r"did not finish RUN within 0\.5 s.*--timeout"):
        board.run(0)
    assert time.monotonic() - started < 8  # the whole run takes 10 s


def test_interrupt_stops_the_run_on_the_board(client: Client) -> None:
    def interrupt(yields: int) -> None:
        raise KeyboardInterrupt

    board, started = client("--sleep", "1000000", timing=CALM), time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        board.run(0, on_busy=interrupt)
    board.model(0)
    assert time.monotonic() - started < 8  # the whole run takes 10 s
    with pytest.raises(RefusedError, match="no output"):
        board.read_output(0, 0, 4)


def test_restart_of_the_board_is_noticed(standin: Path, line: Connect) -> None:
    bridge = line(command(standin, "--boot", "rst:0x8 (TG1WDT_SYS_RESET)\r\n"))
    with Board(bridge.url, timing=QUICK) as board:
        board.write_input(0, 0, bytes(1000))
        bridge.restart()
        with pytest.raises(RestartError, match=r"restarted during RUN(.|\n)*TG1WDT_SYS_RESET"):
            board.run(0)


def test_time_in_the_hook_is_not_counted(client: Client) -> None:
    """The clock advances at each reading: ten yields divide a run into eleven pieces of one tick."""
    board = client("--counter", "looks")
    assert [board.run(0).elapsed for _ in range(2)] == [11, 11]


BAD_REQUESTS = [
    (99, b"", Refusal.REQUEST),
    (Request.INFO, b"", Refusal.LENGTH),
    (Request.INFO, bytes(5), Refusal.LENGTH),
    (Request.INFO, b"\x01\0\0\0", Refusal.MODEL),
    (Request.TENSOR, b"\0\0\x02\0", Refusal.TENSOR),
    (Request.TENSOR, b"\0\x01\x02\0", Refusal.TENSOR),
    (Request.WRITE, bytes(8) + b"\x04\0\0\0abc", Refusal.LENGTH),
    (Request.WRITE, b"\0\0\x02\0" + bytes(4) + b"\x01\0\0\0a", Refusal.TENSOR),
    (Request.WRITE, b"\0\0\x01\0" + b"\x07\0\0\0" + b"\x01\0\0\0a", Refusal.RANGE),
    (Request.WRITE, b"\0\0\x01\0" + b"\xff\xff\xff\xff" + b"\x01\0\0\0a", Refusal.RANGE),
    (Request.WRITE, b"\0\0\x01\0" + b"\x01\0\0\0" + b"\xff\xff\xff\xff" + b"a", Refusal.RANGE),
    (Request.READ, bytes(8) + b"\x04\0\0\0", Refusal.NO_OUTPUT),
    (Request.CHECKSUM, b"\0\x01\x05\0", Refusal.TENSOR),
    (Request.STATUS_TEXT, b"\0", Refusal.LENGTH),
]


def test_bad_requests_are_refused(raw: Raw) -> None:
    for request, payload, refusal in BAD_REQUESTS:
        answer = raw.ask(request, payload)
        assert answer == Frame(255, raw.sequence, raw.connection, REFUSED[refusal]), (request, payload)


@pytest.mark.parametrize("payload", sampled([1000, 113, 255], fast=1))
def test_larger_frames_carry_any_bytes(tmp_path: Path, line: Connect, payload: int) -> None:
    """Runs of more than 254 bytes without a zero, which COBS splits, at all places of a frame."""
    sources = [HERE / "board.c", HERE / "standin.c", *SERVER]
    program = compile_c(tmp_path / "board", sources, "-DSTANDIN", f"-DTIGRIS_SERVE_PAYLOAD={payload}", *SANITISERS)
    with Board(line(command(program)).url, timing=QUICK) as board:
        assert board.info.payload_bytes == payload
        for zeros in ([], [0], [240, 241], [253], [254, 999], [255, 510], [242, 496, 750], list(range(500))):
            data = bytearray(b"\x55" * 1000)
            for at in zeros:
                data[at] = 0
            board.write_input(0, 0, bytes(data))
            board.write_input(0, 1, bytes(7))
            board.run(0)
            assert board.read_output(0, 0, 1000) == bytes(3 * byte % 256 for byte in reversed(data))
            assert board.read_output(0, 1, 300) == data[:300]


# Client and server over a simulated line: its use of the line's rate, and no wrong results after faults.

KB = 1024


@pytest.mark.parametrize(("baudrate", "latency", "size", "sleep"), sampled(
    [(115200, 0.0, 16 * KB, 0.0), (921600, 0.001, 16 * KB, 0.0), (921600, 0.016, 256 * KB, 0.0),
     (921600, 0.001, 32 * KB, 0.01)], fast=2))  # fmt: skip
def test_nine_tenths_of_the_rate_through_a_fifo_of_128_bytes(
    baudrate: int, latency: float, size: int, sleep: float
) -> None:
    """The firmware may sleep between polls."""
    measured = measure(baudrate, latency, size, sleep=sleep)
    assert (measured.lost, measured.repeats) == (0, 0)
    assert 0.9 * (1 - sleep) <= measured.write <= 1 and 0.9 * (1 - sleep) <= measured.read <= 1


def test_a_board_too_slow_for_transfers_gets_its_input_by_requests() -> None:
    """It reads its line every 5 ms, in which 460 bytes arrive and 128 are kept."""
    data = random.Random(1).randbytes(3000)
    with SimulatedLine(921600, fifo=128, read_time=0.005, input_bytes=3000) as line:
        board = Board("line", 921600, Timing(answer=0.1), line=line)
        for shift in range(2):
            lost, repeats = line.lost, board.repeats
            shifted = data[shift:] + data[:shift]
            board.write_input(0, 0, shifted)
            board.write_input(0, 1, bytes(7))
            assert (line.lost > lost, board.repeats > repeats) == ((True, True) if shift == 0 else (False, False))
            board.run(0)
            table = bytes(3 * byte % 256 for byte in range(256))
            assert board.read_output(0, 0, 3000) == shifted[::-1].translate(table)


@pytest.mark.parametrize("size", [300, 2048, 16 * KB])
def test_a_line_at_an_eightieth_of_its_rate_is_waited_for(size: int) -> None:
    """Like an emulated UART. At most the first request is sent again, before the rate is measured."""
    measured = measure(1440, 0.0, size, told=115200)
    assert (measured.lost, measured.repeats <= 1) == (0, True)
    assert min(measured.write, measured.read) > 0.55 + 0.3 * (size > KB)


def test_a_socket_transfers_a_megabyte_per_second_of_processor_time() -> None:
    """Other programs' load does not count."""
    written, read = measure_socket(256 * KB, time.process_time)
    assert written > 1e6 and read > 1e6


@pytest.mark.parametrize("share", sampled([0.01, 0.001, 0.2, 0.05], fast=2))
def test_faults_of_the_line_never_give_a_wrong_result(share: float) -> None:
    """`make fuzz` runs more of it. No fault reaches the last checks, InputsError and OutputsError."""
    outcome = Outcome(share)
    lines = examples(2, 3)
    for seed in range(lines):
        try_line(outcome, seed, 800)
    assert (outcome.wrong, outcome.hangs) == (0, 0)
    assert outcome.frames >= 800 * lines
    assert outcome.right > 5 * lines
    assert share == 0.2 or set(outcome.errors) <= {"RestartError"}
    assert outcome.faults > share * outcome.frames / 3

"""Client and server over a simulated line: how much of its rate they use, and that faults never become results.

Times are the simulation's, so they are the same on every machine; but for the socket's.
"""

from __future__ import annotations

import random
import socket
import time
from contextlib import closing

import pytest

from bench.line import measure, measure_socket
from bench.simulated_line import SimulatedLine
from tests.fuzz.line import Outcome, try_line
from tests.harness.tiers import examples, sampled
from tigris_pio.hil.client import Board, Timing
from tigris_pio.hil.line import Line

KB = 1024


@pytest.mark.parametrize(
    ("baudrate", "latency", "size"),
    sampled([(115200, 0.0, 16 * KB), (921600, 0.001, 16 * KB), (921600, 0.016, 256 * KB)], fast=2),
)
def test_nine_tenths_of_the_rate_through_a_fifo_of_128_bytes(baudrate: int, latency: float, size: int) -> None:
    measured = measure(baudrate, latency, size)
    assert (measured.lost, measured.repeats) == (0, 0)
    assert 0.9 <= measured.write <= 1 and 0.9 <= measured.read <= 1


def test_the_simulation_does_not_flatter() -> None:
    """One frame at a time, as requests are: 112 bytes of 127, and the adapter waits twice for each."""
    with SimulatedLine(921600, 0.016, input_bytes=8 * KB) as line:
        board = Board("line", 921600, line=line)
        board._streams_arrive = False
        began = line.now()
        board.write_input(0, 0, bytes(8 * KB))
        seconds = line.now() - began
        assert seconds == pytest.approx(-(-8 * KB // 100) * 0.032, rel=0.1)


def test_firmware_that_sleeps_between_polls_loses_nothing_of_a_stream() -> None:
    sleep = 0.01
    measured = measure(921600, 0.001, 32 * KB, sleep=sleep)
    assert (measured.lost, measured.repeats) == (0, 0)
    assert 0.9 * (1 - sleep) <= measured.write and 0.9 * (1 - sleep) <= measured.read


def test_a_board_too_slow_for_streams_gets_its_input_by_requests() -> None:
    """It looks at its line every 5 ms, in which 460 bytes come and 128 stay."""
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


class LineOfAnImpatientUser(SimulatedLine):
    """Ctrl-C comes while an answer is awaited, and the request never reaches the board."""

    interrupts = False

    def write(self, data: bytes) -> None:
        if not self.interrupts:
            super().write(data)

    def read(self, seconds: float) -> bytes:
        if self.interrupts:
            self.interrupts = False
            raise KeyboardInterrupt
        return super().read(seconds)


def test_after_an_interrupted_request_a_new_session_begins() -> None:
    with LineOfAnImpatientUser(input_bytes=1000) as line:
        board = Board("line", line=line)
        for request in (lambda: board.write_input(0, 1, bytes(7)), lambda: board.write_input(0, 0, bytes(1000))):
            line.interrupts = True
            with pytest.raises(KeyboardInterrupt):
                request()
            request()
        board.write_input(0, 1, bytes(7))
        board.run(0)
        assert board.read_output(0, 0, 1000) == bytes(1000)


def test_over_a_socket_a_megabyte_a_second_of_the_hosts_time() -> None:
    """Of its processor's, for whatever else this machine does; the next test is about waiting."""
    written, read = measure_socket(256 * KB, time.process_time)
    assert written > 1e6 and read > 1e6


def test_frames_wait_for_no_acknowledgement_of_tcp() -> None:
    """Nagle's algorithm would hold the last frame of each window back for 40 ms."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        line = Line(f"socket://127.0.0.1:{listener.getsockname()[1]}")
        with closing(line):
            assert line._port._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize("share", sampled([0.01, 0.001, 0.2, 0.05], fast=2))
def test_whatever_the_line_does_a_result_is_right_or_there_is_an_error(share: float) -> None:
    """`make fuzz` goes on with this. Nothing gets as far as the last line of defence, InputsError and OutputsError."""
    outcome = Outcome(share)
    lines = examples(2, 3)
    for seed in range(lines):
        try_line(outcome, seed, 800)
    assert (outcome.wrong, outcome.hangs) == (0, 0)
    assert outcome.frames >= 800 * lines
    assert outcome.right > 5 * lines
    assert share == 0.2 or set(outcome.errors) <= {"RestartError"}
    assert outcome.faults > share * outcome.frames / 3

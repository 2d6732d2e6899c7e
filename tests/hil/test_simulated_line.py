"""Client and server over a simulated line: how much of its rate they use, and that faults never become results.

Times are the simulation's, so they are the same on every machine; but for the socket's.
"""

from __future__ import annotations

import random
import time

import pytest

from bench.line import measure, measure_socket
from bench.simulated_line import SimulatedLine
from tests.fuzz.line import Outcome, try_line
from tests.harness.tiers import examples, sampled
from tigris_pio.hil.client import Board, Timing

KB = 1024


@pytest.mark.parametrize(("baudrate", "latency", "size", "sleep"), sampled(
    [(115200, 0.0, 16 * KB, 0.0), (921600, 0.001, 16 * KB, 0.0), (921600, 0.016, 256 * KB, 0.0),
     (921600, 0.001, 32 * KB, 0.01)], fast=2))  # fmt: skip
def test_nine_tenths_of_the_rate_through_a_fifo_of_128_bytes(
    baudrate: int, latency: float, size: int, sleep: float
) -> None:
    """Also when the firmware sleeps between polls."""
    measured = measure(baudrate, latency, size, sleep=sleep)
    assert (measured.lost, measured.repeats) == (0, 0)
    assert 0.9 * (1 - sleep) <= measured.write <= 1 and 0.9 * (1 - sleep) <= measured.read <= 1


def test_a_board_too_slow_for_transfers_gets_its_input_by_requests() -> None:
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


@pytest.mark.parametrize("size", [300, 2048, 16 * KB])
def test_a_line_at_an_eightieth_of_its_rate_is_waited_for(size: int) -> None:
    """As an emulated UART may run. At most one request, the first, is sent again before that is known."""
    measured = measure(1440, 0.0, size, told=115200)
    assert (measured.lost, measured.repeats <= 1) == (0, True)
    assert min(measured.write, measured.read) > 0.55 + 0.3 * (size > KB)


def test_over_a_socket_a_megabyte_a_second_of_the_hosts_time() -> None:
    """Of its processor's, for whatever else this machine does."""
    written, read = measure_socket(256 * KB, time.process_time)
    assert written > 1e6 and read > 1e6


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

"""Share of a serial line's rate that transfers of inputs and outputs reach: python -m bench.line [--json FILE]

The board's server and the host's client are the real ones; line, adapter and board are simulated, with simulated time.
The UART has FIFOs of 128 bytes and sends ten bits a byte; the adapter forwards its bytes each time its latency is over,
in both directions. "Lost" counts bytes that arrive while the board's FIFO is full. A transfer is timed from the request
that opens it to the last answer. Last come transfers over a socket to a process on this computer, in real time.
"""

import dataclasses
import itertools
import random
import socket
import subprocess
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.command import command, parser_of, print_cells, write_json
from bench.emulator import ROOT, RUNTIME
from bench.simulated_line import SimulatedLine
from tigris_pio.hil.client import Board

RATES = (115200, 921600)
LATENCIES = (0.0, 0.001, 0.016)
SIZES = (16 << 10, 64 << 10, 256 << 10)
FRAMES = (240, 1024)
SOCKET_BYTES = 4 << 20


@dataclasses.dataclass(frozen=True)
class Measurement:
    """Shares of the line's rate at which an input was written and an output read."""

    baudrate: int
    latency: float  #: seconds
    size: int
    frame: int  #: most data of a frame
    write: float
    read: float
    lost: int
    repeats: int


def measure(baudrate: int, latency: float, size: int, frame: int = FRAMES[0], sleep: float = 0.0,
            told: int = 0) -> Measurement:  # fmt: skip
    """Writes an input of `size` bytes, runs, reads as large an output. `sleep`: of the firmware, between polls. `told`:
    the rate that the harness is told, 0: the line's."""
    with SimulatedLine(baudrate, latency, sleep=sleep, input_bytes=size,
                       options=(f"-DTIGRIS_SERVE_TRANSFER={frame}",)) as line:  # fmt: skip
        board = Board("line", told or baudrate, line=line)
        write, read = (size / (baudrate / 10) / seconds for seconds in transferred(board, size, line.now))
        return Measurement(baudrate, latency, size, frame, write, read, line.lost, board.repeats)


def transferred(board: Board, size: int, clock: Callable[[], float]) -> tuple[float, float]:
    """Seconds in which an input of `size` bytes is written and, after a run, as large an output is read."""
    data = random.Random(size).randbytes(size)
    times = [clock()]
    board.write_input(0, 0, data)
    times.append(clock())
    board.write_input(0, 1, bytes(7))
    board.run(0)
    times.append(clock())
    output = board.read_output(0, 0, size)
    times.append(clock())
    # Equal numbers by checksum: a failed assertion would print megabytes.
    assert zlib.crc32(output) == zlib.crc32(data[::-1].translate(bytes(3 * byte % 256 for byte in range(256))))
    return times[1] - times[0], times[3] - times[2]


@contextmanager
def socket_board(size: int) -> Iterator[str]:
    """The URL of a process that serves a model of so many bytes in and out."""
    folder = Path(tempfile.mkdtemp(prefix="tigris-board-"))
    here = ROOT / "tests" / "hil"
    sources = [here / "board.c", here / "standin.c", *sorted((RUNTIME / "src").glob("serve*.c"))]
    command = ["gcc", "-O2", "-DSTANDIN", f"-DINPUT0={size}U", "-I", RUNTIME / "include", *sources,
               RUNTIME / "src" / "crc32.c", "-o", folder / "board"]  # fmt: skip
    subprocess.run([str(word) for word in command], check=True)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                words = [folder / "board", "--model", "large"]
                subprocess.run(words, stdin=connection, stdout=connection, check=False)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"socket://127.0.0.1:{listener.getsockname()[1]}"
        thread.join(10)


def measure_socket(size: int = SOCKET_BYTES, clock: Callable[[], float] = time.monotonic) -> tuple[float, float]:
    """Bytes a second of writing and reading over a socket, by a clock in seconds."""
    with socket_board(size) as url, Board(url) as board:
        write, read = transferred(board, size, clock)
    return size / write, size / read


@command
def main() -> None:
    """The command."""
    options = parser_of(__doc__, "json").parse_args()
    rows, measured = [], []
    for baudrate, latency, frame in itertools.product(RATES, LATENCIES, FRAMES):
        row = [measure(baudrate, latency, size, frame) for size in SIZES]
        shares = [f"{100 * one.write:.1f} %, {100 * one.read:.1f} %" for one in row]
        rows.append([str(baudrate), f"{1000 * latency:g} ms", str(frame), *shares, str(sum(one.lost for one in row))])
        measured += row
    written, read = measure_socket()
    headings = ["baud", "adapter", "frame", *(f"{size >> 10} KB" for size in SIZES), "lost"]
    print_cells("share of the line's rate: input written, output read", headings, rows)
    print(f"over a socket: {written / 1e6:.1f} MB/s written, {read / 1e6:.1f} MB/s read")
    write_json(options.json, {"line": [dataclasses.asdict(one) for one in measured], "socket": [written, read]})

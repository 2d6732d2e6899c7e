"""A simulated serial line with a board at its end: the board's server is the real one, compiled here; time is
simulated. See firmware/simulated_line.c."""

from __future__ import annotations

import atexit
import ctypes
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType

from bench.emulator import FIRMWARE, ROOT, RUNTIME
from tigris_pio.hil.line import Line

_READ_BYTES = 4096
_SECOND = 1_000_000_000
_MOST_INPUT = 1 << 18


@functools.cache
def library(*options: str) -> ctypes.CDLL:
    """The simulation, built once; `-DTIGRIS_SERVE_TRANSFER=1024` among its options, say."""
    folder = Path(tempfile.mkdtemp(prefix="tigris-line-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    out = folder / "simulated_line.so"
    source = RUNTIME / "src"
    sources = [FIRMWARE / "simulated_line.c", ROOT / "tests" / "hil" / "standin.c", *sorted(source.glob("serve*.c")),
               source / "crc32.c"]  # fmt: skip
    flags = ["-std=c99", "-Wall", "-Wextra", "-O2", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"]
    flags += [f"-DINPUT0={_MOST_INPUT}U", "-shared", "-fPIC", "-Wl,--no-undefined", "-I", str(RUNTIME / "include")]
    command = ["gcc", *flags, *options, *sources, "-o", out]
    subprocess.run([str(word) for word in command], check=True)
    loaded = ctypes.CDLL(str(out))
    loaded.simulation_new.restype = ctypes.c_void_p
    loaded.simulation_new.argtypes = [ctypes.c_int64] * 5 + [ctypes.c_uint32] * 3
    loaded.simulation_write.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
    loaded.simulation_read.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_char_p, ctypes.c_size_t]
    loaded.simulation_read.restype = ctypes.c_size_t
    loaded.simulation_pause.argtypes = [ctypes.c_void_p, ctypes.c_int64]
    for name, result in (("now", ctypes.c_int64), ("lost", ctypes.c_uint64), ("restart", None), ("free", None)):
        function = getattr(loaded, f"simulation_{name}")
        function.argtypes, function.restype = [ctypes.c_void_p], result
    return loaded


class SimulatedLine(Line):
    """A board's line for `Board("…", line=…)`; seconds are those of the simulation."""

    def __init__(
        self,
        baudrate: int = 115200,
        latency: float = 0.0,
        fifo: int = 128,
        read_time: float = 2e-6,
        sleep: float = 0.0,
        run_time: float = 0.01,
        input_bytes: int = 1000,
        output_bytes: int = 300,
        options: tuple[str, ...] = (),
    ) -> None:
        self.url = "simulated"
        self._library = library(*options)
        times = [round(_SECOND * seconds) for seconds in (10 / baudrate, latency, read_time, sleep, run_time)]
        self._simulation = self._library.simulation_new(*times, fifo, input_bytes, output_bytes)
        self._buffer = ctypes.create_string_buffer(_READ_BYTES)

    def __enter__(self) -> SimulatedLine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._library.simulation_free(self._simulation)

    @property
    def lost(self) -> int:
        """Bytes that found the board's FIFO full."""
        return int(self._library.simulation_lost(self._simulation))

    def restart(self) -> None:
        """The board loses power for a moment."""
        self._library.simulation_restart(self._simulation)

    def now(self) -> float:
        return int(self._library.simulation_now(self._simulation)) / _SECOND

    def pause(self, seconds: float) -> None:
        self._library.simulation_pause(self._simulation, round(seconds * _SECOND))

    def read(self, seconds: float) -> bytes:
        # Up to a nanosecond more, lest rounding never reach the time that is waited for.
        until = int(self._library.simulation_now(self._simulation)) + int(seconds * _SECOND) + 1
        got: int = self._library.simulation_read(self._simulation, until, self._buffer, _READ_BYTES)
        return self._buffer.raw[:got]

    def write(self, data: bytes) -> None:
        self._library.simulation_write(self._simulation, data, len(data))

    def close(self) -> None:
        """The line and its board go on: another host may come."""

"""A chip's ROM bootloader to flash, on a TCP port, and what its flash then holds."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

START_SECONDS = 60.0
# With a flash chip of 16 MB, in the mock and by its JEDEC id, in place of 4 MB. On a busy machine it would be of no use
# by itself: it gives up reading when the host acknowledges later than after 50 ms; and three seconds after flashing it
# begins a new session, without the stub that the next esptool may have found running, and answers as the ROM does.
# Its flash is shown as a file on a signal: reading it over the line, 64 bytes at a time, takes seconds.
RUN = """
import os, signal, sys
from esp32_mock_bootloader import cli, protocol, server
protocol.MOCK_FLASH_ID, protocol.FLASH_MOCK_SIZE = 0x00184020, 16 << 20
assert server._FLASH_END_IDLE_SEC > 0 and server._CLIENT_RECV_TIMEOUT > 0
server._FLASH_END_IDLE_SEC, server._CLIENT_RECV_TIMEOUT = float("inf"), 60.0
def show_flash(number, frame):
    with open(sys.argv[1] + ".part", "wb") as file:
        file.write(server.get_flash_image().data)
    os.replace(sys.argv[1] + ".part", sys.argv[1])
signal.signal(signal.SIGUSR1, show_flash)
sys.exit(cli.main(sys.argv[2:]))
"""


@dataclass(frozen=True)
class MockChip:
    """`port` is what esptool and upload_port take; `flash` is where the process shows its flash."""

    port: str
    process: subprocess.Popen[bytes]
    flash: Path

    def read(self, offset: int, size: int) -> bytes:
        self.flash.unlink(missing_ok=True)
        self.process.send_signal(signal.SIGUSR1)
        _await(self.flash, self.process, self.flash.with_name("log"))
        with self.flash.open("rb") as file:
            file.seek(offset)
            return file.read(size)


@contextlib.contextmanager
def mock_chip(chip: str) -> Iterator[MockChip]:
    """On a TCP port, where it answers as the ROM does: esptool needs --no-stub."""
    with tempfile.TemporaryDirectory() as folder:
        port_file = Path(folder, "port")
        flash = Path(folder, "flash.bin")
        command = [sys.executable, "-c", RUN, str(flash), "run", "--chip", chip, "--port", "0"]
        with Path(folder, "log").open("wb") as log:
            process = subprocess.Popen([*command, "--port-file", str(port_file)], stdout=log, stderr=log)
        try:
            _await(port_file, process, Path(folder, "log"))
            port = port_file.read_text("utf-8").strip()
            yield MockChip(f"socket://127.0.0.1:{port}", process, flash)
        finally:
            process.terminate()
            process.wait(10)


def _await(file: Path, process: subprocess.Popen[bytes], log: Path) -> None:
    """Until the file has something in it."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if file.is_file() and file.stat().st_size:
            return
        time.sleep(0.02)
    raise AssertionError(f"the mock bootloader gives no {file.name}: {log.read_text('utf-8', 'replace')}")

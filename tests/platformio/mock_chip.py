"""A chip's ROM bootloader for uploads, on a TCP port, and its flash."""

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
# The mock has a flash chip of 16 MB, also by its JEDEC id, instead of 4 MB. Two more changes are for a busy computer:
# the original stops a read if the host acknowledges later than after 50 ms. Three seconds after flashing it begins
# again without the stub that the next esptool may have found running, and answers like the ROM.
# A signal writes its flash to a file, because reading it over the line, 64 bytes at a time, takes seconds.
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
    """`port` is for esptool and upload_port; the process writes its flash to the file `flash`."""

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
    """A chip on a TCP port that answers like the ROM: esptool needs --no-stub."""
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
    """Waits until the file is not empty."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if file.is_file() and file.stat().st_size:
            return
        time.sleep(0.02)
    raise AssertionError(f"the mock bootloader gives no {file.name}: {log.read_text('utf-8', 'replace')}")

"""A chip's ROM bootloader to flash, on a TCP port or a pseudo terminal, and what esptool reads back from it."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

START_SECONDS = 60.0
ATTEMPTS = 3
PIECE = 0x1000
# With a flash chip of 16 MB, in the mock and by its JEDEC id, in place of 4 MB. The session on a terminal lasts: by
# itself the mock begins a new one three seconds after flashing, without the stub that the next esptool may have found
# running, and then answers that one as the ROM does. Long answers are written whole.
RUN = """
import os, sys
from esp32_mock_bootloader import cli, protocol, server
protocol.MOCK_FLASH_ID, protocol.FLASH_MOCK_SIZE = 0x00184020, 16 << 20
assert server._FLASH_END_IDLE_SEC > 0
server._FLASH_END_IDLE_SEC = float("inf")
def sendall(self, data):
    while data:
        data = data[os.write(self._master, data):]
server.PtyMasterTransport.sendall = sendall
sys.exit(cli.main(sys.argv[1:]))
"""


@dataclass(frozen=True)
class MockChip:
    """`port` is what esptool and upload_port take."""

    chip: str
    port: str

    @property
    def stub(self) -> list[str]:
        """The mock reads through the ROM over TCP, and through the stub, which stays, over a terminal."""
        return ["--no-stub"] if self.port.startswith("socket:") else []

    def esptool(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "esptool", "--chip", self.chip, "--port", self.port, *self.stub, *arguments]
        for _ in range(ATTEMPTS):
            done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
            if done.returncode == 0:
                return
        raise AssertionError(done.stdout + done.stderr)

    def read(self, offset: int, size: int) -> bytes:
        try:
            return self._read(offset, size)
        except AssertionError:
            if size <= PIECE:
                raise
        starts = range(offset, offset + size, PIECE)
        return b"".join(self._read(start, min(PIECE, offset + size - start)) for start in starts)

    def _read(self, offset: int, size: int) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "flash.bin")
            self.esptool("read-flash", hex(offset), hex(-(-size // 4) * 4), str(file))
            return file.read_bytes()[:size]

    def write(self, offset: int, data: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "flash.bin")
            file.write_bytes(data)
            self.esptool("write-flash", hex(offset), str(file))


@contextlib.contextmanager
def mock_chip(chip: str, transport: str) -> Iterator[MockChip]:
    """`transport` is `socket` or `pty`."""
    with tempfile.TemporaryDirectory() as folder:
        port_file = Path(folder, "port")
        where = ["--pty"] if transport == "pty" else ["--port", "0"]
        command = [sys.executable, "-c", RUN, "run", "--chip", chip, *where]
        with Path(folder, "log").open("wb") as log:
            process = subprocess.Popen([*command, "--port-file", str(port_file)], stdout=log, stderr=log)
        try:
            port = _await(port_file, process, Path(folder, "log"))
            yield MockChip(chip, f"socket://127.0.0.1:{port}" if transport == "socket" else port)
        finally:
            process.terminate()
            process.wait(10)


def _await(port_file: Path, process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if port_file.is_file() and port_file.read_text("utf-8").strip():
            return port_file.read_text("utf-8").strip()
        time.sleep(0.02)
    raise AssertionError(f"no mock bootloader: {log.read_text('utf-8', 'replace')}")

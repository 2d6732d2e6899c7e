"""A chip's ROM bootloader to flash, on a TCP port or a pseudo terminal, and what esptool reads back from it."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import esptool

START_SECONDS = 60.0
# With a flash chip of 16 MB, in the mock and by its JEDEC id, in place of 4 MB. On a busy machine it would be of no use
# by itself: it gives up reading when the host acknowledges later than after 50 ms; and three seconds after flashing it
# begins a new session, without the stub that the next esptool may have found running, and answers as the ROM does.
RUN = """
import os, sys
from esp32_mock_bootloader import cli, protocol, server
protocol.MOCK_FLASH_ID, protocol.FLASH_MOCK_SIZE = 0x00184020, 16 << 20
assert server._FLASH_END_IDLE_SEC > 0 and server._CLIENT_RECV_TIMEOUT > 0
server._FLASH_END_IDLE_SEC, server._CLIENT_RECV_TIMEOUT = float("inf"), 60.0
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
        """In this process: its imports take a second of a new one."""
        with redirect_stdout(io.StringIO()) as printed, redirect_stderr(printed):
            try:
                esptool.main(["--chip", self.chip, "--port", self.port, *self.stub, *arguments])
                problem = ""
            except SystemExit as end:
                problem = f"exit status {end.code}" if end.code else ""
            except esptool.FatalError as error:
                problem = str(error)
        assert not problem, f"{printed.getvalue()}\n{problem}"

    def read(self, offset: int, size: int) -> bytes:
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

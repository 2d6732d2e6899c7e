"""A running chip in Espressif's QEMU."""

from __future__ import annotations

import shlex
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from tigris_pio.errors import ToolError
from tigris_pio.hil.qemu.build import Build
from tigris_pio.hil.qemu.chips import Chip, arguments, efuse_image
from tigris_pio.hil.qemu.tools import find_qemu, merge, write_flash

_START_SECONDS = 30.0
_STOP_SECONDS = 5.0
#: QEMU's message when its socket is open.
_READY = "waiting for connection"


class Machine:
    """Runs from __enter__ to __exit__; `url` is its UART 0.

        with Machine(read_idf(Path("build"))) as machine, Board(machine.url) as board:
            ...

    Its flash holds the images of `build`, or is `erased`. Then esptool writes the images of `upload` through the ROM's
    download mode, as on a board. `options`: further arguments for QEMU. ToolError if QEMU or esptool is missing or
    fails. At the end the flash is deleted.
    """

    def __init__(self, build: Build, upload: Build | None = None, erased: bool = False, options: str = "") -> None:
        self._build, self._upload, self._erased, self._options = build, upload, erased, shlex.split(options)
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self.url = ""

    def __enter__(self) -> Machine:
        command = find_qemu(self._build.chip)
        self._folder = tempfile.TemporaryDirectory(prefix="tigris-qemu-")
        try:
            self._prepare()
            if self._upload is not None:
                self._start(command, download=True)
                write_flash(self._upload, self.url, self._flash.stat().st_size)
                self._stop()
            self._start(command, download=False)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    @property
    def _flash(self) -> Path:
        assert self._folder is not None
        return Path(self._folder.name, "flash.bin")

    @property
    def flash(self) -> bytes:
        """The content of the flash chip."""
        return self._flash.read_bytes()

    def _prepare(self) -> None:
        merge(self._build, self._flash)
        if self._erased:
            self._flash.write_bytes(b"\xff" * self._flash.stat().st_size)
        image = efuse_image(self._build.chip)
        if image:
            self._flash.with_name("efuse.bin").write_bytes(image)

    def _start(self, command: str, download: bool) -> None:
        port = _free_port()
        efuse = self._flash.with_name("efuse.bin")
        words = arguments(self._build.chip, str(self._flash), port, str(efuse) if efuse.is_file() else None,
                          self._build.octal_psram, download)  # fmt: skip
        log = self._flash.with_name("qemu.log")
        with log.open("wb") as output:
            nothing = subprocess.DEVNULL
            self._process = subprocess.Popen(
                [command, *words, *self._options], stdin=nothing, stdout=output, stderr=output, cwd=self._flash.parent
            )
        _await_ready(self._process, log, self._build.chip)
        self.url = f"socket://127.0.0.1:{port}"

    def _stop(self) -> None:
        """Terminates QEMU, which then writes its flash to the file."""
        if self._process is None:
            return
        process, self._process = self._process, None
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:  # QEMU ignores the signal while it waits for its first connection
            process.kill()
            process.wait()


def _await_ready(process: subprocess.Popen[bytes], log: Path, chip: Chip) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        text = log.read_text("utf-8", "replace")
        if _READY in text:
            return
        if process.poll() is not None:
            raise ToolError(f"{chip.command} ended at once: {text.strip() or 'no message'}")
        time.sleep(0.02)
    raise ToolError(f"{chip.command} did not start within {_START_SECONDS:.0f} s: {text.strip() or 'no message'}")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])

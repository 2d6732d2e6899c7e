"""A PlatformIO project under test, and the board that it is flashed to."""

import contextlib
import dataclasses
import functools
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
#: Bytes of the fake compiler's plans before the model's content.
FAKE_HEAD = 20
PLATFORMIO = ROOT / "tigris_pio" / "platformio"
EMULATED = f"symlink://{PLATFORMIO / 'emulated'}"
ESPRESSIF_LIKE = f"symlink://{ROOT / 'tests' / 'platformio' / 'espressif_like'}"


def load_by_path(name: str, path: Path) -> ModuleType:
    """Loads a module by its file, like PlatformIO."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


board_process = load_by_path("tigris_board_process", PLATFORMIO / "emulated" / "tools" / "board_process.py")


@dataclasses.dataclass(frozen=True)
class FakeCompiler:
    python: Path
    log: Path

    def runs(self) -> list[str]:
        return self.log.read_text("utf-8").splitlines() if self.log.exists() else []


@dataclasses.dataclass(frozen=True)
class Result:
    status: int
    text: str


@functools.cache
def _object_cache() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="tigris-pio-objects-")


@dataclasses.dataclass(frozen=True)
class Project:
    """A project in a folder. `shares_objects`: its builds use objects of other such projects of this process, above all
    the runtime's. SCons then prints "Retrieved" instead of "Compiling" or "Linking"."""

    folder: Path
    core_dir: Path
    shares_objects: bool = True

    def write(self, sources: dict[str, str], ini: str, platform: str, framework: str) -> None:
        common = f"[env]\nplatform = {platform}\nframework = {framework}\n" \
                 f"extra_scripts = pre:{PLATFORMIO / 'hook.py'}\n"  # fmt: skip
        for name, text in {**sources, "platformio.ini": common + ini}.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")

    def add_option(self, line: str) -> None:
        """Adds an option to the last environment of platformio.ini."""
        with (self.folder / "platformio.ini").open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    def pio(self, *arguments: str, **variables: str) -> Result:
        environment = {
            **os.environ,
            "PLATFORMIO_CORE_DIR": str(self.core_dir),
            "PLATFORMIO_SETTING_ENABLE_TELEMETRY": "no",
            "PLATFORMIO_SETTING_CHECK_PLATFORMIO_INTERVAL": "36500",
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
            **({"PLATFORMIO_BUILD_CACHE_DIR": _object_cache().name} if self.shares_objects else {}),
            **variables,
        }
        command = [sys.executable, "-m", "platformio", *arguments]
        done = subprocess.run(command, cwd=self.folder, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, encoding="utf-8", timeout=300, check=False)  # fmt: skip
        return Result(done.returncode, done.stdout)

    def metadata(self, environment: str) -> dict[str, Any]:
        """The answer of `pio project metadata` to an editor."""
        result = self.pio("project", "metadata", "-e", environment, "--json-output")
        assert result.status == 0, result.text
        found: dict[str, Any] = json.loads(result.text[result.text.index("{") :])[environment]
        return found

    def images(self, environment: str) -> list[tuple[int, Path]]:
        """Offsets and files of the images that are flashed beside the firmware."""
        listed = self.metadata(environment)["extra"]["flash_images"]
        return [(int(image["offset"], 0), Path(image["path"])) for image in listed]

    def run(self, *arguments: str, **variables: str) -> str:
        """Runs `pio run …`, which must succeed; returns its output."""
        result = self.pio("run", *arguments, **variables)
        assert result.status == 0, result.text
        return result.text

    def refused(self, *arguments: str, **variables: str) -> str:
        """Runs `pio run …`, which must fail without a traceback; returns its output."""
        result = self.pio("run", *arguments, **variables)
        assert result.status != 0, result.text
        assert "Traceback" not in result.text, result.text
        return result.text

    def board_folder(self, environment: str) -> Path:
        return board_process.board_folder(str(self.folder / ".pio"), environment)

    def flash(self, environment: str) -> bytes:
        return (self.board_folder(environment) / "flash.bin").read_bytes()

    def build(self, environment: str) -> Path:
        return self.folder / ".pio" / "build" / environment

    def port(self, environment: str) -> int:
        """The port of the board's UART."""
        port: int = json.loads((self.board_folder(environment) / "board.json").read_text("utf-8"))["port"]
        return port

    def serial(
        self, environment: str, until: bytes, after: bytes = b"", send: bytes = b"", seconds: float = 20.0
    ) -> bytes:
        """Connects to the board's UART, sends `send` after `after` is received, and reads up to `until`."""
        port = self.port(environment)
        deadline = time.monotonic() + seconds
        with socket.create_connection(("127.0.0.1", port), timeout=seconds) as line:
            received = _receive(line, b"", after, deadline)
            line.sendall(send)
            received = _receive(line, received, until, deadline)
        return received

    def restart(self, environment: str, *images: tuple[int, bytes]) -> None:
        """Restarts the board with these bytes written to its flash."""
        folder, files = self.board_folder(environment), []
        board_process.stop(folder)
        for number, (offset, data) in enumerate(images):
            files.append((offset, self.folder / f"image{number}.bin"))
            files[-1][1].write_bytes(data)
        board_process.write_flash(folder, len(self.flash(environment)), files)
        spec = board_process.read_spec(self.build(environment) / "emulator.json")
        board_process.start(folder, spec, 25000, fixed_port=False)

    def is_on(self, environment: str) -> bool:
        return board_process.running_process(self.board_folder(environment)) is not None

    def switch_off(self) -> None:
        """Switches off all its boards, and ends their watchers, which look only once a second."""
        folders = [str(folder.resolve()) for folder in (self.folder / ".pio" / "emulated").glob("*")]
        for folder in folders:
            board_process.stop(Path(folder))
        for process, command in board_process._command_lines() if folders else ():
            if any(f" watch --folder {folder}" in command for folder in folders):
                with contextlib.suppress(OSError):
                    os.kill(process, signal.SIGTERM)


def _receive(line: socket.socket, received: bytes, until: bytes, deadline: float) -> bytes:
    line.settimeout(0.2)
    while until not in received and time.monotonic() < deadline:
        try:
            data = line.recv(4096)
        except TimeoutError:
            continue
        if not data:
            break
        received += data
    assert until in received, received
    return received

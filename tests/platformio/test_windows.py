"""Differences of Windows, with simulated calls: processes, ports, locks, launchers, code pages."""

import io
import json
import os
import signal
import socket
import subprocess
import sys
import types
from pathlib import Path

import onnx
import pytest

from tests.compiler.models import make, node
from tigris_pio.cli.main import main
from tigris_pio.files import read_named
from tigris_pio.hil import lock
from tigris_pio.platformio import compiler

from .project import board_process

QEMU = (
    r'"C:\Program Files\qemu.exe" -chardev "socket,id=uart,host=127.0.0.1,port=20123,server=on,'
    r'logfile=C:\x y\emu_rv32\uart.log" -serial chardev:uart'
)
POWERSHELL = f"4 \r\n1404 {QEMU}\r\n6520 python.exe -m platformio\r\n\r\n"


def test_boards_are_found_among_processes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = []

    def answer(command, **options):
        asked.append((command[0], options.get("encoding")))
        return subprocess.CompletedProcess(command, 0, POWERSHELL, "")

    monkeypatch.setattr(board_process.subprocess, "run", answer)
    found = dict(board_process._command_lines(windows=True))
    assert asked == [("powershell", "utf-8")] and set(found) == {4, 1404, 6520}
    # macOS has no /proc, so ps is called.
    monkeypatch.setattr(board_process.subprocess, "run",
                        lambda *_, **__: subprocess.CompletedProcess([], 0, "    1 /sbin/launchd\n", ""))  # fmt: skip
    assert dict(board_process._command_lines(tmp_path)) == {1: "/sbin/launchd"}
    monkeypatch.setattr(board_process, "_command_lines", lambda: iter(found.items()))
    ((folder, port),) = board_process.all_running()
    assert port == 20123 and str(folder).endswith("emu_rv32")


def test_a_board_is_switched_off_without_sigkill(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Windows has neither SIGKILL nor WNOHANG; there os.kill ends a process with any signal. This process obeys the
    signal."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    monkeypatch.delattr(signal, "SIGKILL")
    monkeypatch.delattr(os, "WNOHANG")
    monkeypatch.setattr(board_process, "_running_boards", lambda state: {process.pid: 20999})
    assert board_process.stop(tmp_path)
    assert process.wait() == -signal.SIGTERM
    assert board_process.stop(tmp_path), "a process that is gone is no error"


def test_a_port_in_use_is_not_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """SO_EXCLUSIVEADDRUSE is set on Windows; here an option without effect replaces it."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert not board_process._is_free(port)
        monkeypatch.setattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_KEEPALIVE, raising=False)
        monkeypatch.setattr(socket, "SO_REUSEADDR", None)  # must not be set
        assert not board_process._is_free(port)
    assert board_process._is_free(port)


def test_an_emulator_with_a_port_in_use_is_recognised_by_any_message(tmp_path: Path) -> None:
    log = tmp_path / "emulator.log"
    log.write_text("qemu: Failed to find an available port: Unknown error", "utf-8")
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(board_process.PortInUseError):
            board_process._await_listening(ended, log, taken.getsockname()[1])
    log.write_text("qemu: no such machine", "utf-8")
    with pytest.raises(board_process.BoardError, match="no such machine"):
        board_process._await_listening(ended, log, 20998)


def test_a_lock_is_a_byte_range_on_windows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By msvcrt.locking, which locks from the file's position: not the name, which no program could read then."""
    taken: list[int] = []

    def locking(descriptor: int, mode: int, count: int) -> None:
        place = os.lseek(descriptor, 0, os.SEEK_CUR)
        if place in taken:
            raise PermissionError(13, "Permission denied")
        taken.append(place)
        assert (mode, count) == (2, 1)

    monkeypatch.setitem(sys.modules, "msvcrt", types.SimpleNamespace(locking=locking, LK_NBLCK=2))
    original = lock.lock_open_file
    monkeypatch.setattr(lock, "lock_open_file", lambda file: original(file, windows=True))
    first, second = lock.Lock(tmp_path / "port.lock"), lock.Lock(tmp_path / "port.lock")
    assert first.acquire() is None
    assert f"process {os.getpid()}" in str(second.acquire())
    assert taken == [1 << 30]
    taken.clear()
    first.release()
    assert second.acquire() is None


def test_the_python_of_a_launcher(tmp_path: Path) -> None:
    """pip writes tigris.exe beside python.exe in a virtual environment, else into Scripts below it."""
    scripts = tmp_path / "Scripts"
    scripts.mkdir()
    (launcher := scripts / "tigris.EXE").write_bytes(b"MZ")
    assert compiler.python_of_script(str(launcher)) is None
    (tmp_path / "python.exe").touch()
    assert compiler.python_of_script(str(launcher)) == str(tmp_path / "python.exe")
    (scripts / "python.exe").touch()
    assert compiler.python_of_script(str(launcher)) == str(scripts / "python.exe")


def test_quoting_words_of_a_command_line() -> None:
    assert compiler.quoted(r"C:\Program Files\$1\python.exe", windows=True) == '"C:\\Program Files\\$1\\python.exe"'


def test_a_folder_that_cannot_be_opened_is_recognised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows refuses to open a folder with "Permission denied"."""

    def refused(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refused)
    with pytest.raises(Exception, match="is a folder; give a model"):
        read_named(tmp_path, "a model")


def test_names_that_a_code_page_lacks_are_escaped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the encoding that a Western Windows gives a program whose output goes to a file."""
    model = make([node("Relu", "入力", "出力")], {"入力": (1, 4)}, ["出力"])
    model.graph.name = "名前"
    onnx.save(model, tmp_path / "名.onnx")
    page = io.TextIOWrapper(io.BytesIO(), "cp1252")
    for words in ([], ["--json"]):
        with monkeypatch.context() as patch, pytest.raises(SystemExit):
            patch.setattr(sys, "stdout", page)
            main(["analyze", str(tmp_path / "名.onnx"), "-m", "4K", *words])
    page.flush()
    said: bytes = page.buffer.getvalue()  # type: ignore[attr-defined]
    text, brace, document = said.partition(b"{")
    assert rb"\u540d" in text and json.loads(brace + document)["model"] == "名"

"""The emulated flash chip and its board's port."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import time

import pytest

from .project import ROOT, board_process

BoardError = board_process.BoardError
CHIP = 1 << 20


@pytest.fixture
def image(tmp_path):
    return lambda name, data: (tmp_path / name, (tmp_path / name).write_bytes(data))[0]


def test_a_new_chip_is_erased_and_writing_erases_whole_sectors(tmp_path, image):
    for offset, data in ((0x1000, b"abc"), (0x3000, b"xyz"), (0x6000, bytes(0x2000)), (0x6000, b"new")):
        board_process.write_flash(tmp_path, CHIP, [(offset, image("a", data))])
    chip = (tmp_path / "flash.bin").read_bytes()
    written = {0x1000: b"abc", 0x3000: b"xyz", 0x6000: b"new"}
    sectors = [written.get(at, b"").ljust(0x1000, b"\xff") for at in range(0, CHIP, 0x1000)]
    sectors[7] = bytes(0x1000)
    assert chip == b"".join(sectors)


@pytest.mark.parametrize(("places", "message"), [
    ([(0x1001, b"a")], "image0 at 0x1001: an offset in flash must be a multiple of 0x1000"),
    ([(CHIP - 0x1000, bytes(0x1001))], f"image0: 4097 bytes at 0xff000 end beyond the flash chip of {CHIP} bytes"),
    ([(0x2000, b"b"), (0, bytes(0x2001))], "image0 at 0x2000 overlaps image1, which ends at 0x3000"),
])  # fmt: skip
def test_nothing_is_written_when_one_image_is_wrong(tmp_path, image, places, message):
    images = [(offset, image(f"image{i}", data)) for i, (offset, data) in enumerate(places)]
    with pytest.raises(BoardError, match=message):
        board_process.write_flash(tmp_path, CHIP, images)
    assert not (tmp_path / "flash.bin").exists()


def test_a_port_is_a_local_socket():
    assert board_process.parse_port("socket://127.0.0.1:5000") == 5000
    one, again, other = (board_process.default_port("a folder", name) for name in "aab")
    assert one == again != other and 20000 <= one < 32000
    for text in ("/dev/ttyUSB0", "socket://127.0.0.1:0", "socket://127.0.0.1:70000", "socket://example.org:80"):
        with pytest.raises(BoardError, match=r"socket://127.0.0.1:PORT with PORT from 1 to 65535"):
            board_process.parse_port(text)


def test_a_stale_or_damaged_record_is_no_board(tmp_path):
    """Another process with the recorded id is not killed."""
    with subprocess.Popen(["sleep", "60"]) as other:
        for text in (f'{{"pid": {other.pid}, "port": 1}}', '{"pid": 4194304, "port": 1}', '{"pid": -1}', "noise", "[]"):
            (tmp_path / "board.json").write_text(text, "utf-8")
            assert board_process.running_process(tmp_path) is None and not board_process.stop(tmp_path)
        assert other.poll() is None
        other.kill()


EMULATOR = """#!{python}
import re, socket, sys, time
server = socket.create_server(("127.0.0.1", int(re.search(r"port=([0-9]+),", " ".join(sys.argv))[1])))
print("waiting for connection", flush=True)
time.sleep(60)
"""


@pytest.fixture
def board(tmp_path):
    """The folder of a running board, and its port."""
    emulator = tmp_path / "emulator"
    emulator.write_text(EMULATOR.format(python=sys.executable), "utf-8")
    emulator.chmod(0o755)
    state = tmp_path / "a folder, with a comma" / "emu"
    board_process.write_flash(state, CHIP, [(0, emulator)])
    spec = board_process.Spec(str(emulator), ("{flash}",), CHIP, 0)
    port = board_process.start(state, spec, board_process.default_port(str(tmp_path), "emu"), fixed_port=False)
    yield state, port
    board_process.stop(state)


def test_a_board_ends_with_its_folder(board):
    """After `rm -rf .pio` nobody would find it again, and it would keep its port."""
    state, port = board
    assert board_process.running_process(state) is not None
    shutil.rmtree(state.parent)
    deadline = time.monotonic() + 20
    # An ending process loses its command line before its sockets, so both are awaited.
    while board_process.running_process(state) is not None or not board_process._is_free(port):
        assert time.monotonic() < deadline, (board_process.running_process(state), board_process._is_free(port))
        time.sleep(0.02)


def test_a_board_whose_record_is_lost_is_found_by_its_command_line(board):
    state, port = board
    pid = board_process.running_process(state)
    (state / "board.json").write_text("noise", "utf-8")
    assert board_process.stop(state)
    assert board_process.running_process(state) is None
    assert board_process._is_free(port)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
    assert not board_process.stop(state)


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(BoardError, match=r"cannot read .*absent.bin: No such file"):
        board_process.write_flash(tmp_path, CHIP, [(0, tmp_path / "absent.bin")])
    with pytest.raises(BoardError, match=r"qemu-system-nothing is not installed.*sudo apt install"):
        board_process.start(tmp_path, board_process.Spec("qemu-system-nothing", (), CHIP, 0), 20000, fixed_port=False)


def test_a_port_that_another_program_takes_at_the_last_moment_is_skipped(tmp_path, monkeypatch):
    tried = []

    def launch(command, state, spec, port):
        tried.append(port)
        if len(tried) < 3:
            raise board_process.PortInUseError("Address already in use")

    monkeypatch.setattr(board_process, "_launch", launch)
    monkeypatch.setattr(board_process, "_free_port", lambda port, fixed: port)
    monkeypatch.setattr(board_process.shutil, "which", lambda name: name)
    spec = board_process.Spec("qemu", (), 1 << 20, 0)
    assert board_process.start(tmp_path, spec, 25000, fixed_port=False) == 25002
    tried.clear()
    with pytest.raises(board_process.PortInUseError):
        board_process.start(tmp_path, spec, 25000, fixed_port=True)


def test_make_demo_calls_it_by_its_options() -> None:
    recipe = subprocess.run(["make", "-n", "demo"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    calls = re.findall(r"board_process\.py ([^>)]*)", recipe)
    read = [board_process._arguments().parse_args(call.split()) for call in calls]
    assert [(one.action, one.folder.name) for one in read] == [("port", "emu_rv32"), ("stop", "emu_rv32")]

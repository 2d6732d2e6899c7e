"""Places of a rig: the boards that fit the options, their locks, the list of boards."""

import contextlib
import dataclasses
import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

from tests.hil.conftest import CALM, DIGITS, Connect, Serve
from tigris_pio import Session
from tigris_pio.errors import ToolError, UsageError
from tigris_pio.hil.client import Board, new_text
from tigris_pio.hil.errors import BusyError
from tigris_pio.hil.project import Project
from tigris_pio.hil.rig import choose as chosen
from tigris_pio.hil.rig import rig as rig_module
from tigris_pio.hil.rig.board_list import read_list
from tigris_pio.hil.rig.choose import Selection, choose
from tigris_pio.hil.rig.place import Place
from tigris_pio.hil.rig.rig import Process, Rig

LIST = """
[[board]]
name = "desk"
port = "/dev/ttyUSB0"
baud = 921600
tags = ["psram", "camera"]
chip = "esp32s3"

[[board]]
name = "shelf"
port = "rfc2217://lab:4000"
tags = ["psram"]
env = "two"

[[board]]
name = "rack"
port = "labgrid:rack-3"
"""


def write(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


# ---- choice of boards --------------------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two environments; replaces PlatformIO, which takes half a second."""
    boards = {"one": "emu_rv32", "two": "esp32dev"}
    projects = {
        name: Project(tmp_path, name, tmp_path / ".pio", tmp_path / name, {}, board) for name, board in boards.items()
    }
    monkeypatch.setattr(chosen, "environments", lambda directory: (projects, ("one",)))
    monkeypatch.setattr(chosen, "open_project", lambda directory, name: projects[name or "one"])
    return tmp_path


def names(wanted: Selection) -> list[str]:
    return [place.name for place in choose(wanted)]


def test_the_most_specific_option_decides(project: Path) -> None:
    assert choose(Selection(project)) == ()
    (place,) = choose(Selection(project, project=project))
    assert (place.name, place.port, place.flash, place.switch_off) == ("one", None, True, False)
    assert names(Selection(project, project=project, envs=("one", "two"))) == ["one", "two"]
    (place,) = choose(Selection(project, emulated=("emu_rv32",)))
    assert (place.name, place.flash, place.switch_off) == ("one", True, True)
    write(project / "tigris-boards.toml", LIST)
    assert names(Selection(project, project=project)) == ["desk", "shelf", "rack"]
    assert [place.flash for place in choose(Selection(project, project=project))] == [False, True, False]
    assert names(Selection(project, emulated=("emu_rv32",))) == ["one"]
    (place,) = choose(Selection(project, port="/dev/ttyACM0", project=project))
    assert (place.port, place.flash, place.project is not None) == ("/dev/ttyACM0", False, True)
    assert choose(Selection(project, port="/dev/ttyACM0", project=project, flash=True))[0].flash


def test_tags_and_environments_choose_from_the_list(project: Path) -> None:
    wanted = Selection(project, boards=write(project / "lab.toml", LIST))
    desk, shelf, rack = choose(wanted)
    assert (desk.baud, desk.chip, desk.flash, rack.flash) == (921600, "esp32s3", False, False)
    assert (shelf.flash, shelf.project and shelf.project.environment) == (True, "two")
    assert not choose(dataclasses.replace(wanted, flash=False))[1].flash
    for tags, expected in (
        (("psram",), ["desk", "shelf"]), (("psram", "camera"), ["desk"]), (("rack",), ["rack"]), (("two",), ["shelf"])
    ):  # fmt: skip
        assert names(dataclasses.replace(wanted, tags=tags)) == expected
    assert choose(dataclasses.replace(wanted, tags=("desk",), baud=9600))[0].baud == 9600
    with pytest.raises(UsageError, match=r"lab.toml: no board has the tags lcd; the list has desk: camera, desk, .*"):
        choose(dataclasses.replace(wanted, tags=("lcd",)))


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"tags": ("lcd",)}, "no board has the tags lcd: there is no tigris-boards.toml"),
        ({"emulated": ("emu_cortex_m4",)}, "no environment for this board; it has one for emu_rv32, two for esp32dev"),
        ({"envs": ("one", "six")}, "six: .* has environments one, two"),
        ({"port": "/dev/x", "project": None, "flash": True}, "/dev/x: nothing to flash"),
    ],
)  # fmt: skip
def test_what_fits_nothing_is_refused(project: Path, wanted: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        choose(dataclasses.replace(Selection(project, project=project), **wanted))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds nothing; write a table"),
        ("[[board]]\nport = 'x'", "number 1: has no name"),
        ("[[board]]\nname = 'x'\nport = 'y'\ntag = ['z']", "board x: there is no key tag; did you mean tags?"),
        ("[[board]]\nname = 'x'\nport = 'y'\ntags = [1]", "board x: tags must be a list of texts"),
        ("[[board]]\nname = 'x'", "board x: has neither port nor env"),
        ("[[board]]\nname = 'x'\nport = 'y'\n" * 2, "two boards are called x"),
        ("[[board", "cannot be read"),
    ],
)
def test_mistakes_in_a_list_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_list(write(tmp_path / "l.toml", text))
    assert message in str(refused.value) and "l.toml" in str(refused.value)
    with pytest.raises(UsageError, match="no such file"):
        read_list(Path("none.toml"))


# ---- locks -------------------------------------------------------------------------------------------------------


@pytest.fixture
def rig(tmp_path: Path, digits_plan: Path) -> Iterator[Callable[..., Rig]]:
    """`rig(place, …)`: the rig of a run's process, closed after the test."""
    with contextlib.ExitStack() as stack:

        def make(*places: Place, number: int = 0, processes: int = 1, several: bool = False, wait: float = 0.2) -> Rig:
            made = Rig(places, Process(tmp_path, number, processes), wait, digits_plan, several, CALM)
            stack.callback(made.close)
            return made

        yield make


@pytest.fixture
def rigs(digits: Serve, rig: Callable[..., Rig]) -> Callable[..., list[Rig]]:
    """`rigs(boards, processes, several=False)`: the rigs of several processes for several boards."""

    def make(boards: int, processes: int, **options: Any) -> list[Rig]:
        places = [Place(f"b{at}", digits()) for at in range(boards)]
        return [rig(*places, number=number, processes=processes, **options) for number in range(processes)]

    return make


def test_each_process_takes_a_board_of_its_own(rigs: Callable[..., list[Rig]]) -> None:
    first, second = rigs(2, 2)
    assert first.board().name != second.board().name
    first.end_test()
    assert first.board().is_open
    third = Rig([board.place for board in first.boards], Process(Path(), 0, 1), 0.1, None, False)
    with pytest.raises(BusyError, match=rf"no board was free for 0.1 s .*process {os.getpid()} .*--tigris-wait"):
        third.board()
    first.close()
    assert third.board().name == first.boards[0].name or third.board().is_open
    third.close()


def test_a_shared_board_goes_to_who_waits(rigs: Callable[..., list[Rig]], monkeypatch: pytest.MonkeyPatch) -> None:
    """After a release a process sleeps longer than a waiting process does between two attempts."""
    first, second = rigs(1, 2, wait=0.0)

    def give_way(seconds: float) -> None:
        assert seconds > rig_module._POLL_SECONDS
        assert second.board().is_open

    first.board()
    with pytest.raises(BusyError):
        second.board()
    monkeypatch.setattr(rig_module, "time", SimpleNamespace(sleep=give_way, monotonic=time.monotonic))
    first.end_test()
    with pytest.raises(BusyError):
        first.board()


def test_all_boards_are_locked_together(rigs: Callable[..., list[Rig]]) -> None:
    """Two processes that need all boards then do not wait for each other."""
    first, second = rigs(2, 2, several=True)
    second.begin_test()
    second.board()
    first.begin_test(needs_all=True)
    with pytest.raises(BusyError):
        first.all_boards()
    second.end_test()
    first.end_test()
    for rig in (first, second):
        rig.begin_test(needs_all=True)
    first.board()
    with pytest.raises(BusyError):
        second.board()
    assert [board.is_open for board in first.all_boards()] == [True, True]


class Flashed(Project):
    """Records uploads; `during` is called in each."""

    during: ClassVar[Callable[[], object]]

    def upload(self, port: str | None = None) -> None:
        with (self.directory / "uploads").open("a") as file:
            file.write(f"{port}\n")
        type(self).during()


@pytest.fixture
def flashed(tmp_path: Path, digits: Serve, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A board that is flashed before it is used."""
    monkeypatch.setattr(Flashed, "during", list, raising=False)
    project = Flashed(tmp_path, "env", tmp_path, tmp_path, {})
    return Place("env", digits(), project=project, flash=True, upload_port="jtag")


def test_a_program_that_has_the_port_open_has_the_board(
    tmp_path: Path, rig: Callable[..., Rig], flashed: Place
) -> None:
    """The board is not flashed meanwhile."""
    desk = rig(flashed)
    with Board(str(flashed.port), timing=CALM), pytest.raises(BusyError, match="uses this board"):
        desk.board()
    assert not (tmp_path / "uploads").exists()
    assert desk.board().is_open and (tmp_path / "uploads").exists()


@pytest.mark.parametrize("is_broken", [False, True])
def test_a_board_is_flashed_once_in_a_run_and_busy_meanwhile(
    tmp_path: Path, rig: Callable[..., Rig], flashed: Place, is_broken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (rig(flashed, number=number, processes=2) for number in range(2))

    def during() -> None:
        with pytest.raises(BusyError, match="no board was free"):
            second.board()
        if is_broken:
            raise ToolError("it does not link")

    monkeypatch.setattr(Flashed, "during", during)
    monkeypatch.setattr(rig_module, "_BUILD_SECONDS", 0.0)  # a second build meanwhile is an error at once
    for one in (first, second):
        with pytest.raises(ToolError, match="it does not link") if is_broken else contextlib.nullcontext():
            assert one.board().info.name == "test board"
        one.close()
    assert (tmp_path / "uploads").read_text().splitlines() == ["jtag"]


# ---- boards ------------------------------------------------------------------------------------------------------


def test_a_board_runs_models_as_the_host_does(rigs: Callable[..., list[Rig]], digits_plan: Path) -> None:
    board = rigs(1, 1)[0].board()
    with np.load(DIGITS / "model" / "digits_test.npz") as data:
        images, labels = data["images"][:4].reshape(4, 1, 8, 8).astype(np.float32), data["labels"][:4]
    image = images[:1]
    with Session(digits_plan) as session:
        expected = session.run({"image": image})["probability"]
    for inputs in ({"image": image}, image):
        np.testing.assert_array_equal(board.run(inputs)["probability"], expected)
    memory = board.memory()
    assert 0 < memory.fast_peak <= memory.fast_given
    assert [op.calls for op in board.profile()] and board.models()[0].name == "digits"
    report = board.assert_matches(vectors={"image": images, "y": labels})
    assert report.accuracy is not None and report.equal_samples == 4
    assert board.assert_matches(vectors=[{"image": image}] * 2).requested == 2
    board.reset()
    with pytest.raises(UsageError, match="inputs pixels: the model takes image"):
        board.run({"pixels": image})


def test_each_test_has_its_own_log(real_board: Path, digits_plan: Path, line: Connect, rig: Callable[..., Rig]) -> None:
    bridge = line([real_board, "--model", digits_plan], greeting=b"booted\r\n")
    desk = rig(Place("desk", bridge.url))
    desk.begin_test()
    board = desk.board()
    assert board.log == "booted\n"
    desk.begin_test()
    assert board.log == ""
    threading.Timer(0.1, bridge.say, [b"sensor 17 ready\r\nsensor 18 ready\r\n"]).start()
    assert [board.expect(r"sensor (\d+) ready").group(1) for _ in range(2)] == ["17", "18"]
    with pytest.raises(AssertionError, match=r"board desk did not print 'sensor' within 0.1 s, but:"):
        board.expect("sensor", timeout=0.1)
    assert board.sections() == [("Captured log of board desk", "sensor 17 ready\nsensor 18 ready\n")]
    desk.close()
    assert board.log.startswith("sensor 17") and not board.is_open
    text = "".join(f"line {number}\n" for number in range(1000))
    assert new_text(text, text[4000:] + "new\n") == "new\n", "in a log that forgets, too"


# ---- labgrid -----------------------------------------------------------------------------------------------------


def client(*words: str, user: str = "tester", wait: float = 0.0) -> str:
    """labgrid-client for the place `desk`; repeats a failing call for `wait` seconds."""
    end, environment = time.monotonic() + wait, {**os.environ, "LG_USERNAME": user}
    while (done := subprocess.run(["labgrid-client", "-p", "desk", *words], env=environment, capture_output=True,
                                  text=True, check=False)).returncode and time.monotonic() < end:  # fmt: skip
        time.sleep(0.05)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.vendor("TIGRIS_LABGRID")
def test_a_labgrid_place_is_acquired_while_it_is_used(
    digits: Serve, rig: Callable[..., Rig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A coordinator has a place `desk` with the board's port."""
    tools, url = Path(os.environ["TIGRIS_LABGRID"], "bin").resolve(), digits(pty=False)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    monkeypatch.setenv("LG_COORDINATOR", address)
    monkeypatch.setenv("PATH", os.pathsep.join([os.environ["PATH"], str(tools)]))
    port = url.rsplit(":", 1)[1]
    exported = write(tmp_path / "exporter.yaml",
                     f"desk:\n  NetworkSerialPort: {{host: localhost, port: {port}, protocol: raw}}\n")  # fmt: skip
    with contextlib.ExitStack() as stack:
        for words in (("labgrid-coordinator", "-l", address), ("labgrid-exporter", "-n", "here", exported)):
            process = stack.enter_context(subprocess.Popen([tools / words[0], *words[1:]], cwd=tmp_path))
            stack.callback(process.terminate)
            client("resources", wait=20.0)
        client("create")
        client("add-match", "here/desk/*")
        time.sleep(2)
        lab = rig(Place("lab", "labgrid:desk"), wait=4.0)
        client("acquire", user="somebody")
        with pytest.raises(BusyError, match=r"no board was free for 4 s .*labgrid:desk: busy: acquired by .*/somebody"):
            lab.board()
        client("release", user="somebody")
        assert lab.board().assert_matches().equal
        assert "acquired: None" not in client("show")
        lab.close()
        assert "acquired: None" in client("show")

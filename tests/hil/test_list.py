"""`tigris hil list`: the ports, and the boards at them; and the choice of a board from a list of boards."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from serial.tools import list_ports

from tests.harness.command import tigris
from tests.hil.conftest import Connect, Serve
from tigris_pio.errors import ToolError
from tigris_pio.hil.client import Board
from tigris_pio.hil.rig import labgrid


@dataclass
class Port:
    """A port as pyserial describes it."""

    device: str
    description: str = "n/a"
    vid: int | None = None
    pid: int | None = None
    serial_number: str | None = None


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes to an empty folder, so that other tests' emulated boards are ignored."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def ports(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """`ports(Port(…), …)`: replaces the computer's serial ports."""

    def have(*found: Port) -> None:
        monkeypatch.setattr(list_ports, "comports", lambda: list(found))

    return have


def listed(*words: object) -> dict[str, Any]:
    document = json.loads(tigris("hil", "list", "--json", *words).stdout)
    return {port["url"]: port for port in document["ports"]}


def test_what_answers_on_each_port(digits: Serve, digits_plan: Path, line: Connect, ports: Callable[..., None]) -> None:
    good = digits()
    small = digits("--fast", "64", "--model", digits_plan)
    silent, noisy = line().url, line(greeting=b"login: \r\n").url
    urls = [good, small, silent, noisy, "/dev/ttyNONE"]
    ports(*map(Port, urls))
    found = listed("--patience", 1)
    assert [found[url]["state"] for url in urls] == ["answers", "answers", "silent", "other", "closed"]
    assert found[good]["board"]["name"] == "test board"
    assert [(model["name"], model["status"]) for model in found[good]["models"]] == [("digits", 0)]
    assert [model["status"] != 0 for model in found[small]["models"]] == [True, True]
    assert "login:" in found[noisy]["problem"]
    said = tigris("hil", "list", "--patience", 1).stdout
    assert f"{good}\n    test board, protocol" in said
    assert "    model 0: digits, plan of 19.3 KB\n" in said
    assert "model 1: digits, plan of 19.3 KB, cannot run: " in said
    assert f"{silent}\n    no answer within 1 s\n" in said
    ports(Port(good))
    with Board(good):
        assert listed()[good]["state"] == "busy"
        assert f"busy: process {os.getpid()} (" in tigris("hil", "list").stdout


def test_ports_are_described_and_nothing_is_sent(line: Connect, ports: Callable[..., None]) -> None:
    heard = bytearray()

    def listen(data: bytes) -> list[bytes]:
        heard.extend(data)
        return []

    usb = Port(line(["cat"], to_board=listen).url, "USB JTAG/serial debug unit", 0x303A, 0x1001, "F4:12:FA")
    ports(usb, Port("/dev/ttyS0"))
    assert tigris("hil", "list", "--no-probe").stdout.splitlines() == [
        "/dev/ttyS0",
        f"{usb.device}  USB JTAG/serial debug unit, 303a:1001, serial number F4:12:FA",
    ][:: 1 if usb.device > "/dev/ttyS0" else -1]
    port = listed("--no-probe")[usb.device]
    assert (port["kind"], port["vid"], port["pid"], "state" in port) == ("serial", 0x303A, 0x1001, False)
    assert not heard
    listed("--patience", 0.3)
    assert heard


@pytest.fixture
def emulator(tmp_path: Path) -> Iterator[int]:
    """A process with the command line of an emulated board's emulator, of a project in this folder; returns its port.
    """
    state = tmp_path / "a, project" / ".pio" / "emulated" / "emu_rv32"
    log = str(state / "uart.log").replace(",", ",,")
    chardev = f"socket,id=uart,host=127.0.0.1,port=1,server=on,wait=on,nodelay=on,logfile={log}"
    script = "print(flush=True); import time; time.sleep(60)"
    command = [sys.executable, "-c", script, "-chardev", chardev, "-serial", "chardev:uart"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline()
    yield 1
    process.kill()
    process.communicate()


def test_emulated_boards_of_this_folder(
    emulator: int, ports: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports()
    (place,) = listed().values()
    assert (place["kind"], place["url"], place["state"]) == ("emulated", f"socket://127.0.0.1:{emulator}", "closed")
    assert place["description"].endswith("a, project/.pio/emulated/emu_rv32")
    (tmp_path / "another").mkdir()
    monkeypatch.chdir(tmp_path / "another")
    assert tigris("hil", "list").stdout == "no serial port and no emulated board found\n"
    assert f"socket://127.0.0.1:{emulator}" in listed("--all", "--no-probe")


# `tigris hil --board NAME`, `--tag TAG`: boards of a list, also of a labgrid installation.


@pytest.fixture
def boards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """`boards(name=(port, tags), …)`: writes a list in the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(list_ports, "comports", list)

    def write(**given: tuple[str, list[str]]) -> Path:
        tables = [
            f'[[board]]\nname = "{name}"\nport = "{port}"\ntags = {json.dumps(tags)}\nbaud = 57600\n'
            for name, (port, tags) in given.items()
        ]
        path = tmp_path / "tigris-boards.toml"
        path.write_text("\n".join(tables), "utf-8")
        return path

    return write


def test_a_board_is_chosen_by_its_name_or_its_tags(
    digits: Serve, digits_plan: Path, boards: Callable[..., Path]
) -> None:
    one, two = digits(), digits()
    path = boards(desk=(one, ["fast"]), rack=(two, ["fast", "psram"]))
    for words, url in (
        (["--board", "rack"], two),
        (["--tag", "fast"], one),
        (["--tag", "fast", "--tag", "psram"], two),
        (["--tag", "rack"], two),
        (["--board", "desk", "--boards", path], one),
    ):
        assert json.loads(tigris("hil", "--info", "--json", *words).stdout)["port"] == url
    assert "2/2 outputs equal" in tigris("hil", digits_plan, "--board", "desk", "--samples", 2).stdout
    done = tigris("hil", "--info", "--board", "shelf", "--tag", "fast", status=2)
    listed = "desk: desk, fast; rack: fast, psram"
    assert f"no board has the name shelf and the tag fast; the list has {listed}" in done.stderr
    found = {port["name"]: port for port in json.loads(tigris("hil", "list", "--json").stdout)["ports"]}
    assert {name: port["state"] for name, port in found.items()} == {"desk": "answers", "rack": "answers"}
    assert (found["desk"]["kind"], found["desk"]["tags"], found["desk"]["baud"]) == ("listed", ["fast"], 57600)
    with Board(one):
        assert json.loads(tigris("hil", "--info", "--json", "--tag", "fast").stdout)["port"] == two
        assert f"{one}: busy: process" in tigris("hil", "--info", "--board", "desk", status=3).stderr


def test_a_labgrid_place_is_acquired_and_released(
    digits: Serve, digits_plan: Path, boards: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/none")
    with pytest.raises(ToolError, match="labgrid:desk needs labgrid: pip install labgrid"):
        labgrid.LabgridPlace("desk")
    url, said = digits(), []

    class Place:
        """Replaces LabgridPlace, without labgrid and its coordinator."""

        def __init__(self, name: str) -> None:
            said.append(name)

        def acquire(self) -> str:
            said.append("acquired")
            return url

        def release(self) -> None:
            said.append("released")

    monkeypatch.setattr(labgrid, "LabgridPlace", Place)
    boards(rack=("labgrid:rack-3", []))
    assert "1/1 outputs equal" in tigris("hil", digits_plan, "--board", "rack", "--samples", 1).stdout
    assert "digits" in tigris("hil", "--info", "--port", "labgrid:desk").stdout
    assert "no such file" in tigris("hil", "none.tgrs", "--board", "rack", status=2).stderr
    assert said == ["rack-3", "acquired", "released", "desk", "acquired", "released", "rack-3", "acquired", "released"]

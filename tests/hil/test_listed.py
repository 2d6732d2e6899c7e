"""`tigris hil --board NAME`, `--tag TAG`: boards of a list, also of a labgrid installation."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from serial.tools import list_ports

from tests.harness.command import tigris
from tests.hil.conftest import Serve
from tigris_pio.errors import ToolError
from tigris_pio.hil.client import Board
from tigris_pio.hil.rig import labgrid


@pytest.fixture
def boards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """`boards(name=(port, tags), …)`: a list in the folder at hand."""
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
    assert "no board has the name shelf and the tag fast; there are desk: desk, fast; rack: fast, psram" in done.stderr
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
        """As LabgridPlace; labgrid and its coordinator are elsewhere."""

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

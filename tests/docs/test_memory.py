"""docs/memory.md: its figures and its JSON are what the commands say."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT, blocks
from tests.harness.command import tigris
from tests.networks.folders import OWN
from tigris_pio.format.enums import Strategy

PAGE = ROOT / "docs" / "memory.md"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(OWN / "kws_int8.onnx", tmp_path / "kws.onnx")
    monkeypatch.chdir(tmp_path)


def analysed(budget: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(tigris("analyze", "kws.onnx", "-m", budget, "--json").stdout)
    return document


def is_part(shown: Any, whole: Any) -> bool:
    if not isinstance(shown, dict):
        return bool(shown == whole)
    return all(key in whole and is_part(value, whole[key]) for key, value in shown.items())


def test_the_document_is_the_commands() -> None:
    (shown,) = blocks(PAGE, "json")
    assert is_part(json.loads(shown.text), analysed("8K"))
    whole = analysed("8K")
    known = {*whole, *(key for part in whole.values() if isinstance(part, dict) for key in part)}
    table = PAGE.read_text("utf-8").partition("| key |")[2].partition("\n\n")[0]
    named = {name for line in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", line.split("|")[1])}
    assert len(named) >= 9 and named <= known
    strategies = {item.name.lower() for item in Strategy}
    assert strategies <= set(re.findall(r"\| `(\w+)` \|", PAGE.read_text("utf-8")))


@pytest.mark.thorough
def test_the_table_is_measured() -> None:
    table = PAGE.read_text("utf-8").partition("| budget |")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    assert len(rows) == 5
    for budget, *cells in rows:
        found = analysed(budget)
        memory, traffic, stages = found["memory"], found["traffic"], found["stages"]
        assert [int(cell.replace(",", "")) for cell in cells] == [
            memory["fast_peak"], memory["slow_peak"], len(stages), max(stage["bands"] for stage in stages),
            traffic["slow_read"] + traffic["slow_written"],
        ], budget  # fmt: skip

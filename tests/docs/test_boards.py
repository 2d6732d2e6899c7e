"""docs/boards.md: its board for which nothing is there runs on this machine, made as the page says."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, blocks
from tests.harness.command import tigris
from tests.networks.folders import OWN
from tests.runtime.build import PLAIN, core_objects

PAGE = ROOT / "docs" / "boards.md"
BOARDS = ROOT / "tigris_pio" / "platformio" / "emulated" / "boards"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """After the commands of the chapter."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(OWN / "kws_int8.onnx", "kws.onnx")
    Path("build").mkdir()
    Path("table.csv").write_text(blocks(PAGE, "csv")[0].text, "utf-8")
    for block in blocks(PAGE, "sh"):
        for line in block.text.splitlines():
            if line.startswith(("tigris compile", "tigris layout")):
                tigris(*line.split()[1:])
    return tmp_path / "build"


@pytest.mark.thorough
def test_another_board(folder: Path) -> None:
    """Linked in; and the port at a fixed address, with that address an array's."""
    port, program = (block.text for block in blocks(PAGE, "c"))
    (assembler,) = (block.text for block in blocks(PAGE, "asm"))
    (folder / "main.c").write_text(program, "utf-8")
    (folder / "model.s").write_text(f"{assembler}\n.section .note.GNU-stack\n", "utf-8")
    fixed = port.replace("0x08080000U /* of mapped flash */", "flash")
    fixed = fixed.replace("0x80000U", "((size_t)(flash_end - flash))")
    declared = "extern const unsigned char flash[], flash_end[];\n#define MODEL_ADDRESS"
    (folder / "port.c").write_text(fixed.replace("#define MODEL_ADDRESS", declared), "utf-8")
    (folder / "flash.s").write_text(assembler.replace("tigris_partition_start", "flash").replace(
        "tigris_partition_end", "flash_end") + "\n.section .note.GNU-stack\n", "utf-8")  # fmt: skip
    runtime = ROOT / "runtime"
    common = [*core_objects(*PLAIN), folder / "main.c", runtime / "port" / "model.c"]
    command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", f"-I{runtime / 'include'}", f"-I{folder}"]
    ports = {
        "linked": [runtime / "port" / "linked.c", folder / "model.s", '-DTIGRIS_PORT_LINKED="model"'],
        "fixed": [folder / "port.c", folder / "flash.s"],
    }
    for name, sources in ports.items():
        subprocess.run([*command, *common, *sources, "-lm", "-o", folder / name], cwd=folder, check=True)
        done = subprocess.run([folder / name], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (0, "ok\n"), name


def test_the_table_of_emulated_boards() -> None:
    table = PAGE.read_text("utf-8").partition("| board | processor |")[2].partition("\n\n")[0]
    rows = {cells[1].strip(" `"): cells for cells in (line.split("|") for line in table.splitlines()[2:])}
    boards = {path.stem: json.loads(path.read_text("utf-8")) for path in BOARDS.glob("*.json")}
    assert set(rows) == set(boards)
    for name, board in boards.items():
        ram, flash = rows[name][3].strip(), rows[name][4].strip()
        assert ram == f"{board['upload']['maximum_ram_size'] >> 10} KB", name
        assert flash.replace(" ", "") == board["upload"]["flash_size"], name
        script = (BOARDS.parent / "support" / "ld" / f"{name}.ld").read_text("utf-8")
        assert re.search(r"EXTERNAL .*LENGTH = (8M|2M)", script)[1] == ("8M" if name == "emu_rv32" else "2M")  # type: ignore[index]

"""docs/first-project.md, from its first command to its last; the README's three steps are among them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.docs.pages import ROOT, blocks
from tests.docs.run import run_block
from tests.harness.command import tigris
from tests.networks.folders import OWN
from tests.platformio.project import Project
from tigris_pio import Session, compile_model

PAGE = ROOT / "docs" / "first-project.md"


def class_of_silence() -> int:
    """The host's largest output for the input that the page's program fills in."""
    with Session(compile_model(OWN / "kws_int8.tflite")) as session:
        (given,), (taken,) = session.inputs, session.outputs
        silence = np.full(given.shape, given.zero_point, np.int8)
        return int(np.argmax(session.run_raw({given.name: silence})[taken.name]))


def test_every_command_works_in_its_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, core_dir: Path
) -> None:
    folder = tmp_path / "mein wort"
    folder.mkdir()
    monkeypatch.chdir(folder)
    shutil.copy(OWN / "kws_int8.tflite", "kws.tflite")
    project = Project(folder / "kws", core_dir)
    (program,) = (block.text for block in blocks(PAGE, "c"))
    said = []

    def elsewhere(words: list[str]) -> bool:
        if words[0] == "cd":
            monkeypatch.chdir(words[1])
        elif words[0] == "pio":
            said.append(project.run(*words[2:]))
        elif words == ["tigris", "hil"]:
            said.append(tigris("hil").stdout)
        else:
            return words[0] in ("git", "python", "sudo")
        return True

    try:
        for block in blocks(PAGE, "sh"):
            if "uploadmodel" in block.text:
                Path("src", "main.c").write_text(program, "utf-8")
                project.run("-t", "upload")
                said.append(project.serial("emu_rv32", b"class %d\r\n" % class_of_silence()).decode())
            run_block(block, {}, elsewhere)
            if block.text.endswith("tigris hil\n"):
                command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
                done = subprocess.run(command, text=True, capture_output=True, check=False)
                assert "1 passed" in done.stdout, done.stdout
    finally:
        project.switch_off()
    upload, verdict, heard, again, _ = said
    (shown,) = (block.text.strip() for block in blocks(PAGE, "output"))
    assert "Model: " in upload and verdict.splitlines()[-1] == shown
    assert "kws: ok" in heard and "The board is on" in again

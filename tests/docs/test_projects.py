"""docs/first-project.md and docs/testing.md, each from its first command to its last, on an emulated board.

The README's three steps are among the commands of the first.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.docs.pages import ROOT, blocks
from tests.harness.command import tigris
from tests.networks.folders import OWN
from tests.platformio.project import Project
from tigris_pio import Session, compile_model

FIRST, TESTING = ROOT / "docs" / "first-project.md", ROOT / "docs" / "testing.md"
BOARD = "emu_rv32"


@pytest.fixture
def project(tmp_path: Path, core_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """Where a page's project will be; the library lies beside it."""
    folder = tmp_path / "mein wort"
    folder.mkdir()
    monkeypatch.chdir(folder)
    shutil.copy(OWN / "kws_int8.tflite", "kws.tflite")
    (folder / "tigris-pio").symlink_to(ROOT)
    project = Project(folder / "kws", core_dir)
    yield project
    project.switch_off()


def run(project: Project, line: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A command of a page; what it prints."""
    words = shlex.split(line, comments=True)
    program = words[0] if words else ""
    if program == "tigris":
        return tigris(*words[1:]).stdout
    if program == "cd":
        monkeypatch.chdir(words[1])
    if program == "pio":
        done = project.pio(*words[1:])
        assert done.status == 0, done.text
        return done.text
    if program == "pytest":
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rP", *words[1:]]
        tested = subprocess.run(command, cwd=project.folder, capture_output=True, text=True, check=False)
        assert tested.returncode == 0, tested.stdout
        return tested.stdout
    assert program in ("", "cd", "git", "python", "sudo"), line
    return ""


def class_of_silence() -> int:
    """The host's largest output for the input that the page's program fills in."""
    with Session(compile_model(OWN / "kws_int8.tflite")) as session:
        (given,), (taken,) = session.inputs, session.outputs
        silence = np.full(given.shape, given.zero_point, np.int8)
        return int(np.argmax(session.run_raw({given.name: silence})[taken.name]))


@pytest.mark.thorough
def test_every_command_of_the_first_project_works_in_its_order(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    (program,) = (block.text for block in blocks(FIRST, "c"))
    (verdict,) = (block.text.strip() for block in blocks(FIRST, "output"))
    said: dict[str, str] = {}
    for block in blocks(FIRST, "sh"):
        if "uploadmodel" in block.text:
            Path("src", "main.c").write_text(program, "utf-8")
            project.run("-t", "upload")
            assert b"kws: ok" in project.serial(BOARD, b"class %d\r\n" % class_of_silence())
        for line in block.text.replace("\\\n", " ").splitlines():
            said[line.partition("#")[0].strip()] = run(project, line, monkeypatch)
    assert "Model: " in said["pio run -t upload"] and said["tigris hil"].splitlines()[-1] == verdict
    assert said["pio run -t uploadmodel"].count("The board is on") == 1


def text_of(language: str, word: str) -> str:
    """The block of docs/testing.md in this language that has the word."""
    return next(block.text for block in blocks(TESTING, language) if word in block.text)


@pytest.mark.thorough
@pytest.mark.timeout(900)  # builds twice and starts ten processes: on a busy machine that takes minutes
def test_every_block_of_testing_works_in_its_order(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    start, emulated, listed, vectors = (block.text.splitlines() for block in blocks(TESTING, "sh"))
    said = [run(project, line, monkeypatch) for line in start]
    assert "= 1 passed" in said[2] and text_of("output", "random").split("\n")[0] in " ".join(said[3].split())

    tests = project.folder / "tests" / "test_page.py"
    tests.write_text(text_of("python", "def test_noise") + text_of("python", "def test_all_agree"), "utf-8")
    (heard,) = (run(project, line, monkeypatch) for line in emulated)
    assert "5 passed" in heard and heard.count("The board is on") == 1
    assert not project.is_on(BOARD)

    (project.folder / "tigris-boards.toml").write_text(text_of("toml", "[[board]]"), "utf-8")
    tests.unlink()
    (heard,) = (run(project, line, monkeypatch) for line in listed)
    assert "= 1 passed" in heard and project.is_on(BOARD)

    runner = project.folder / "test" / "test_custom_runner.py"
    library = os.path.relpath(ROOT, project.folder.resolve())
    assert [line for line in runner.read_text("utf-8").splitlines() if line] == [
        line.replace("../tigris-pio", library) for line in text_of("python", "runpy").splitlines() if line
    ]
    runner.write_text(text_of("python", "runpy"), "utf-8")
    exec(text_of("python", "np.savez"), {})
    (heard,) = (run(project, line, monkeypatch) for line in vectors)
    for line in text_of("output", "known_outputs.npz").splitlines():
        assert line in " ".join(heard.split())
    cases = json.loads((project.folder / "report.json").read_text("utf-8"))["test_suites"][0]["test_cases"]
    assert [case["status"] for case in cases] == ["PASSED", "PASSED"] and (project.folder / "report.xml").is_file()


def test_every_option_and_every_method_of_a_board_is_on_the_page() -> None:
    from tigris_pio.hil.pytest_plugin import DEFAULT_WAIT, OPTIONS
    from tigris_pio.hil.rig.board import RigBoard

    page = TESTING.read_text("utf-8")
    assert all(f"`--tigris-{name}=" in page for name, *_ in OPTIONS)
    assert f"waited for, {DEFAULT_WAIT:g} |" in page
    own = {"begin_test", "close", "is_open", "sections", "plan", "plan_path", "check_stored"}
    for name in vars(RigBoard):
        assert name.startswith("_") or name in own or f"`{name}" in page, name

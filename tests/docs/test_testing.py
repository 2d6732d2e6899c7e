"""docs/testing.md, from its first command to its last, on an emulated board."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, Block, blocks
from tests.harness.command import tigris
from tests.networks.folders import OWN
from tests.platformio.project import Project

PAGE = ROOT / "docs" / "testing.md"


def text_of(language: str, word: str) -> str:
    """The page's block of this language that has the word."""
    return next(block.text for block in blocks(PAGE, language) if word in block.text)


@pytest.fixture
def project(tmp_path: Path, core_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """Where the page's project will be; the library lies beside it."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(OWN / "kws_int8.tflite", "kws.tflite")
    (tmp_path / "tigris-pio").symlink_to(ROOT)
    project = Project(tmp_path / "kws", core_dir)
    yield project
    project.switch_off()


def commands(block: Block) -> list[list[str]]:
    return [shlex.split(line) for line in block.text.splitlines()]


def run(project: Project, words: list[str], monkeypatch: pytest.MonkeyPatch) -> str:
    """A command of the page; what it prints."""
    if words[0] == "tigris":
        return tigris(*words[1:]).stdout
    if words[0] == "cd":
        monkeypatch.chdir(words[1])
        return ""
    if words[0] == "pio":
        done = project.pio(*words[1:])
        assert done.status == 0, done.text
        return done.text
    assert words[0] == "pytest"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rP", *words[1:]]
    tested = subprocess.run(command, cwd=project.folder, capture_output=True, text=True, check=False)
    assert tested.returncode == 0, tested.stdout
    return tested.stdout


@pytest.mark.timeout(900)  # builds twice and starts ten processes: on a busy machine that takes minutes
def test_every_block_works_in_its_order(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    start, emulated, listed, vectors = (commands(block) for block in blocks(PAGE, "sh"))
    said = [run(project, words, monkeypatch) for words in start]
    assert "= 1 passed" in said[2] and text_of("output", "random").split("\n")[0] in " ".join(said[3].split())

    tests = project.folder / "tests" / "test_page.py"
    tests.write_text(text_of("python", "def test_noise") + text_of("python", "def test_all_agree"), "utf-8")
    (heard,) = (run(project, words, monkeypatch) for words in emulated)
    assert "5 passed" in heard and heard.count("The board is on") == 1
    assert not project.is_on("emu_rv32")

    (project.folder / "tigris-boards.toml").write_text(text_of("toml", "[[board]]"), "utf-8")
    tests.unlink()
    (heard,) = (run(project, words, monkeypatch) for words in listed)
    assert "= 1 passed" in heard
    assert project.is_on("emu_rv32")

    runner = project.folder / "test" / "test_custom_runner.py"
    assert [line for line in runner.read_text("utf-8").splitlines() if line] == [
        line.replace("../tigris-pio", str(ROOT)) for line in text_of("python", "runpy").splitlines() if line
    ]
    runner.write_text(text_of("python", "runpy"), "utf-8")
    exec(text_of("python", "np.savez"), {})
    (heard,) = (run(project, words, monkeypatch) for words in vectors)
    for line in text_of("output", "known_outputs.npz").splitlines():
        assert line in " ".join(heard.split())
    cases = json.loads((project.folder / "report.json").read_text("utf-8"))["test_suites"][0]["test_cases"]
    assert [case["status"] for case in cases] == ["PASSED", "PASSED"] and (project.folder / "report.xml").is_file()


def test_every_option_is_on_the_page() -> None:
    from tigris_pio.hil.pytest_plugin import DEFAULT_WAIT, OPTIONS

    page = PAGE.read_text("utf-8")
    assert all(f"`--tigris-{name}=" in page for name, *_ in OPTIONS)
    assert f"waited for, {DEFAULT_WAIT:g} |" in page


def test_every_method_of_a_board_is_on_the_page() -> None:
    from tigris_pio.hil.rig.board import RigBoard

    page = PAGE.read_text("utf-8")
    own = {"begin_test", "close", "is_open", "sections", "plan", "plan_path", "check_stored"}
    for name in vars(RigBoard):
        assert name.startswith("_") or name in own or f"`{name}" in page, name

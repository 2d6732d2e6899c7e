"""The pytest plugin in pytest's own process: several processes, several boards, the report of a failed test."""

import importlib.metadata
import itertools
import subprocess
from pathlib import Path

from tests.hil.conftest import Serve
from tests.hil.test_commands import run as python
from tigris_pio.format.reader import read_plan

#: An installed plugin is loaded automatically, and only once.
_INSTALLED = any(entry.name == "tigris" for entry in importlib.metadata.entry_points(group="pytest11"))
LOAD = () if _INSTALLED else ("-p", "tigris_pio.hil.pytest_plugin")
PARALLEL = """
import pathlib, time, pytest

@pytest.mark.parametrize("number", range(4))
def test_outputs(tigris_board, worker_id, number):
    assert tigris_board.info.name == "test board"
    start = time.time()
    tigris_board.assert_matches()
    with open(pathlib.Path(__file__).parent / f"uses-{worker_id}", "a") as file:
        file.write(f"{start} {time.time()}\\n")
"""
SEVERAL = """
import numpy as np

def test_both(tigris_board, tigris_boards):
    assert len(tigris_boards) == 2 and tigris_board in tigris_boards
    reports = [board.assert_matches() for board in tigris_boards]
    assert [report.port for report in reports] == [board.place.port for board in tigris_boards]

def test_one(tigris_board):
    assert tigris_board.info.name == "test board"

def test_one_more(tigris_check):
    assert tigris_check([{"image": np.full((1, 1, 8, 8), 0.5, np.float32)}] * 2).equal
"""
FAILING = """
def test_message(tigris_board):
    tigris_board.assert_matches()

def test_section(tigris_check):
    assert tigris_check().equal

def test_broken_line(tigris_board):
    tigris_board.client._line.close()
    tigris_board.models()

def test_right(tigris_board):
    assert tigris_board.models()[0].name == "digits"
"""


def boards(folder: Path, urls: list[str]) -> None:
    text = "".join(f'[[board]]\nname = "b{at}"\nport = "{url}"\n' for at, url in enumerate(urls))
    (folder / "tigris-boards.toml").write_text(text, "utf-8")


def run(folder: Path, text: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs pytest in `folder` on the tests `text`. Options are single words: before it loads plugins, pytest takes the
    second word of an option for a path to tests, and searches its settings there."""
    (folder / "pytest.ini").write_text("[pytest]\n", "utf-8")
    (folder / "test_own.py").write_text(text, "utf-8")
    return python("-m", "pytest", *LOAD, "-rs", "-p", "no:cacheprovider", *words, folder=folder)


def test_no_board_is_used_by_two_processes_at_once(digits: Serve, digits_plan: Path, tmp_path: Path) -> None:
    boards(tmp_path, [digits()])
    done = run(tmp_path, PARALLEL, f"--tigris-plan={digits_plan}", "-n2")
    assert "4 passed" in done.stdout, done.stdout
    files = list(tmp_path.glob("uses-*"))
    uses = [text.split() for file in files for text in file.read_text("utf-8").splitlines()]
    assert (len(files), len(uses)) == (2, 4)
    spans = sorted((float(start), float(end)) for start, end in uses)
    assert all(one[1] <= after[0] for one, after in itertools.pairwise(spans))


def test_a_test_may_need_several_boards(digits: Serve, digits_plan: Path, tmp_path: Path) -> None:
    boards(tmp_path, [digits() for _ in range(2)])
    done = run(tmp_path, SEVERAL, f"--tigris-plan={digits_plan}")
    assert "3 passed" in done.stdout, done.stdout
    (tmp_path / "tigris-boards.toml").unlink()
    done = run(tmp_path, SEVERAL)
    assert "3 skipped" in done.stdout and "needs a board: --tigris-port=URL" in done.stdout


def test_a_failed_test_shows_the_boards_log_and_the_next_reconnects(
    digits: Serve, digits_plan: Path, tmp_path: Path
) -> None:
    op = read_plan(digits_plan.read_bytes()).ops[0]
    fault = f"kind={int(op.kind)},dtype={int(op.dtype)},row=0,channel=0,flip=64"
    url = digits("--fault", fault, greeting=b"sensor is cold\r\n")
    done = run(tmp_path, FAILING, f"--tigris-plan={digits_plan}", f"--tigris-port={url}")
    assert "1 passed" in done.stdout and "3 failed" in done.stdout, done.stdout
    message, section = done.stdout.split("test_section", 1)
    assert "/8 outputs equal to the host\n" in message and "first wrong operator: 0 " in message, message
    log, _, rest = message.partition(f"log of board {url}")[2].partition("\n")
    assert log and rest.startswith("sensor is cold\n")
    assert f"first wrong operator on board {url}" in section and "first wrong operator: 0 " in section


def test_errors_are_shown_without_a_traceback(tmp_path: Path) -> None:
    done = run(tmp_path, FAILING, "--tigris-port=/dev/ttyNONE")
    assert "4 errors" in done.stdout and "/dev/ttyNONE: cannot be opened" in done.stdout
    assert "Traceback" not in done.stdout and "rig.py" not in done.stdout
    done = run(tmp_path, FAILING, "--tigris-port", "/dev/null")
    assert "write --tigris-port=/dev/null in one word" in done.stderr

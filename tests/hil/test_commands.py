"""`tigris hil`, the digits demo and the pytest plugin, as users run them."""

from __future__ import annotations

import importlib.metadata
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.harness.command import tigris
from tests.hil.bridge import Bridge
from tests.hil.conftest import DIGITS
from tests.hil.test_check import corrupting
from tigris_pio.hil.client import Board
from tigris_pio.hil.frames import FrameReader, encode
from tigris_pio.hil.protocol import Request

Connect = Callable[..., Bridge]
ROOT = DIGITS.parents[1]


def run(*words: str | Path, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
    environment.pop("FORCE_COLOR", None)
    command = [sys.executable, *(str(word) for word in words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment)


def hil(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return tigris("hil", *words, status=None)


@pytest.fixture
def port(real_board: Path, digits_plan: Path, line: Connect) -> str:
    return line([real_board, "--fifo", "128", "--model", digits_plan]).url


def test_people_get_tables_and_a_verdict(port: str, digits_plan: Path) -> None:
    data = DIGITS / "model" / "digits_test.npz"
    done = run("-m", "tigris_pio", "hil", digits_plan, "--port", port, "--data", data, "--samples", "20")
    assert done.returncode == 0, done.stderr
    assert f"test board at {port}" in done.stdout
    assert "input and output included" in done.stdout
    assert "depthwise_conv_2d" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("20/20 outputs equal to the host, accuracy ")
    assert "\x1b" not in done.stdout + done.stderr
    assert done.stderr == ""


def test_programs_get_one_document(port: str, digits_plan: Path) -> None:
    done = hil(digits_plan, "--port", port, "--samples", "3", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["equal"], report["samples"], report["equal_samples"]) == (True, 3, 3)
    assert report["compared_bytes"] == 30
    assert report["board"]["name"] == "test board"
    assert report["memory"]["fast_peak"] <= report["memory"]["fast_given"]
    assert sum(op["elapsed"] for op in report["ops"]) <= report["elapsed"]["mean"]
    assert len(report["predictions"]) == 3


def test_mismatch_ends_with_status_1(real_board: Path, digits_plan: Path, line: Connect) -> None:
    command, fault = [real_board, "--model", digits_plan], corrupting(2, 0, 0x10)
    done = hil(digits_plan, "--port", line(command, to_host=fault).url)
    assert done.returncode == 1
    assert "sample 2: output probability: 1 of 10 elements differ, first at index 0: board" in done.stdout
    assert done.stdout.splitlines()[-1] == "7/8 outputs equal to the host"
    done = hil(digits_plan, "--port", line(command, to_host=corrupting(0, 0, 1)).url, "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["mismatches"][0]["sample"] == 0


def test_info_needs_no_plan(port: str) -> None:
    done = hil("--port", port, "--info")
    assert done.returncode == 0, done.stderr
    assert "digits: plan of" in done.stdout


def test_info_for_programs(port: str) -> None:
    done = hil("--port", port, "--info", "--json")
    assert json.loads(done.stdout)["models"][0]["name"] == "digits"


def test_failures_are_documents_too(digits_plan: Path) -> None:
    done = hil(digits_plan, "--port", "/dev/ttyNONE", "--json")
    assert done.returncode == 3
    document = json.loads(done.stdout)
    assert "/dev/ttyNONE: cannot be opened" in document["error"]
    assert document["kind"] == "PortError"


def test_wrong_usage_ends_with_status_2(digits_plan: Path, tmp_path: Path) -> None:
    for words, message in (
        ([digits_plan], "no port: give --port URL or --project DIR, or call it in a project's folder"),
        (["--port", "loop://"], "no plan: name a .tgrs file"),
        ([tmp_path / "none.tgrs", "--port", "loop://"], "none.tgrs: no such file"),
        ([digits_plan, "--port", "loop://", "--upload"], "--upload need --project DIR"),
        ([digits_plan, "--port", "loop://", "--labels", "y.npy"], "--labels need the inputs"),
        (["--project", tmp_path], "no platformio.ini there"),
    ):
        done = hil(*words)
        assert done.returncode == 2, done.stderr
        assert message in done.stderr
        assert "Traceback" not in done.stderr


def test_project_names_port_and_plan(port: str, digits_plan: Path, tmp_path: Path) -> None:
    (tmp_path / "platformio.ini").write_text(
        f"[platformio]\nbuild_dir = made here\n[base]\nwhere = {port}\n"
        "[env:one]\ntest_port = ${base.where}\n[env:two]\nextends = env:one\n[env:none]\n"
    )
    plans = tmp_path / "made here" / "two" / "tigris"
    plans.mkdir(parents=True)
    (plans / "digits.tgrs").write_bytes(digits_plan.read_bytes())
    done = hil("--project", tmp_path, "--env", "two", "--samples", "2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "2/2 outputs equal to the host"
    for words, message in (
        ([], "choose an environment with --env: one, two, none"),
        (["--env", "three"], "--env three"),
        (["--env", "one"], "no plan was built yet; run pio run -e one"),
        (["--env", "none"], "names no port, and no emulated board of it was started"),
        (["--env", "two", "--model", "kws"], "plans of digits; there is no kws"),
    ):
        done = hil("--project", tmp_path, *words)
        assert (done.returncode, message in done.stderr) == (2, True), done.stderr


def test_demo_draws_and_counts(port: str, digits_plan: Path) -> None:
    done = run(DIGITS / "demo.py", "--port", port, "--plan", digits_plan)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    with np.load(DIGITS / "model" / "digits_test.npz") as data:
        labels = data["labels"][:64].tolist()
    captions = [line for line in lines if line[1:4] in {" = ", " ≠ "}]
    assert [int(text[4]) for line in captions for text in (line[at : at + 8] for at in range(0, 80, 10))] == labels
    wrong = sum(line.count("≠") for line in captions)
    assert lines[-1] == f"demo: 64/64 outputs equal to the host, accuracy {100 * (64 - wrong) / 64:.1f} %"
    assert sum(set(line) & set("▀▄█") != set() for line in lines) >= 8 * 4


def test_demo_fails_on_a_mismatch(real_board: Path, digits_plan: Path, line: Connect) -> None:
    url = line([real_board, "--model", digits_plan], to_host=corrupting(5, 3, 1)).url
    done = run(DIGITS / "demo.py", "--port", url, "--plan", digits_plan, "--count", "9")
    assert done.returncode == 1
    assert "unequal" in done.stdout
    assert "sample 5: output probability: 1 of 10 elements differ, first at index 3" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("demo: 8/9 outputs equal to the host, accuracy ")


def test_demo_without_a_board(digits_plan: Path) -> None:
    done = run(DIGITS / "demo.py", "--port", "/dev/ttyNONE", "--plan", digits_plan)
    assert done.returncode == 1
    assert done.stderr.startswith("error: /dev/ttyNONE: cannot be opened")


PLUGIN_TEST = """
import numpy as np

def test_board(tigris_board):
    assert tigris_board.info.name == "test board"

def test_outputs(tigris_check):
    report = tigris_check([{"image": np.full((1, 1, 8, 8), 0.5, np.float32)}] * 2)
    assert report.equal
"""


#: An installed plugin is loaded by itself, and only once.
_INSTALLED = any(entry.name == "tigris" for entry in importlib.metadata.entry_points(group="pytest11"))
LOAD = () if _INSTALLED else ("-p", "tigris_pio.hil.pytest_plugin")


def plugin(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    (folder / "test_on_board.py").write_text(PLUGIN_TEST)
    return run("-m", "pytest", *LOAD, "-rs", *words, folder=folder)


def test_pytest_plugin_on_a_board(port: str, digits_plan: Path, tmp_path: Path) -> None:
    done = plugin(tmp_path, "--tigris-port", port, "--tigris-plan", digits_plan)
    assert "2 passed" in done.stdout, done.stdout + done.stderr


def test_pytest_plugin_without_a_board(tmp_path: Path) -> None:
    done = plugin(tmp_path)
    assert "2 skipped" in done.stdout
    assert "needs a board: --tigris-port=URL" in done.stdout


# How a check ends.


def test_the_results_so_far_survive_a_line_that_breaks(real_board: Path, digits_plan: Path, line: Connect) -> None:
    for words in ((), ("--json",)):
        url = line([real_board, "--model", digits_plan], to_host=falls_silent(3)).url
        done = hil(digits_plan, "--port", url, "--silence", "1", *words)
        assert done.returncode == 3, done.stdout + done.stderr
        assert "began RUN and then gave no sign of life for 1 s" in done.stderr
        if words:
            report = json.loads(done.stdout)
            assert (report["kind"], report["partial"], report["samples"]) == ("HungBoardError", True, 3)
            assert report["equal_samples"] == 3
        else:
            assert done.stdout.splitlines()[-1] == "3/3 outputs equal to the host, 5 of 8 runs not made"


def falls_silent(runs: int) -> Callable[[bytes], list[bytes]]:
    """Lets the answers of so many runs through, and of the next one its BUSY."""
    seen, reader = [0], FrameReader()

    def pass_on(data: bytes) -> list[bytes]:
        frames = reader.feed(data)
        passed = []
        for frame in frames:
            seen[0] += frame.type == Request.RUN | 0x80
            passed += [encode(frame)] if seen[0] <= runs else []
        return passed

    return pass_on


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_the_results_so_far_survive_ctrl_c(
    real_board: Path, digits_plan: Path, line: Connect, words: tuple[str, ...]
) -> None:
    count = falls_silent(3)
    process: subprocess.Popen[str] | None = None
    sent: list[None] = []

    def interrupt(data: bytes) -> list[bytes]:
        if not count(data) and process is not None and not sent:
            sent.append(process.send_signal(signal.SIGINT))
        return [data]

    url = line([real_board, "--model", digits_plan], to_host=interrupt).url
    command = [sys.executable, "-m", "tigris_pio", "hil", digits_plan, "--port", url, "--samples", "500", *words]
    process = subprocess.Popen([str(word) for word in command], cwd=ROOT, stdout=-1, stderr=-1, text=True)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, "interrupted" in err) == (130, True), err
    if words:
        report = json.loads(out)
        assert (report["kind"], report["partial"], report["wanted_samples"]) == ("Interrupted", True, 500)
        assert report["equal_samples"] == report["samples"]
    else:
        assert "of 500 runs not made" in out.splitlines()[-1]


def test_the_outcome_has_a_name(port: str, real_board: Path, digits_plan: Path, line: Connect) -> None:
    assert json.loads(hil(digits_plan, "--port", port, "--samples", "1", "--json").stdout)["kind"] == "Equal"
    wrong = line([real_board, "--model", digits_plan], to_host=corrupting(0, 0, 1)).url
    assert json.loads(hil(digits_plan, "--port", wrong, "--samples", "1", "--json").stdout)["kind"] == "Mismatch"


def test_a_second_program_hears_that_the_board_is_busy(port: str, digits_plan: Path) -> None:
    with Board(port):
        done = hil(digits_plan, "--port", port, "--json")
        assert done.returncode == 3
        report = json.loads(done.stdout)
        assert report["kind"] == "BusyError"
        assert f"busy: process {os.getpid()} (" in report["error"]
    assert hil("--port", port, "--info").returncode == 0

"""`tigris hil` and the digits demo from the command line."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.harness.command import tigris, tigris_process
from tests.hil.bridge import Fault, changing
from tests.hil.conftest import DIGITS, Serve
from tests.hil.locating import Wrong
from tests.hil.test_check import corrupting
from tests.report.parsed import Element, cells, check_page
from tigris_pio.format.enums import DType, OpKind
from tigris_pio.hil.client import Board
from tigris_pio.hil.frames import Frame
from tigris_pio.hil.protocol import Request

ROOT = DIGITS.parents[1]


def run(*words: str | Path, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
    environment.pop("FORCE_COLOR", None)
    command = [sys.executable, *(str(word) for word in words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment)


def hil(*words: object, status: int = 0) -> tuple[dict[str, Any], str]:
    """The JSON document and stderr."""
    done = tigris("hil", *words, "--json", status=status)
    return json.loads(done.stdout), done.stderr


@pytest.fixture
def port(digits: Serve) -> str:
    return digits()


def test_people_get_tables_and_a_verdict(port: str, digits_plan: Path) -> None:
    data = DIGITS / "model" / "digits_test.npz"
    done = tigris_process("hil", digits_plan, "--port", port, "--data", data, "--samples", "20")
    assert f"test board at {port}" in done.stdout
    assert "input and output included" in done.stdout
    assert "depthwise_conv_2d" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("20/20 outputs equal to the host, accuracy ")
    assert "\x1b" not in done.stdout + done.stderr
    assert done.stderr == f"note: {data}: array images is used for input image\n"
    assert "digits: plan of" in tigris("hil", "--port", port, "--info").stdout


def test_programs_get_one_document(port: str, digits_plan: Path) -> None:
    report, _ = hil(digits_plan, "--port", port, "--samples", "3")
    assert (report["equal"], report["samples"], report["equal_samples"]) == (True, 3, 3)
    assert (report["kind"], report["compared_bytes"], report["board"]["name"]) == ("Equal", 30, "test board")
    assert report["memory"]["fast_peak"] <= report["memory"]["fast_given"]
    assert sum(op["elapsed"] for op in report["ops"]) <= report["elapsed"]["mean"]
    assert len(report["predictions"]) == 3


def test_mismatch_ends_with_status_1(digits: Serve, digits_plan: Path) -> None:
    done = tigris("hil", digits_plan, "--port", digits(to_host=corrupting(2, 0, 0x10)), status=1)
    assert "sample 2: output probability: 1 of 10 elements differ, first at index 0: board" in done.stdout
    assert done.stdout.splitlines()[-1] == "7/8 outputs equal to the host"
    report, _ = hil(digits_plan, "--port", digits(to_host=corrupting(0, 0, 1)), "--samples", "1", status=1)
    entry = report["mismatches"][0]
    assert (report["kind"], entry["sample"], entry["first"], entry["differing"]) == ("Mismatch", 0, 0, 1)


def test_wrong_usage_ends_with_status_2(digits_plan: Path, tmp_path: Path) -> None:
    for words, message in (
        ([digits_plan], "no port: give --port URL or --project DIR, or run the command in a project's folder"),
        (["--port", "loop://"], "no plan: give a .tgrs file"),
        ([tmp_path / "none.tgrs", "--port", "loop://"], "none.tgrs: no such file"),
        ([digits_plan, "--port", "loop://", "--upload"], "--upload need a project"),
        ([digits_plan, "--port", "loop://", "--labels", "y.npy"], "--labels: give the samples"),
        (["--project", tmp_path], "has no platformio.ini"),
    ):
        assert message in tigris("hil", *words, status=2).stderr


def test_project_names_port_and_plan(port: str, digits_plan: Path, tmp_path: Path) -> None:
    (tmp_path / "platformio.ini").write_text(
        f"[platformio]\nbuild_dir = made here\n[base]\nwhere = {port}\n"
        "[env:one]\ntest_port = ${base.where}\n[env:two]\nextends = env:one\n[env:none]\n"
    )
    plans = tmp_path / "made here" / "two" / "tigris"
    plans.mkdir(parents=True)
    (plans / "digits.tgrs").write_bytes(digits_plan.read_bytes())
    done = tigris("hil", "--project", tmp_path, "--env", "two", "--samples", "2")
    assert done.stdout.splitlines()[-1] == "2/2 outputs equal to the host"
    for words, message in (
        ([], "choose an environment with --env: one, two, none"),
        (["--env", "three"], "--env three"),
        (["--env", "one"], "no plan yet; run pio run -e one"),
        (["--env", "none"], "names no port, and no emulated board of it runs"),
        (["--env", "two", "--model", "kws"], "plans of digits; there is no kws"),
    ):
        assert message in tigris("hil", "--project", tmp_path, *words, status=2).stderr


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


# Interrupted checks.


def falls_silent(runs: int) -> Fault:
    """Forwards the answers to `runs` runs, then one BUSY, then nothing."""
    seen = [0]

    def pass_on(frame: Frame) -> Frame | None:
        seen[0] += frame.type == Request.RUN | 0x80
        return frame if seen[0] <= runs else None

    return changing(pass_on)


def test_the_results_so_far_survive_ctrl_c(digits: Serve, digits_plan: Path) -> None:
    count = falls_silent(3)
    process: subprocess.Popen[str] | None = None
    sent: list[None] = []

    def interrupt(data: bytes) -> list[bytes]:
        if not list(count(data)) and process is not None and not sent:
            sent.append(process.send_signal(signal.SIGINT))
        return [data]

    url = digits(to_host=interrupt)
    command = [sys.executable, "-m", "tigris_pio", "hil", digits_plan, "--port", url, "--samples", "500", "--json"]
    process = subprocess.Popen([str(word) for word in command], cwd=ROOT, stdout=-1, stderr=-1, text=True)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, "interrupted" in err) == (130, True), err
    report = json.loads(out)
    assert (report["kind"], report["partial"], report["wanted_samples"]) == ("Interrupted", True, 500)
    assert report["equal_samples"] == report["samples"]


def test_a_second_program_is_told_that_the_board_is_busy(port: str, digits_plan: Path) -> None:
    with Board(port):
        report, _ = hil(digits_plan, "--port", port, status=3)
        assert report["kind"] == "BusyError"
        assert f"busy: process {os.getpid()} (" in report["error"]
    assert hil("--port", port, "--info")[0]["models"][0]["name"] == "digits"
    document, _ = hil(digits_plan, "--port", "/dev/ttyNONE", status=3)
    assert (document["kind"], "/dev/ttyNONE: cannot be opened" in document["error"]) == ("PortError", True)


# `tigris hil check --report`: the board's figures beside the plan's, also for a failed check.


def table(root: Element, caption: str) -> list[dict[str, str]]:
    (found,) = [item for item in root.all("table") if item.one("caption").text.startswith(caption)]
    return cells(found)


def test_a_check_has_a_page_with_the_boards_measurements(digits: Serve, digits_plan: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    url = digits()
    done = tigris("hil", "check", digits_plan, "--port", url, "--samples", "3", "--json", "--report", page)
    document = json.loads(done.stdout)
    root = check_page(page.read_text("utf-8"))
    assert "✓" not in root.one("h1").text and "3/3 outputs equal to the host." in root.one("header").text
    memory = {row[""]: row for row in table(root, "Memory in bytes")}
    assert memory["fast memory, peak"]["board"] == f"{document['memory']['fast_peak']:,}"
    assert memory["fast memory, peak"]["planned"] == memory["fast memory, peak"]["host"]
    operators = table(root, "10 operators")
    for row, op in zip(operators, document["ops"], strict=True):
        assert (row["operator"], row["ns, board"]) == (op["name"], f"{op['elapsed']:,.0f}")
    macs = [int(row["MACs"].replace(",", "")) for row in operators]
    assert sum(macs) == 106_976 and all(bool(count) == bool(row["ns per MAC"]) for row, count in zip(
        operators, macs, strict=True))  # fmt: skip
    assert [row["outputs"] for row in table(root, "3 runs")] == ["equal"] * 3


def test_wrong_runs_stand_first_and_the_first_wrong_operator_is_marked(
    digits: Serve, digits_plan: Path, tmp_path: Path
) -> None:
    page, wrong = tmp_path / "page.html", Wrong(OpKind.SOFTMAX, DType.INT8, 0, 2, more="skip=2")
    url = digits("--fault", wrong.spec)
    tigris("hil", "check", digits_plan, "--port", url, "--samples", "4", "--report", page, status=1)
    root = check_page(page.read_text("utf-8"))
    rows = table(root, "4 runs")
    assert [row["run"] for row in rows] == ["2", "3", "0", "1"]
    assert "1 of 10 elements differ, first at index 2" in rows[0]["outputs"]
    (verdict,) = [p for p in root.all("p") if "verdict" in p.classes]
    assert "bad" in verdict.classes and "2/4 outputs equal" in verdict.text
    (section,) = [item for item in root.all("section") if item.one("h2").text == "First wrong operator"]
    assert "softmax int8, in stage" in section.text and "Row 0, column 0, channel 2: board " in section.text
    marked = [row["kernel"] for row in table(root, "10 operators") if "first wrong" in row.values()]
    assert marked == ["softmax int8"]

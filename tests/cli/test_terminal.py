"""Output on narrow terminals: no line is too long, no word is broken, and a note names the columns left out."""

import io
import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from tests.harness.command import tigris
from tests.harness.tiers import examples, sampled
from tests.networks.folders import OWN
from tigris_pio.cli import console
from tigris_pio.fitted import Column, Facts, FittedTable
from tigris_pio.text import visible_name


def check_narrow(narrow: str, wide: str, width: int) -> None:
    """`narrow` is what `wide` is, in lines of `width`; whole words, or words that say they are not."""
    assert narrow.strip() and all(cell_len(line) <= width for line in narrow.splitlines()), narrow
    words = set(wide.split())
    shown = narrow.splitlines()
    start = [place for place, line in enumerate(shown) if line.startswith("not shown: ")]
    notes = [line for place in start for line in shown[place : place + 1 + (not shown[place].endswith("all"))]]
    broken = [word for line in shown if line not in notes for word in line.split()
              if "…" not in word and word not in words]  # fmt: skip
    assert broken == [], narrow
    assert len(notes) == 0 or " ".join(" ".join(notes).split()).endswith("; --wide shows all")
    assert "not shown" not in wide and "…" not in wide.replace(" … ", "")


def at_width(width: int, monkeypatch: pytest.MonkeyPatch, *arguments: object) -> str:
    with monkeypatch.context() as patch:
        patch.setattr(console.out, "_width", width)
        return tigris(*arguments).stdout


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plans") / "micro_speech.tgrs"
    tigris("compile", OWN / "micro_speech_int8.onnx", "-m", "2K+1M", "-q", "-o", path)
    return path


@pytest.mark.parametrize("width", [80, 60])
@pytest.mark.parametrize("name", sampled(["micro_speech", "ad", "sww", "kws"], fast=("micro_speech", "ad")))
def test_analyze_fits(name: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for words in ((f"{name}_int8.onnx", "-v"), (f"{name}_int8.tflite", "-m", "6K+1M")):
        arguments = ("analyze", OWN / words[0], *words[1:])
        check_narrow(at_width(width, monkeypatch, *arguments), tigris(*arguments).stdout, width)


@pytest.mark.parametrize("width", sampled([60, 80], fast=1))
def test_other_commands_fit(plan: Path, width: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "x.npy", np.zeros((1, 1960), np.float32))
    samples = ("--samples", "1")
    for arguments in (("inspect", plan), ("inspect", OWN / "kws_int8.tflite"), ("inspect", OWN / "kws_int8.onnx"),
                      ("verify", OWN / "sww_int8.onnx", *samples), ("verify", OWN / "kws_int8.tflite", *samples)):
        narrow = at_width(width, monkeypatch, *arguments)
        check_narrow(narrow, tigris(*arguments).stdout, width)
        assert at_width(width, monkeypatch, *arguments, "--wide") == tigris(*arguments).stdout
    run = at_width(width, monkeypatch, "run", plan, "--input", tmp_path / "x.npy")
    assert all(cell_len(line) <= width for line in run.splitlines()) and "argmax" in run


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are of POSIX")
def test_a_real_terminal_is_asked_for_its_width() -> None:
    import fcntl
    import pty
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "FORCE_COLOR")}
    command = [sys.executable, "-m", "tigris_pio", "analyze", str(OWN / "micro_speech_int8.tflite"), "-m", "2K+1M"]
    environment |= {"NO_COLOR": "1", "TERM": "xterm"}
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL, env=environment):
        os.close(theirs)
        data = b""
        while chunk := read(ours):
            data += chunk
    os.close(ours)
    check_narrow(data.decode().replace("\r", ""), tigris(*command[3:]).stdout, 80)
    assert "FULLY_CONNECTE…SOFTMAX" in data.decode()


def read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # on Linux the end of a pseudo-terminal is an error
        return b""


WORDS = st.text(alphabet="abcXYZ_/0123名前é.", min_size=1, max_size=30)


@given(st.data(), st.integers(24, 130))
@settings(max_examples=examples(10, 30), deadline=None)
def test_any_table_fits(data: st.DataObject, width: int) -> None:
    count = data.draw(st.integers(0, 5))
    columns = (Column("", True), Column("a name", is_name=True),
               *(Column(data.draw(st.sampled_from(("largest difference", "steps", "kernel calls"))), True, detail=1 + n)
                 for n in range(count)))  # fmt: skip
    rows = [(str(place), data.draw(WORDS), *(data.draw(st.from_regex(r"[0-9]{1,12}", fullmatch=True))
             for _ in range(count))) for place in range(data.draw(st.integers(1, 5)))]  # fmt: skip
    content = (FittedTable("table", columns, rows), Facts([("fact", rows[0][1])]))
    lines, whole = printed(width, *content), "\n".join(printed(10_000, *content))
    assert all(cell_len(line) <= width for line in lines)
    for row in rows:
        assert visible_name(row[1]) in whole and all(cell in whole for cell in row)
    kept = {word for line in lines for word in line.split() if word.isdigit()}
    assert kept <= {word for row in rows for word in row}


def printed(width: int, *content: FittedTable | Facts) -> list[str]:
    file = io.StringIO()
    Console(file=file, width=width, soft_wrap=True, color_system=None).print(*content)
    return [line.rstrip() for line in file.getvalue().strip().splitlines()]


def test_columns_of_least_worth_leave_first_and_are_named() -> None:
    columns = (Column("", True), Column("name", is_name=True), *(Column(f"c{n}", True, detail=n) for n in range(3)))
    table = FittedTable("title", columns, [("1", "abcdefghijklmnopqrstuvwxyz", "10", "11", "12")])
    assert printed(50, table) == ["title", "   name                        c0  c1  c2",
                                  "1  abcdefghijklmnopqrstuvwxyz  10  11  12"]  # fmt: skip
    assert printed(31, table)[1:] == ["   name              c0  c1  c2", "1  abcdefg…stuvwxyz  10  11  12"]
    assert printed(30, table)[1:3] == ["   name                 c0  c1", "1  abcdefghi…rstuvwxyz  10  11"]
    assert " ".join(printed(30, table)[3:]) == "not shown: c2; --wide shows all"
    assert printed(24, table)[1:3] == ["   name               c0", "1  abcdefgh…stuvwxyz  10"]
    assert " ".join(printed(24, table)[3:]) == "not shown: c1, c2; --wide shows all"

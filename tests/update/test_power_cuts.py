"""Power that fails at every flash operation of an update: what is opened is the old plan or the new one, whole."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.update.plans import HERE, build


def test_every_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = build(tmp_path, [HERE / "power_cuts.c"])
    plans = [tmp_path / f"{generation}.tgrs" for generation in range(3)]
    done = subprocess.run([program, *plans, "pairs", "70"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    with capsys.disabled():
        print("\n" + done.stdout)
    counted = re.findall(r"(\d+) cuts(?:, (\d+) pairs)?", done.stdout)
    assert sum(int(cuts) for cuts, _ in counted) > 10_000
    assert sum(int(pairs or 0) for _, pairs in counted) > 10_000

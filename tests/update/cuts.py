"""Cuts the power at every flash operation of updates and prints how often.

    python -m tests.update.cuts [EVERY] [UPDATES]

EVERY: of how many pairs of cuts one is tried, but for the first scenario, whose pairs are all tried; default 1.
UPDATES: how many in a row; default 140.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.update.plans import HERE, build


def cut(folder: Path, every: int, updates: int) -> str:
    """What the program says of its cuts; AssertionError with its words when a plan was opened that should not be."""
    program = build(folder, [HERE / "power_cuts.c"])
    plans = [str(folder / f"{generation}.tgrs") for generation in range(3)]
    done = subprocess.run([program, *plans, str(every), str(updates)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:]] + [1, 140][len(sys.argv) - 1 :]
    with tempfile.TemporaryDirectory() as work:
        print(cut(Path(work), *numbers), end="")

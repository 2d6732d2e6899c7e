"""Cuts the power at every flash operation of updates and prints how often.

    python -m tests.update.cuts [EVERY] [UPDATES] [CUTS]

EVERY: of how many pairs of cuts one is tried. UPDATES: how many are made in a row. CUTS: of how many cuts in these one
is tried. Without numbers all are, and 140 updates are made.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.update.plans import HERE, build


def cut(folder: Path, *numbers: int) -> str:
    """What the program says of its cuts; AssertionError with its words when a plan was opened that should not be."""
    program = build(folder, [HERE / "power_cuts.c"])
    plans = [str(folder / f"{generation}.tgrs") for generation in range(3)]
    done = subprocess.run([program, *plans, *map(str, numbers)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as work:
        print(cut(Path(work), *given, *(1, 140, 1)[len(given) :]), end="")

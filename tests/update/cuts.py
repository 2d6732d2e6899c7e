"""Cuts the power at every flash operation of updates and prints how often.

    python -m tests.update.cuts [EVERY] [UPDATES] [CUTS]

EVERY: try each EVERY-th pair of cuts (1). UPDATES: make this many updates in a row (140). CUTS: try each CUTS-th cut of
those updates (1). The numbers in brackets are the defaults.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.update.plans import HERE, build
from tigris_pio import signing


def cut(folder: Path, *numbers: int, signer: signing.Key | None = None) -> str:
    """The program's count of cuts. AssertionError with its message if a wrong plan was opened.

    `signer`: of firmware that opens its plans only."""
    sources = [HERE / "power_cuts.c"]
    if signer is None:
        program = build(folder, sources)
    else:
        library = ("-DTIGRIS_MBEDTLS", "-lmbedcrypto", "-Wl,--wrap=tigris_port_verify")
        program = build(folder, [*sources, HERE / "memo_verify.c"], signer=signer, library=library)
    plans = [str(folder / f"{generation}.tgrs") for generation in range(3)]
    done = subprocess.run([program, *plans, *map(str, numbers)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as work:
        print(cut(Path(work), *given, *(1, 140, 1)[len(given) :]), end="")

"""Runs the vector files of a folder on a board, and prints a line of JSON for each. `pio test`'s runner calls it.

    python -m tigris_pio.hil.suite --port URL --vectors DIR PLAN.tgrs ...

A model without vectors gets random inputs. Each line is an object with `name`, `status` (passed, failed, errored,
skipped), `message`, `log` (the firmware's text), `seconds` and `file`. If the serial line fails, the other files
are skipped.
"""

import argparse
import dataclasses
import json
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from tigris_pio.errors import TigrisError
from tigris_pio.hil.check import HostPlan, open_plan
from tigris_pio.hil.client import Board
from tigris_pio.hil.errors import HarnessError
from tigris_pio.hil.rig.labgrid import acquired
from tigris_pio.hil.vectors import RANDOM_SAMPLES, check_vectors, random_vectors, read_vectors, vector_files


@dataclasses.dataclass(frozen=True)
class Case:
    """The result of one vector file, or of random inputs. `name` begins with the model's."""

    name: str
    status: str
    message: str
    log: str = ""
    seconds: float = 0.0
    file: str = ""


def run_suite(board: Board, plans: Mapping[str, HostPlan], folder: Path) -> Iterator[Case]:
    """Yields a case for each vector file, and for each model without one."""
    cases = [(model, path) for model, files in vector_files(folder, tuple(plans)).items() for path in files or (None,)]
    broken = ""
    for model, path in cases:
        name = f"{model}: {path.relative_to(folder).as_posix() if path else f'{RANDOM_SAMPLES} random inputs'}"
        if broken:
            yield Case(name, "skipped", broken, file=str(path or ""))
            continue
        started, before = time.monotonic(), board.log
        status, lines = "errored", ""
        try:
            status, lines = _run(board, plans[model], path)
        except TigrisError as error:
            lines = str(error)
            if isinstance(error, HarnessError) and error.exit_status == HarnessError.exit_status:
                broken = "not run: the line failed before"
        seconds = time.monotonic() - started
        yield Case(name, status, lines, board.printed_since(before), seconds, str(path or ""))


def _run(board: Board, plan: HostPlan, path: Path | None) -> tuple[str, str]:
    """Returns (status, message)."""
    result = check_vectors(board, plan, read_vectors(path, plan) if path else random_vectors(plan))
    return "passed" if result.passed else "failed", "\n".join(result.lines())


def main(arguments: list[str]) -> int:
    """Returns exit status 0 if all cases were printed, passed or not; else the status of the error on stderr."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", required=True, metavar="URL", help="the board's line, such as /dev/ttyUSB0")
    parser.add_argument("--baud", type=int, default=115200, help="default: 115200")
    parser.add_argument("--vectors", type=Path, required=True, metavar="DIR", help="folder of the vector files")
    parser.add_argument("plans", type=Path, nargs="+", metavar="PLAN.tgrs", help="plans of the firmware's models")
    options = parser.parse_args(arguments)
    try:
        plans = {path.stem: open_plan(path) for path in options.plans}
        with acquired(options.port) as port, Board(port, options.baud) as board:
            for case in run_suite(board, plans, options.vectors):
                print(json.dumps(dataclasses.asdict(case)), flush=True)
    except TigrisError as error:
        print(str(error), file=sys.stderr)
        return error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

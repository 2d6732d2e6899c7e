"""Processor seconds of the tests, each with the programs that it waited for, beside the budget of its folder.

`tests/budget.toml` says how many seconds each folder may take in `make test`. Processor time hardly depends on what
else the machine does; a folder above its budget is named, one above twice its budget fails the run. `make test-times`
prints a table by folder and file.

A pytest plugin: processes of pytest-xdist stamp each report, and the process that prints adds them up.
"""

import json
import os
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TESTS = Path(__file__).resolve().parents[1]
BUDGET_FILE = TESTS / "budget.toml"
#: The last run's seconds by test.
RECORD = TESTS.parent / ".tigris" / "test-times.json"
#: The rows for starting Python and collecting the tests, and for what tools/prepare.py did before.
START, SET_UP = "(start)", "(set-up)"
SET_UP_RECORD = TESTS.parent / ".tigris" / "set-up-seconds"
#: Above so many times its budget a folder fails the run.
LIMIT = 2.0


def budget() -> dict[str, float]:
    """Processor seconds by folder, and by file for those that lie in `tests` itself; START is a row, too."""
    table: dict[str, float] = tomllib.loads(BUDGET_FILE.read_text("utf-8"))["seconds"]
    return table


def folder_of(nodeid: str, folders: dict[str, float]) -> str | None:
    """The row of the table that a test belongs to: the longest that its path begins with."""
    path = nodeid.split("::", 1)[0].removeprefix("tests/")
    fitting = [row for row in folders if path == row or path.startswith(row + "/")]
    return max(fitting, key=len, default=None)


def processor_seconds() -> float:
    """Of this process and of the processes that it has waited for, in seconds."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def table(seconds: dict[str, float], folders: dict[str, float], limits: bool) -> tuple[list[str], bool]:
    """Lines for the terminal, and whether a folder took more than LIMIT times its budget."""
    spent, tests = dict.fromkeys(folders, 0.0), dict.fromkeys(folders, 0)
    for nodeid, taken in seconds.items():
        row = nodeid if nodeid in (START, SET_UP) else folder_of(nodeid, folders)
        if row is not None:
            spent[row] += taken
            tests[row] += row != nodeid
    lines, failed = [f"{'processor seconds':<24} tests   spent" + "  budget" * limits], False
    for row in sorted(folders, key=lambda row: -spent[row]):
        if spent[row] == 0:
            continue
        line = f"{row:<24} {tests[row]:>5} {spent[row]:>7.1f}"
        if limits:
            above = "  above twice its budget" if spent[row] > LIMIT * folders[row] else "  above its budget"
            line += f" {folders[row]:>7.0f}" + above * (spent[row] > folders[row])
            failed = failed or spent[row] > LIMIT * folders[row]
        lines.append(line)
    total = f"{'total':<24} {sum(tests.values()):>5} {sum(spent.values()):>7.1f}"
    return [*lines, total + f" {sum(folders.values()):>7.0f}" * limits], failed


def by_file(seconds: dict[str, float]) -> list[str]:
    """Folders and, below each, its files: tests, seconds, and the seconds of the longest test."""
    rows: dict[str, list[float]] = defaultdict(list)
    for nodeid, taken in seconds.items():
        file = nodeid.split("::", 1)[0].removeprefix("tests/")
        rows[file.rpartition("/")[0] + "/"].append(taken)
        rows[file].append(taken)
    return [f"{name:<56} {len(taken):>5} {sum(taken):>8.1f} {max(taken):>7.1f}" for name, taken in sorted(rows.items())]


class Spent:
    """The plugin."""

    def __init__(self, config: pytest.Config, limits: bool) -> None:
        self.config, self.limits = config, limits
        self.seconds: dict[str, float] = defaultdict(float)
        self.last = 0.0
        self.failed = False

    @property
    def _is_worker(self) -> bool:
        return hasattr(self.config, "workerinput")

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Every module has a place in the table."""
        folders = budget()
        homeless = sorted({item.nodeid.split("::")[0] for item in session.items if item.path.is_relative_to(TESTS)
                           and folder_of(item.nodeid, folders) is None})  # fmt: skip
        if homeless:
            raise pytest.UsageError(f"{', '.join(homeless)}: no row of {BUDGET_FILE.name} has this folder; add one "
                                    "with the processor seconds that it may take, and take them from another")
        self.last = processor_seconds()
        if self._is_worker:
            self.config.workeroutput[START] = self.last  # type: ignore[attr-defined]
        else:
            self.seconds[START] += self.last

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        report = yield
        now = processor_seconds()
        report.processor_seconds, self.last = now - self.last, now
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += getattr(report, "processor_seconds", 0.0)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        self.seconds[START] += getattr(node, "workeroutput", {}).get(START, 0.0)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._is_worker or not self.seconds:
            return
        if SET_UP_RECORD.is_file():
            self.seconds[SET_UP] = float(SET_UP_RECORD.read_text("utf-8"))
        _, self.failed = table(self.seconds, budget(), self.limits)
        if self.failed and session.exitstatus == 0:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if set(self.seconds) - {START, SET_UP} and session.config.rootpath == TESTS.parent:
            RECORD.parent.mkdir(exist_ok=True)
            RECORD.write_text(json.dumps(self.seconds, indent=0), "utf-8")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        lines, _ = table(self.seconds, budget(), self.limits)
        if not set(self.seconds) - {START, SET_UP}:
            return
        terminalreporter.section("processor time")
        for line in lines:
            terminalreporter.write_line(line)


def main() -> None:
    """Prints the last run's table by folder and file."""
    if not RECORD.is_file():
        sys.exit("error: no test run is on record; `make test` or `make test-all` makes one")
    seconds: dict[str, float] = json.loads(RECORD.read_text("utf-8"))
    print(f"{'processor seconds':<56} tests    spent longest")
    print("\n".join(by_file(seconds)))
    print(f"{'total':<56} {len(set(seconds) - {START, SET_UP}):>5} {sum(seconds.values()):>8.1f}")


if __name__ == "__main__":
    main()

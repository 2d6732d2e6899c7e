"""Runs the tests that need checkouts of others' code, as far as variables name them:

    python -m tests.vendor [pytest's options]

Says which variable is missing for how many tests. Exit status 2 when a variable names no such checkout or none is set
at all, 1 when a test fails or none ran, else 0.
"""

import contextlib
import io
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import pytest

from tests.harness.vendors import VENDORS, variables_of

ROOT = Path(__file__).resolve().parents[1]


class _Collected:
    """Takes note of the tests that have the mark."""

    def __init__(self) -> None:
        self.tests: dict[str, tuple[str, ...]] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self.tests = {item.nodeid: names for item in items if (names := variables_of(item))}
        items.clear()


def collect() -> dict[str, tuple[str, ...]]:
    """Node identifiers, and the variables that each needs."""
    collected = _Collected()
    with contextlib.redirect_stdout(io.StringIO()) as said:
        pytest.main(["--collect-only", "--tier", "all", str(ROOT / "tests")], plugins=[collected])
    if not collected.tests:
        print(said.getvalue())
    assert collected.tests, "no test has the mark `vendor`"
    return collected.tests


def table(tests: dict[str, tuple[str, ...]]) -> str:
    """A line for each variable: what it names, and how many tests it is for."""
    count = Counter(name for names in tests.values() for name in names)
    return "\n".join(
        f"{count[vendor.variable]:4} tests with {vendor.what:33} {vendor.variable} "
        + (f"= {vendor.value()}" if vendor.value() else f"is not set: {vendor.get}")
        for vendor in VENDORS.values()
    )


def outcomes(report: Path) -> Counter[str]:
    """How many tests passed, failed and were skipped after all, by pytest's report."""
    suite = ET.parse(report).getroot()
    totals = Counter[str]()
    for element in suite.iter("testsuite"):
        for name in ("tests", "failures", "errors", "skipped"):
            totals[name] += int(element.get(name, 0))
    totals["passed"] = totals["tests"] - totals["failures"] - totals["errors"] - totals["skipped"]
    return totals


def main(options: list[str]) -> int:
    """Runs what can be run."""
    problems = [problem for vendor in VENDORS.values() if (problem := vendor.problem())]
    if problems:
        print("\n".join(f"error: {problem}" for problem in problems), file=sys.stderr)
        return 2
    tests = collect()
    print(table(tests), flush=True)
    given = {name for name, vendor in VENDORS.items() if vendor.value()}
    chosen = [nodeid for nodeid, names in tests.items() if given.issuperset(names)]
    if not chosen:
        print(f"error: nothing to run; set one of {', '.join(VENDORS)}", file=sys.stderr)
        return 2
    print(f"running {len(chosen)} of {len(tests)}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        command = [sys.executable, "-m", "pytest", "--tier", "all", "-rs", f"--junit-xml={report}", *options, *chosen]
        status = subprocess.run(command, cwd=ROOT, check=False).returncode
        if not report.is_file():
            return status or 1
        counts = outcomes(report)
    print(f"{counts['passed']} passed, {counts['failures'] + counts['errors']} failed, {counts['skipped']} skipped; "
          f"{len(tests) - len(chosen)} not run for want of a variable")  # fmt: skip
    return 1 if status or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

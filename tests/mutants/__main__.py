"""Runs the mutants; prints, by area, what share the tests killed. Exit status 1 if one survives or cannot be judged.

The tests of the fast tier run first; `--tier all`, the default, runs all tests for the mutants that survive them.
The test that killed a mutant in an earlier run is kept in .tigris/mutants.json and is tried before the others.
"""

import argparse
import dataclasses
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tests.mutants.mutant import ROOT, Mutant, areas, mutants

KILLED, SURVIVED, STALE = "killed", "survived", "no verdict"
TIERS = ("fast", "all")
#: pytest's exit status if all tests passed, or none belongs to the tier.
PASSED = (0, 5)
#: By "area: mutant" the tier and the test that killed it last.
KILLERS = ROOT / ".tigris" / "mutants.json"
SYNTAX = ("gcc", "-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror", "-fsyntax-only",
          "-Iruntime/include", "-Iruntime/src", "-Iruntime/backends")


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What became of a mutant."""

    area: str
    mutant: Mutant
    outcome: str  #: KILLED, SURVIVED or STALE
    by: str  #: the first test that failed, or why there is no verdict
    seconds: float
    tier: str  #: the last whose tests ran


def copy_project(folder: Path) -> Path:
    """A copy of every file that git knows, as it is in the work tree, and of the built host library."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.split(b"\0")
    libraries = [str(path.relative_to(ROOT)) for path in (ROOT / "tigris_pio" / "host").glob("_runtime*.*")]
    for name in [*(name.decode() for name in names if name), *libraries]:
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    # Checked by content: a mutant may have the size of the text before it, and come within the same second.
    subprocess.run([sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "checked-hash",
                    folder / "tigris_pio", folder / "tests"], check=True)
    return folder


@contextmanager
def fault(mutant: Mutant, root: Path) -> Iterator[None]:
    """The mutant in the copy, in its host library too; afterwards both are as before."""
    libraries = {path: path.read_bytes() for path in (root / "tigris_pio" / "host").glob("_runtime*.*")}
    text = mutant.apply(root)
    try:
        if mutant.file.endswith((".c", ".h")) and not compiles(mutant, root):
            build_library(root)
        yield
    finally:
        (root / mutant.file).write_text(text, "utf-8")
        for path, content in libraries.items():
            path.write_bytes(content)


def build_library(root: Path) -> None:
    """Builds the host library in the copy: the sources that changed since the last time there."""
    subprocess.run([sys.executable, "setup.py", "-q", "build_ext", "--inplace"], cwd=root, check=True,
                   capture_output=True)


def compiles(mutant: Mutant, root: Path) -> str:
    """Why a compiler alone, or Python's own reading, stops the mutant; empty if neither does."""
    if mutant.file.startswith("examples/") and "/lib/" not in mutant.file and not mutant.file.endswith(".py"):
        return ""  # a project's sources take headers that its build writes: the tests build it
    if mutant.file.endswith(".c"):
        result = subprocess.run([*SYNTAX, mutant.file], cwd=root, capture_output=True, text=True, check=False)
        return result.stderr if result.returncode else ""
    if mutant.file.endswith(".py"):
        try:
            compile((root / mutant.file).read_text("utf-8"), mutant.file, "exec")
        except SyntaxError as error:
            return str(error)
    return ""


def run_tests(tests: tuple[str, ...], root: Path, seconds: float, tier: str) -> tuple[int | None, str]:
    """pytest's exit status (None: still running after `seconds`), and the test that failed."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:randomly",
               "--tier", tier, *tests]
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    with subprocess.Popen(command, cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, start_new_session=True) as process:
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return None, "no end"
    failed = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
    test = failed[0].split(" - ")[0].removeprefix("FAILED ").removeprefix("ERROR ") if failed else ""
    return process.returncode, test or output.strip()[-200:]


_PASSING: dict[tuple[tuple[str, ...], str], tuple[bool, str]] = {}
_LOCK = threading.Lock()


def passes_without(tests: tuple[str, ...], root: Path, seconds: float, tier: str) -> tuple[bool, str]:
    """Whether these tests pass without any fault, tried once for all mutants that name them; and which one fails."""
    with _LOCK:
        known = _PASSING.get((tests, tier))
    if known is None:
        status, text = run_tests(tests, root, seconds, tier)
        known = status == 0, text
        with _LOCK:
            _PASSING[tests, tier] = known
    return known


def judge(area: str, mutant: Mutant, root: Path, seconds: float, tiers: Sequence[str] = TIERS,
          killer: tuple[str, str] | None = None) -> Verdict:
    """Runs one mutant in the copy at `root`: its tests in one tier after the other until one fails.

    `killer`, a tier and a test, is tried first; if it doesn't fail, it says nothing.
    """
    begun = time.monotonic()
    attempts = [(tier, mutant.tests) for tier in tiers]
    if killer and killer[0] in tiers:
        attempts.insert(0, (killer[0], (killer[1],)))

    def verdict(outcome: str, by: str) -> Verdict:
        return Verdict(area, mutant, outcome, by, time.monotonic() - begun, tier)

    tier, status, text = tiers[0], None, ""
    try:
        with fault(mutant, root):
            stopped = compiles(mutant, root)
            if stopped:
                return verdict(STALE, f"a compiler stops it: {stopped.strip()[-200:]}")
            for tier, tests in attempts:
                status, text = run_tests(tests, root, seconds, tier)
                if status == 1 or (tests == mutant.tests and status not in PASSED):
                    break
    except ValueError as error:
        return verdict(STALE, str(error))
    if status in PASSED:
        return verdict(SURVIVED, "")
    # The one that failed is enough, and soon tried; whatever else ended the tests may have been any of them.
    failed = (text,) if status == 1 and "::" in text else mutant.tests
    passes, first = passes_without(failed, root, seconds, tier)
    if not passes:
        return verdict(STALE, f"the tests fail without it: {first}")
    if status is None or status in (1, 2) or status < 0:
        return verdict(KILLED, text)
    return verdict(STALE, f"pytest ended with {status}: {text}")


def table(verdicts: list[Verdict], tiers: Sequence[str] = TIERS) -> str:
    """By area: how many have a verdict, and what share of them the fast tests and all tests killed."""
    lines = [f"{'killed, in % by tier':<24}    of" + "".join(f"{name:>7}" for name in tiers)]
    groups = [(area, [v for v in verdicts if v.area == area]) for area in dict.fromkeys(v.area for v in verdicts)]
    for area, found in [*groups, ("total", verdicts)]:
        judged = [verdict for verdict in found if verdict.outcome != STALE]
        killed = [verdict.tier for verdict in judged if verdict.outcome == KILLED]
        counts = {"fast": killed.count("fast"), "all": len(killed)}
        shares = "".join(f"{100 * counts[name] / max(1, len(judged)):>7.1f}" for name in tiers)
        lines.append(f"{area:<24} {len(judged):>5}{shares}")
    stale = [f"{verdict.area}: {verdict.mutant.name}: {verdict.by}" for verdict in verdicts if verdict.outcome == STALE]
    return "\n".join([*lines, *(["", "without a verdict:", *stale] if stale else [])])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("areas", nargs="*", metavar="AREA", help=f"of {', '.join(areas())}; all of them without")
    parser.add_argument("--only", metavar="TEXT", default="", help="mutants whose name has this text")
    parser.add_argument("--processes", type=int, default=2, help="copies of the project that run tests at once")
    parser.add_argument("--timeout", type=float, default=600, metavar="SECONDS", help="for one mutant's tests")
    parser.add_argument("--tier", choices=TIERS, default="all", help="the tests that must see them")
    given = parser.parse_args()
    tiers = TIERS[: TIERS.index(given.tier) + 1]
    unknown = [area for area in given.areas if area not in areas()]
    if unknown:
        parser.error(f"no area is called {unknown[0]}; there are {', '.join(areas())}")
    chosen = [(area, mutant) for area in given.areas or areas() for mutant in mutants(area)
              if given.only in mutant.name]
    verdicts = []
    killers = json.loads(KILLERS.read_text("utf-8")) if KILLERS.is_file() else {}
    with tempfile.TemporaryDirectory(prefix="tigris-mutants-") as folder:
        copies: queue.Queue[Path] = queue.Queue()
        for index in range(given.processes):
            copies.put(copy_project(Path(folder) / str(index)))

        def one(item: tuple[str, Mutant]) -> Verdict:
            root = copies.get()
            try:
                return judge(*item, root, given.timeout, tiers, killers.get(f"{item[0]}: {item[1].name}"))
            finally:
                copies.put(root)

        with ThreadPoolExecutor(given.processes) as pool:
            for verdict in pool.map(one, chosen):
                verdicts.append(verdict)
                where = verdict.by if verdict.outcome != SURVIVED else verdict.mutant.file
                print(f"{verdict.outcome:<10} {verdict.tier:<4} {verdict.seconds:6.1f} s  {verdict.area}: "
                      f"{verdict.mutant.name}  {where}", flush=True)
                if verdict.outcome == KILLED and "::" in verdict.by:
                    killers[f"{verdict.area}: {verdict.mutant.name}"] = verdict.tier, verdict.by
                    KILLERS.parent.mkdir(exist_ok=True)
                    KILLERS.write_text(json.dumps(killers, indent=1), "utf-8")
    print(f"\n{table(verdicts, tiers)}")
    return any(verdict.outcome != KILLED for verdict in verdicts)


if __name__ == "__main__":
    sys.exit(main())

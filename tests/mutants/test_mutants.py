"""The tables can be read, their mutants stand in the project's files, and the judge tells killed from survived."""

from pathlib import Path

import pytest

from tests.mutants.__main__ import KILLED, STALE, SURVIVED, Verdict, judge, table
from tests.mutants.mutant import ROOT, Mutant, areas, mutants


def test_every_mutant_has_its_place_and_its_tests() -> None:
    named = [(area, mutant) for area in areas() for mutant in mutants(area)]
    assert len({mutant.name for _, mutant in named}) == len(named) >= 60
    for area, mutant in named:
        assert (ROOT / mutant.file).read_text("utf-8").count(mutant.old) == 1, f"{area}: {mutant.name}"
        named_tests = [word for word in mutant.tests if "/" in word]  # the others are options of pytest, such as -k
        assert named_tests, f"{area}: {mutant.name}"
        for test in named_tests:
            assert (ROOT / test.split("::")[0]).exists(), f"{area}: {mutant.name}: {test}"


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of one function and two tests, of which one does nothing in the fast tier."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    (tmp_path / "double.py").write_text("def double(x):\n    return 2 * x\n", "utf-8")
    (tmp_path / "conftest.py").write_text("def pytest_addoption(parser):\n    parser.addoption('--tier')\n", "utf-8")
    test = """from double import double
def test_double(): assert double(2) == 4
def test_large(request): assert request.config.getoption("tier") == "fast" or double(9) == 18
"""
    (tmp_path / "test_double.py").write_text(test, "utf-8")
    return tmp_path


@pytest.mark.parametrize(("old", "new", "outcome", "tier"), [
    ("2 * x", "min(2 * x, 9)", KILLED, "all"),
    ("4 * x", "x", STALE, "fast"), ("2 * x", "2 *", STALE, "fast"),
])  # fmt: skip
def test_the_judge(copy: Path, old: str, new: str, outcome: str, tier: str) -> None:
    before = (copy / "double.py").read_text("utf-8")
    verdict = judge("", Mutant("", "double.py", old, new, ("test_double.py",)), copy, 60)
    assert (verdict.outcome, verdict.tier) == (outcome, tier)
    assert (copy / "double.py").read_text("utf-8") == before


def test_a_killer_that_is_gone_decides_nothing(copy: Path) -> None:
    mutant = Mutant("", "double.py", "2 * x", "3 * x", ("test_double.py",))
    for name in ("double", "gone"):
        verdict = judge("", mutant, copy, 60, killer=("fast", f"test_double.py::test_{name}"))
        assert (verdict.outcome, verdict.by) == (KILLED, "test_double.py::test_double")


def test_a_survivor_of_the_fast_tier(copy: Path) -> None:
    mutant = Mutant("", "double.py", "2 * x", "min(2 * x, 9)", ("test_double.py",))
    assert judge("", mutant, copy, 60, ("fast",)).outcome == SURVIVED


@pytest.mark.thorough
def test_tests_that_fail_anyway_judge_nothing(copy: Path) -> None:
    (copy / "test_wrong.py").write_text("def test_wrong():\n    assert False\n", "utf-8")
    verdict = judge("", Mutant("", "double.py", "2 * x", "3 * x", ("test_wrong.py",)), copy, 60)
    assert verdict.outcome == STALE


def test_shares_by_area_and_in_total() -> None:
    mutant = Mutant("name", "", "", "", ())
    verdicts = [Verdict(area, mutant, outcome, "why", 0.0, tier) for area, outcome, tier in (
        ("one", KILLED, "fast"), ("one", KILLED, "all"), ("two", SURVIVED, "all"), ("two", STALE, "fast"),
        ("two", KILLED, "fast"))]  # fmt: skip
    rows = [line.split() for line in table(verdicts).splitlines()]
    assert rows[1:4] == [["one", "2", "50.0", "100.0"], ["two", "2", "50.0", "50.0"], ["total", "4", "50.0", "75.0"]]
    assert rows[-1] == ["two:", "name:", "why"]

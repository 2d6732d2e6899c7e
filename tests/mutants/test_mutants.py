"""The tables can be read, their mutants stand in the project's files, and the judge tells killed from survived."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutants.__main__ import KILLED, STALE, SURVIVED, judge
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
def copy(tmp_path: Path) -> Path:
    """A project of one function and one test."""
    (tmp_path / "double.py").write_text("def double(x):\n    return 2 * x\n", "utf-8")
    test = "from double import double\n\n\ndef test_double():\n    assert double(2) == 4\n"
    (tmp_path / "test_double.py").write_text(test, "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "old,new,outcome",
    [("2 * x", "3 * x", KILLED), ("2 * x", "x + x", SURVIVED), ("4 * x", "x", STALE), ("2 * x", "2 *", STALE)],
)
def test_the_judge(copy: Path, old: str, new: str, outcome: str) -> None:
    before = (copy / "double.py").read_text("utf-8")
    verdict = judge("", Mutant("", "double.py", old, new, ("test_double.py",)), copy, 60)
    assert verdict.outcome == outcome
    assert (copy / "double.py").read_text("utf-8") == before


def test_tests_that_fail_anyway_judge_nothing(copy: Path) -> None:
    (copy / "test_wrong.py").write_text("def test_wrong():\n    assert False\n", "utf-8")
    verdict = judge("", Mutant("", "double.py", "2 * x", "3 * x", ("test_wrong.py",)), copy, 60)
    assert verdict.outcome == STALE

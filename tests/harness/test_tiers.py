"""The tests of each tier, their budgets, and leftovers that fail a run."""

from pathlib import Path

import pytest

from tests.harness import spent, test_timeout, tiers
from tests.harness.test_timeout import pytest_in

TESTS = """import pytest
from tests.harness.tiers import examples, sampled

def test_plain(): assert examples(1, 2, 3) in (1, 2)
@pytest.mark.thorough
def test_thorough(): assert examples(1, 2, 3) == 2
@pytest.mark.fuzzed
def test_fuzzed(): assert examples(1, 2, 3) == {0}
@pytest.mark.parametrize("case", sampled(range(9), 2))
def test_table(case): assert case in (0, 4) or {0} == 2
"""


@pytest.mark.parametrize("tier,passed", [("fast", 4), ("all", 12), ("fuzz", 1)])
def test_tiers(tmp_path: Path, tier: str, passed: int) -> None:
    (tmp_path / "test_some.py").write_text(TESTS.replace("{0}", str(1 + tiers.TIERS.index(tier))), "utf-8")
    said = pytest_in(tmp_path, "--tier", tier, limit=60).stdout
    assert f"{passed} passed" in said and "failed" not in said, said


def test_cases_are_chosen_by_name() -> None:
    chosen = tiers.sampled([("a", 1), ("b", 2)], ["b"])
    assert chosen[1] == ("b", 2) and chosen[0].values == ("a", 1) and chosen[0].marks[0].name == "thorough"
    with pytest.raises(AssertionError, match="no cases: \\['c'\\]"):
        tiers.sampled([("a", 1)], ["c"])


def test_a_process_left_behind_fails_the_run(tmp_path: Path) -> None:
    left = "import subprocess\n\ndef test_leaves():\n    subprocess.Popen(['sleep', '299'], start_new_session=True)\n"
    (tmp_path / "test_left.py").write_text(left, "utf-8")
    done = pytest_in(tmp_path, "-n", "1", limit=60)
    assert done.returncode == 1 and "1 passed" in done.stdout
    assert "sleep 299 (started by test_left.py::test_leaves (call))" in done.stdout


def test_the_budget_is_fourteen_minutes() -> None:
    assert sum(spent.budget().values()) <= 14 * 60


def test_above_twice_its_budget_a_folder_fails() -> None:
    seconds = {spent.START: 1.0, "tests/hil/test_a.py::test_b": 11.0, "tests/hil/sub/test_c.py::test_d": 3.0}
    lines, failed = spent.table(seconds, {spent.START: 2, "hil": 6, "hil/sub": 2, "cli": 1}, limits=True)
    assert not failed and [line.split()[0] for line in lines[1:]] == ["hil", "hil/sub", spent.START, "total"]
    assert "above its budget" in lines[1] and "above its budget" in lines[2] and "above" not in lines[3]
    assert spent.table(seconds, {spent.START: 2, "hil": 5, "hil/sub": 2}, limits=True)[1]
    assert not spent.table(seconds, {spent.START: 2, "hil": 1}, limits=False)[1]


def test_every_module_has_a_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plugin as it is, on a suite of one module whose folder the table lacks."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_new.py").write_text("def test_new(): pass\n", "utf-8")
    plugin = "import tests.harness.spent as spent\nfrom pathlib import Path\nspent.TESTS = Path(__file__).parent\n"
    monkeypatch.setattr(test_timeout, "PLUGIN", f"{plugin}\n{test_timeout.PLUGIN}")
    done = pytest_in(tmp_path / "tests", "--rootdir", str(tmp_path), limit=60)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR and "tests/test_new.py: no row of budget.toml" in done.stderr

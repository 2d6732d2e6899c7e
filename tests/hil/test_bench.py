"""`tigris hil bench`: figures of the board, and the comparison with earlier ones."""

import json
import statistics
from pathlib import Path
from typing import Any

import pytest

from tests.harness.command import tigris
from tests.hil.conftest import Serve
from tests.hil.test_commands import falls_silent


def bench(plan: Path, url: str, *words: object, status: int = 0) -> Any:
    return json.loads(tigris("hil", "bench", plan, "--port", url, "--json", *words, status=status).stdout)


@pytest.fixture
def port(digits: Serve) -> str:
    """A board whose clock advances at each reading, so that all runs take the same time."""
    return digits("--counter", "looks")


def test_the_first_run_is_separate_and_the_others_are_summarised(digits: Serve, digits_plan: Path) -> None:
    found = bench(digits_plan, digits(), "--runs", 7)
    first, *others = found["elapsed"]["all"]
    assert (found["runs"], found["wanted_runs"], found["partial"], len(others)) == (7, 7, False, 6)
    expected = {"first": first, "least": min(others), "most": max(others)}
    expected |= {"median": statistics.median(others), "mean": statistics.fmean(others)}
    assert {name: found["elapsed"][name] for name in expected} == expected
    assert found["milliseconds"] == {name: pytest.approx(value / 1e6) for name, value in expected.items()}
    assert found["memory"]["fast_peak"] <= found["memory"]["fast_given"]
    assert found["counts_per_mac"] == found["elapsed"]["median"] / found["macs"]


def test_figures_of_operators_are_for_one_run(port: str, digits_plan: Path) -> None:
    found = bench(digits_plan, port, "--runs", 5)
    assert [op["index"] for op in found["ops"]] == list(range(10))
    assert {op["calls"] for op in found["ops"]} == {1}
    assert sum(op["share"] for op in found["ops"]) == pytest.approx(1)
    assert {(op["elapsed"], op["first"]) for op in found["ops"]} == {(1, 1)}  # a reading before and one after each call
    assert found["elapsed"]["least"] == found["elapsed"]["most"] >= 10
    assert sum(op["macs"] for op in found["ops"]) == found["macs"]
    assert found["ops"][0]["counts_per_mac"] == 1 / found["ops"][0]["macs"]
    assert found["ops"][-1]["counts_per_mac"] is None  # a table


def test_slower_than_before_ends_with_status_1(port: str, digits_plan: Path, tmp_path: Path) -> None:
    path = tmp_path / "before.json"
    before = bench(digits_plan, port, "--runs", 3)
    cases = ((1.0, "0%", 0), (1.04, "5%", 0), (1.06, "5%", 1), (1.06, "0.1", 0), (0.5, "5%", 0))
    for factor, threshold, status in cases:
        old = {**before, "elapsed": {**before["elapsed"], "median": before["elapsed"]["median"] / factor}}
        path.write_text(json.dumps(old))
        found = bench(digits_plan, port, "--runs", 3, "--compare", path, "--threshold", threshold, status=status)
        assert found["kind"] == ("Slower" if status else "Measured")
        assert found["compare"]["slower"] == bool(status)
        assert found["compare"]["median"]["ratio"] == pytest.approx(factor)
        assert found["compare"]["same_plan"] is True
        assert [op["ratio"] for op in found["compare"]["ops"]] == [1.0] * 10
    before["elapsed"]["median"] /= 2
    before["ops"][4]["elapsed"] = 0.5
    path.write_text(json.dumps(before))
    said = tigris("hil", "bench", digits_plan, "--port", port, "--runs", 3, "--compare", path, status=1).stdout
    assert said.splitlines()[-1] == "slower than before by more than 5 %"
    assert "conv_7" in said.split("median")[-1] and "conv_4" not in said.split("median")[-1]


def test_an_incomparable_file_is_refused_with_the_reason(port: str, digits_plan: Path, tmp_path: Path) -> None:
    before = bench(digits_plan, port, "--runs", 2)
    cycles = {**before, "board": {"name": "x", "counter": {"unit": "cycles", "hz": 240000000}}}
    other = {**before, "model": {**before["model"], "name": "kws"}}
    for content, message in (
        (json.dumps(cycles), "its counter is cycles, 240,000,000 a second, this board's is ns"),
        (json.dumps(other), "it is of model kws, this is digits"),
        ("[]", "give the output of tigris hil bench --json"),
        ("no json", "give the output of tigris hil bench --json"),
    ):
        (tmp_path / "before.json").write_text(content)
        words = ("--runs", 2, "--compare", tmp_path / "before.json")
        done = tigris("hil", "bench", digits_plan, "--port", port, *words, status=2)
        assert message in done.stderr
    for words in (("--compare", tmp_path / "none.json"), ("--threshold", "5"), ("--threshold", "x"), ("--runs", 1)):
        tigris("hil", "bench", digits_plan, "--port", "loop://", *words, status=2)


def test_runs_so_far_survive_a_line_that_breaks(digits: Serve, digits_plan: Path) -> None:
    url = digits(to_host=falls_silent(3))
    found = bench(digits_plan, url, "--silence", 0.3, status=3)
    assert (found["kind"], found["partial"], found["runs"], found["ops"]) == ("HungBoardError", True, 3, [])
    assert len(found["elapsed"]["all"]) == 3

"""Benches of the planner: what counts as worse, ratios beside another compiler's, and a run of each command."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from bench import allocation, monotone
from bench.monotone import Count, Point, by_instructions, count, spread
from bench.planner import ratios

REFUSED = [Point(fast, 0, math.inf, math.inf) for fast in (5, 15)]


@pytest.mark.parametrize(("points", "by_cost"), [
    ([Point(10, 0, 5.0, 9), Point(20, 0, 6.0, 8), Point(30, 0, 10.0, 7), Point(40, 0, 4.0, 9)], Count(4, 2, 2.0)),
    ([Point(10, 100, 5.0, 1), Point(20, 0, 6.0, 1)], Count(2, 0, 1.0)),  # a budget is smaller in both memories
    ([Point(10, 0, 5.0, 1), Point(10, 100, 6.0, 1)], Count(2, 1, 1.2)),
    ([*REFUSED, Point(10, 0, 5.0, 1)], Count(2, 1, math.inf)),  # refusals above a budget that works count alone
])  # fmt: skip
def test_a_plan_is_worse_that_costs_more_than_one_for_a_smaller_budget(points, by_cost):
    assert count(points) == by_cost
    assert count([Point(10, 0, 5.0, 9), Point(20, 0, 6.0, 8)], by_instructions).worse == 0


@pytest.mark.parametrize("places", [1, 2, 3, 8, 13])
def test_budgets_far_apart_come_first(places):
    order = spread(places)
    assert sorted(order) == list(range(places))
    assert places < 8 or abs(order[0] - order[1]) > 2


def test_monotone_prints_each_network_and_every_plan(tmp_path, monkeypatch, capsys):
    file = tmp_path / "plans.json"
    command = f"monotone --networks ad --seconds 0.5 --ladders --json {file}"
    monkeypatch.setattr("sys.argv", command.split())
    monotone.main()
    plans, printed = json.loads(file.read_text())["ad"], capsys.readouterr().out
    assert {plan["slow"] for plan in plans} >= {0, 1 << 28}
    whole = max(plans, key=lambda plan: plan["fast"])
    assert f"{round(whole['cost']):,}" in printed and f"{whole['instructions']:,}" in printed
    monkeypatch.setattr("sys.argv", ["monotone", "--networks", "nobody"])
    with pytest.raises(SystemExit):
        monotone.main()
    assert "nobody unknown; there are" in capsys.readouterr().err


def test_ratios_are_of_budgets_at_which_both_move_bytes() -> None:
    ours = ["1,000 2.5 %", "0", "refused", "30", "50"]
    theirs = ["4,000 (3)", "10 (0)", "10 (0)", "refused", "50 (1)"]
    assert ratios(ours, theirs) == [0.25, 1.0]


def run_allocation(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> int:
    monkeypatch.setattr("sys.argv", ["allocation", *map(str, arguments)])
    return allocation.main()


def test_allocation_prints_each_instance(tmp_path, monkeypatch, capsys):
    (tmp_path / "small.30.csv").write_text("id,lower,upper,size\n0,0,2,10\n1,1,3,20\n2,2,4,10\n")
    assert run_allocation(monkeypatch, tmp_path) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:4] == ["small.30", "30", "30", "proved"]


@pytest.mark.parametrize(("text", "message"), [
    (None, "holds no *.csv"), ("id,lower,upper\n0,0,2\n", "no column 'size'"), ("", "no column 'id'"),
    ("id,lower,upper,size\n0,0,2,-5\n", "line 2: size is negative"),
    ("id,lower,upper,size\n0,0,2,4\n1,3,3,4\n", "line 3: upper is 3, not above lower, 3"),
    ("id,lower,upper,size\n0,0,two,4\n", "line 2: lower, upper and size must be whole numbers"),
    ("id,lower,upper,size\n0,0\n", "line 2: lower, upper and size must be whole numbers"),
    ("id,lower,upper,size\n0,0,1,4\n0,0,1,4\n", "two buffers have the id '0'"),
])  # fmt: skip
def test_a_wrong_file_of_allocations_is_named_in_one_line(text, message, tmp_path, monkeypatch, capsys):
    if text is not None:
        (tmp_path / "wrong.csv").write_text(text)
    assert run_allocation(monkeypatch, tmp_path) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ") and str(tmp_path) in line and message in line
    for wrong in ([tmp_path, "--zoo"], [tmp_path, "--nodes", "-1"]):
        with pytest.raises(SystemExit):
            run_allocation(monkeypatch, *wrong)

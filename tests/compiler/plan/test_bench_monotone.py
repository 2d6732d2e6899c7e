"""python -m bench.monotone: what counts as worse, and a run of it."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from bench.monotone import Count, Point, by_instructions, count, spread

ROOT = Path(__file__).resolve().parents[3]


def bench(*arguments):
    command = [sys.executable, "-m", "bench.monotone", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_worse_is_what_costs_more_than_a_smaller_budget():
    points = [Point(10, 0, 5.0, 9), Point(20, 0, 6.0, 8), Point(30, 0, 10.0, 7), Point(40, 0, 4.0, 9)]
    assert count(points) == Count(4, 2, 2.0)
    assert count(points, by_instructions) == Count(4, 1, 9 / 7)


def test_budgets_are_smaller_in_both_memories():
    assert count([Point(10, 100, 5.0, 1), Point(20, 0, 6.0, 1)]).worse == 0
    assert count([Point(10, 0, 5.0, 1), Point(10, 100, 6.0, 1)]).worse == 1


def test_a_refusal_above_what_works_is_worse_and_one_below_does_not_count():
    refused = Point(5, 0, math.inf, math.inf), Point(15, 0, math.inf, math.inf)
    assert count([*refused, Point(10, 0, 5.0, 1)]) == Count(2, 1, math.inf)


@pytest.mark.parametrize("places", [1, 2, 3, 8, 13])
def test_budgets_far_apart_come_first(places):
    order = spread(places)
    assert sorted(order) == list(range(places))
    assert places < 8 or abs(order[0] - order[1]) > 2


def test_a_line_for_each_network_and_every_plan(tmp_path):
    file = tmp_path / "plans.json"
    done = bench("--networks", "ad", "--seconds", 0.5, "--ladders", "--json", file)
    assert done.returncode == 0, done.stderr
    plans = json.loads(file.read_text())["ad"]
    assert {plan["slow"] for plan in plans} >= {0, 1 << 28}
    whole = max(plans, key=lambda plan: plan["fast"])
    assert f"{round(whole['cost']):,}" in done.stdout and f"{whole['instructions']:,}" in done.stdout


def test_networks_that_are_unknown_are_named():
    done = bench("--networks", "nobody")
    assert done.returncode == 2 and "nobody unknown; there are" in done.stderr

"""Benches of the planner: what counts as worse, ratios beside another compiler's, and a run of each command."""

import dataclasses
import json
import math

import pytest

from bench import ablation, allocation, monotone
from bench.float_twin import float_twin
from bench.monotone import Count, Point, by_instructions, count
from bench.planner import ratios
from tests.networks.folders import OWN
from tests.networks.plans import compiled
from tigris_pio import compile_model
from tigris_pio.compiler.plan.cost import cost_of

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


def test_ablation_switches_what_there_is_and_back(monkeypatch, capsys):
    """Without parked rows kws does not fit its smallest memory."""
    monkeypatch.setattr("sys.argv", ["ablation", "parked rows", "plans worth 0", "--networks", "kws"])
    ablation.main()
    without, other = (line.split()[-2] for line in capsys.readouterr().out.splitlines()[1:])
    assert without != "0" == other
    for switch in ablation.SWITCHES.values():
        with ablation.switched(switch):
            pass


def test_ratios_are_of_budgets_at_which_both_move_bytes() -> None:
    ours = ["1,000 2.5 %", "0", "refused", "30", "50"]
    theirs = ["4,000 (3)", "10 (0)", "10 (0)", "refused", "50 (1)"]
    assert ratios(ours, theirs) == [0.25, 1.0]


def test_allocation_prints_each_instance_and_names_a_wrong_one(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["allocation", str(tmp_path)])
    (tmp_path / "small.30.csv").write_text("id,lower,upper,size\n0,0,2,10\n1,1,3,20\n2,2,4,10\n")
    assert allocation.main() == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:4] == ["small.30", "30", "30", "proved"]
    (tmp_path / "wrong.csv").write_text("id,lower,upper,size\n0,0,2,-5\n")
    assert allocation.main() == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ") and str(tmp_path) in line and "line 2: size is negative" in line


# A plan is judged by the instructions of the chip that it is made for.


@pytest.mark.parametrize(("chip", "of_int8", "of_float32"), [
    ("", "rv32imc", "rv32imc"), ("esp32c3", "rv32imc", "rv32imc"), ("esp32s3", "esp32s3", "cortex-m7"),
    ("esp32p4", "esp32p4", "cortex-m7"),
    ("cortex-m33", "cortex-m4", "cortex-m4"), ("cortex-m7", "cortex-m7", "cortex-m7"),
    ("cortex-m85", "cortex-m55", "cortex-m55"),
])  # fmt: skip
def test_of_networks_in_float32_a_chip_with_floating_point_is_one(chip: str, of_int8: str, of_float32: str) -> None:
    network = OWN / "ad_int8.onnx"
    for model, processor in ((network, of_int8), (float_twin(network), of_float32)):
        made = compile_model(model, fast="16K", chip=chip)
        assert made.plan.processor == made.report["planned_for"] == processor


@pytest.mark.thorough
def test_plans_for_two_chips_differ_and_each_is_good_on_its_own() -> None:
    differ = 0
    for network, fast in (("kws", "6K"), ("kws", "12K")):
        plans = [compiled(network, fast=fast, slow="1M", chip=chip).plan for chip in ("", "cortex-m4")]
        differ += plans[0].stages != plans[1].stages
        for own, other in (plans, plans[::-1]):
            assert cost_of(own) < 1.001 * cost_of(dataclasses.replace(other, processor=own.processor))
    assert differ

"""What the search says that it tried."""

from __future__ import annotations

import dataclasses
import json
import math

import pytest
from click.testing import CliRunner

from tests.compiler.synthetic import chain, random_program
from tests.networks.folders import OWN
from tests.networks.plans import compiled
from tigris_pio.cli.main import cli
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.plan import search
from tigris_pio.compiler.plan.aim import Aim, WeightOptions, Windows
from tigris_pio.compiler.plan.attempts import Attempts
from tigris_pio.compiler.plan.cost import op_costs
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.search import find_plan


@pytest.mark.parametrize(("seed", "slow"), [(0, 0), (3, 1 << 20), (4, 0)])
def test_the_last_best_is_the_plan(seed: int, slow: int) -> None:
    index = ProgramIndex.of(random_program(seed, 8))
    whole = find_plan(ProgramIndex.of(index.program), Budget(None), 4, WeightOptions())
    assert whole is not None
    fast = whole.fast_bytes * 3 // 5
    plan = find_plan(index, Budget(fast, slow), 4, WeightOptions())
    attempts = index.cache(Attempts)
    best = [attempt for attempt in attempts if attempt.outcome == "best so far"]
    assert attempts[0].how == "first" and attempts[0].slow_limit == 0
    assert bool(best) == (plan is not None)
    if plan is not None:
        assert (best[-1].fast, best[-1].slow, best[-1].stages) == (plan.fast_bytes, plan.slow_bytes, len(plan.stages))
        assert best[-1].cost == min(attempt.cost for attempt in best)
    for attempt in attempts:
        assert (attempt.fast is None) == (attempt.outcome == "no cut")
        assert attempt.outcome != "exceeds" or attempt.fast > fast or attempt.slow > attempt.slow_limit


def test_only_parked_windows_in_more_room_must_be_cut_for_less_than_what_failed() -> None:
    aim = Aim.of(Budget(1000, 0), 0, 4, WeightOptions())
    parked = dataclasses.replace(aim, windows=Windows.PARKED)
    for length, most in ((14, 5.0), (8, math.inf)):
        attempts = search._Attempts(ProgramIndex.of(random_program(0, length)), aim, None)
        attempts._exceeding[False] = 1100, 5.0
        assert attempts._failed(parked.at(1150)) == most
        for other in (parked.at(1100), parked.at(900), aim.at(1150), dataclasses.replace(parked.at(1150), lowest=True)):
            assert attempts._failed(other) == math.inf


@pytest.mark.parametrize(("times", "done"), ((1.0, True), (1.05, True), (1.5, False)))
def test_a_plan_that_costs_much_is_followed_by_what_is_tried_without_one(times: float, done: bool) -> None:
    """What is tried late finds plans that cost less than one that makes much again: without this a network with dense
    blocks cost 2.75 times what it does."""
    index = ProgramIndex.of(chain(6, 32, 16))
    aim = Aim.of(Budget(900), 0, 4, WeightOptions())
    attempts = search._Attempts(index, aim, None)
    late = dataclasses.replace(aim, windows=Windows.STAIRS)
    assert not attempts.done(late), "nothing was found"
    attempts.make(aim)
    assert attempts.best is not None and attempts.least is not None
    whole = sum(op_costs(index).whole)
    attempts.aim = dataclasses.replace(aim, most=times * (whole + attempts.least) - whole)
    assert attempts.done(late) == done


def test_analyze_shows_them() -> None:
    """As text it does so in tests/compiler/test_choose.py."""
    shown = CliRunner().invoke(cli, ["analyze", str(OWN / "kws_int8.onnx"), "-m", "4900", "--json"])
    document, made = json.loads(shown.stdout), compiled("kws", fast=4900)
    assert [row["outcome"] for row in document["attempts"]] == [attempt.outcome for attempt in made.attempts]
    best = [row for row in document["attempts"] if row["outcome"] == "best so far"]
    assert best[-1]["fast"] == document["memory"]["fast_peak"]

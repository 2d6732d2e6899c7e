"""The search against the cheapest plan there is, of small programs: see `oracle/`.

`python -m tests.compiler.plan.oracle.compare` prints every case.
"""

import dataclasses
import gc
import json
import math
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.calibration_cases import Subject, compiled_at, content_of, network_subjects
from bench.emulator import MACHINES, build, measure
from tests.compiler.plan.oracle.compare import ALIGNMENT, cases, judge, statistics
from tests.compiler.plan.oracle.cuts import all_cuts
from tests.compiler.plan.oracle.exhaustive import Planner
from tests.compiler.plan.oracle.networks import random_network
from tests.compiler.synthetic import Builder, chain, random_program
from tests.harness.tiers import examples
from tests.networks.folders import OWN
from tests.networks.plans import compiled
from tigris_pio.cli.main import cli
from tigris_pio.compiler.instructions.predict import PROCESSORS
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.compiler.plan import search
from tigris_pio.compiler.plan.aim import Aim, WeightOptions, Windows
from tigris_pio.compiler.plan.alike import Alike
from tigris_pio.compiler.plan.attempts import Attempts
from tigris_pio.compiler.plan.cost import op_costs
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.prediction import predicted_instructions, stage_instructions
from tigris_pio.compiler.plan.search import find_plan
from tigris_pio.compiler.plan.segment import Segment
from tigris_pio.compiler.plan.uncollected import uncollected
from tigris_pio.format.enums import Home

#: Bounds on the search's results, by number of cases; tighten them when the search improves. Every run tests the first
#: FEW cases, `make fuzz` all EVERY.
FEW, EVERY = 1, 300
LEAST = {FEW: {"close": 1.0, "exact": 1.0}, EVERY: {"close": 0.99, "exact": 0.99}}
MOST = {
    FEW: {"mean": 1.0, "worst": 1.0, "refused": 0, "undecided": 0},
    EVERY: {"mean": 1.0005, "worst": 1.01, "refused": 0, "undecided": 30},
}


@pytest.mark.fuzzed
def test_found_plans_beside_the_cheapest():
    count = examples(FEW, FEW, EVERY)
    found = statistics([judge(case) for case in cases(count)])
    assert found["compared"] + found["refused"] >= 0.7 * count, found
    short = {name: found[name] for name, least in LEAST[count].items() if found[name] < least}
    beyond = {name: found[name] for name, most in MOST[count].items() if found[name] > most}
    assert not short and not beyond, found


@pytest.mark.parametrize(("seed", "slow"), [(0, 1 << 20), (4, 0)])
def test_the_cheapest_plan_costs_no_more_with_more_memory(seed, slow):
    cuts = all_cuts(random_network(seed, 3))
    planner, small = Planner(cuts, ALIGNMENT), Planner(cuts, ALIGNMENT, small=True)
    smallest = small.smallest(slow)
    found = [planner.cheapest(Budget(smallest + more, slow)) for more in (0, 4, 60, 300, 3000)]
    costs = [plan.cost for plan in found]
    assert costs == sorted(costs, reverse=True) and costs[0] > costs[-1]
    assert small.cheapest(Budget(smallest - ALIGNMENT, slow)) is None


# The search reports its attempts.


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
    """Late attempts find cheaper plans than one that recomputes much; without them a network with dense blocks costs
    2.75 times as much."""
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
    """tests/compiler/test_choose.py tests the text of `analyze`; this is the JSON."""
    shown = CliRunner().invoke(cli, ["analyze", str(OWN / "kws_int8.onnx"), "-m", "4900", "--json"])
    document, made = json.loads(shown.stdout), compiled("kws", fast=4900)
    assert [row["outcome"] for row in document["attempts"]] == [attempt.outcome for attempt in made.attempts]
    best = [row for row in document["attempts"] if row["outcome"] == "best so far"]
    assert best[-1]["fast"] == document["memory"]["fast_peak"]


# Segments that are alike get the same bands; segments with a difference that affects bands are not alike.


def _blocks(count: int, skipped: bool) -> ProgramIndex:
    """Blocks of two windows; with `skipped`, a skip connection keeps the input of the first alive to the end."""
    builder = Builder()
    start = tensor = builder.input(24, 16)
    for _ in range(count):
        tensor = builder.window(builder.window(tensor, 3, 1, 1, 32), 3, 1, 1, 16)
    return ProgramIndex.of(builder.program(builder.pointwise(tensor, start) if skipped else tensor))


def _key(index: ProgramIndex, first: int, end: int, home: Home = Home.FAST) -> object:
    names = (*index.inputs(first, end), *index.outputs(first, end))
    return Alike.of(index).segment(Segment(first, end, True, True), dict.fromkeys(names, home))


def test_blocks_of_one_kind_are_alike() -> None:
    index = _blocks(4, skipped=False)
    assert _key(index, 0, 2) == _key(index, 2, 4) == _key(index, 4, 6)
    assert _key(index, 0, 2) != _key(index, 1, 3)
    assert _key(index, 0, 2) != _key(index, 0, 2, Home.SLOW)


def test_what_ends_with_a_segment_makes_a_difference() -> None:
    index = _blocks(4, skipped=True)
    assert _key(index, 2, 4) == _key(index, 4, 6)
    assert _key(index, 0, 2) != _key(index, 2, 4)


# The collector of reference cycles rests during a search, and only then.


@uncollected
def is_collecting(fails: bool) -> bool:
    if fails:
        raise ValueError("no")
    return gc.isenabled()


@pytest.mark.parametrize("active", (True, False))
def test_the_collector_is_as_it_was_afterwards(active: bool) -> None:
    before = gc.isenabled()
    try:
        (gc.enable if active else gc.disable)()
        assert not is_collecting(False)
        assert gc.isenabled() == active
        with pytest.raises(ValueError):
            is_collecting(True)
        assert gc.isenabled() == active
    finally:
        (gc.enable if before else gc.disable)()


# Instructions that a plan is predicted to take, against what an emulated processor counts.


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The harness of the bench, by machine."""
    folder = tmp_path_factory.mktemp("bench")
    return {name: build(MACHINES[name], folder) for name in ("rv32imc", "cortex-m4", "cortex-m55")}


def check(programs: Mapping[str, Path], subject: Subject, made: Compiled) -> None:
    """On each machine."""
    content = content_of(subject, made)
    for name, program in programs.items():
        counted = measure(MACHINES[name], program, made.data, content, program.parent)
        assert counted.right or subject.dtype == "float32"
        assert predicted_instructions(made.plan, name) == pytest.approx(counted.run, rel=0.1), name


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "way", "fast"), [
    ("kws", "streamed", "8K"), ("sww", "hop 1", "4K"), ("plain", "batch 5", "8K"), ("plain", "streamed", "4K"),
    ("sww", "copied", "64K"), ("ad", "lz4", "64K"), ("sww", "slow memory", "2K"), ("branched", "", "16K"),
])  # fmt: skip
def test_other_ways_to_run(programs: dict[str, Path], name: str, way: str, fast: str) -> None:
    """Rows that come during the run, windows that overlap, batches, weights that are brought to fast memory; branches,
    maps that grow again, channels whose scale is not the usual one."""
    (subject,) = (one for one in network_subjects()
                  if (one.name, one.way, one.dtype) == (name, way, "int8") and fast in one.budgets)  # fmt: skip
    check(programs, subject, compiled_at(subject, fast))


def test_the_report_has_them_by_processor_and_stage() -> None:
    plan, document = compiled("kws", fast="8K").plan, compiled("kws", fast="8K").report
    assert set(document["predicted_instructions"]) == set(PROCESSORS) == set(MACHINES)
    for stage, shown in zip(plan.stages, document["stages"], strict=True):
        assert shown["predicted_instructions"] == stage_instructions(plan, stage)
    for processor, total in document["predicted_instructions"].items():
        assert total == predicted_instructions(plan, processor)

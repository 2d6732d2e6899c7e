"""The search against the cheapest plan there is, of small programs: see `oracle/`.

`python -m tests.compiler.plan.oracle.compare` prints every case.
"""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.calibration_cases import Subject, compiled_at, network_subjects
from bench.emulator import MACHINES, build, measure
from bench.networks import content_of
from tests.compiler.plan.oracle.compare import ALIGNMENT, cases, judge, statistics
from tests.compiler.plan.oracle.model import cheapest, smallest
from tests.compiler.plan.oracle.networks import random_network
from tests.compiler.plan.oracle.ways import Ways
from tests.compiler.synthetic import random_program
from tests.harness.tiers import examples
from tests.networks.folders import OWN
from tests.networks.plans import compiled
from tigris_pio.cli.main import cli
from tigris_pio.compiler.cost.model import PROCESSORS
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.pipeline import Compiled
from tigris_pio.compiler.plan.attempt import Attempt
from tigris_pio.compiler.plan.cost import plan_cost
from tigris_pio.compiler.plan.index import ProgramIndex
from tigris_pio.compiler.plan.prediction import predict_stage, predicted_instructions
from tigris_pio.compiler.plan.search import find_plan
from tigris_pio.compiler.plan.settings import WeightOptions

#: Bounds on the search's results, by number of cases; tighten them when the search improves. Every run tests the first
#: FEW cases, `make fuzz` all EVERY.
FEW, EVERY = 1, 300
LEAST = {FEW: {"exact": 1.0}, EVERY: {"within 2 %": 0.6, "exact": 0.6}}
MOST = {
    FEW: {"mean": 1.09, "worst": 1.09, "refused": 0, "undecided": 0},
    EVERY: {"mean": 1.25, "worst": 6.0, "refused": 30, "undecided": 3},
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
    ways = Ways(ProgramIndex.of(random_network(seed, 3)), ALIGNMENT)
    _, lowest = smallest(ways)
    found = [cheapest(ways, Budget(lowest.fast_bytes + more, slow)) for more in (0, 4, 60, 300, 3000)]
    costs = [plan_cost(index, plan.drafts) for index, plan in filter(None, found)]
    assert len(costs) == len(found) and costs == sorted(costs, reverse=True) and costs[0] > costs[-1]
    assert cheapest(ways, Budget(lowest.fast_bytes - ALIGNMENT)) is None


# The search reports its attempts.


@pytest.mark.parametrize(("seed", "slow"), [(0, 0), (3, 1 << 20), (4, 0)])
def test_the_last_best_is_the_plan(seed: int, slow: int) -> None:
    index = ProgramIndex.of(random_program(seed, 8))
    whole = find_plan(index, Budget(None), 4, WeightOptions())
    assert whole is not None
    fast = whole.fast_bytes * 3 // 5
    attempts: list[Attempt] = []
    plan = find_plan(index, Budget(fast, slow), 4, WeightOptions(), tried=attempts)
    best = [attempt for attempt in attempts if attempt.outcome == "best so far"]
    assert bool(best) == (plan is not None)
    if plan is not None:
        assert (best[-1].fast, best[-1].slow, best[-1].stages) == (plan.fast_bytes, plan.slow_bytes, len(plan.stages))
        assert best[-1].cost == min(attempt.cost for attempt in best)
    for attempt in attempts:
        assert (attempt.fast > fast) == (attempt.outcome == "exceeds")


def test_analyze_shows_them() -> None:
    """tests/compiler/test_choose.py tests the text of `analyze`; this is the JSON."""
    shown = CliRunner().invoke(cli, ["analyze", str(OWN / "kws_int8.onnx"), "-m", "4900", "--json"])
    document, made = json.loads(shown.stdout), compiled("kws", fast=4900)
    assert [row["outcome"] for row in document["attempts"]] == [attempt.outcome for attempt in made.attempts]
    best = [row for row in document["attempts"] if row["outcome"] == "best so far"]
    assert best[-1]["fast"] == document["memory"]["fast_peak"]


# Instructions that a plan is predicted to take, against what an emulated processor counts.


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The harness of the bench, by machine."""
    folder = tmp_path_factory.mktemp("bench")
    return {name: build(MACHINES[name], folder) for name in ("rv32imc", "cortex-m4", "cortex-m55")}


def check(programs: Mapping[str, Path], subject: Subject, made: Compiled) -> None:
    """On each machine."""
    content = content_of(made, subject.inputs)
    for name, program in programs.items():
        counted = measure(MACHINES[name], program, made.data, content)
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
        assert shown["predicted_instructions"] == predict_stage(plan, stage).instructions
    for processor, total in document["predicted_instructions"].items():
        assert total == predicted_instructions(plan, processor)

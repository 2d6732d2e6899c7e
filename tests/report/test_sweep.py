"""Other budgets: plans that were made, smallest ones that work, and an end when time runs out."""

import itertools

import pytest

from tests.harness.tiers import examples, sampled
from tests.networks.folders import OWN
from tigris_pio.compiler.choose import plan_of
from tigris_pio.compiler.ir.plan import Budget, ExecutionPlan
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import Front, front
from tigris_pio.compiler.plan.order.candidates import orders
from tigris_pio.compiler.plan.refusal import AMPLE_SLOW
from tigris_pio.report.sections import sweep_section
from tigris_pio.report.sweep import Sweep, sweep

CHOSEN = 2200  #: bytes; both networks need slow memory with so few


@pytest.fixture(scope="module", params=sampled(["micro_speech", "resnet"], fast=1))
def start(request: pytest.FixtureRequest) -> Front:
    return front(OWN / f"{request.param}_int8.onnx", CompileOptions())


def plan(start: Front, fast: int | None, slow: int = 0) -> ExecutionPlan | None:
    return plan_of(orders(start.program)[0], CompileOptions(budget=Budget(fast, slow)))


def test_every_point_is_a_plan_and_the_smallest_are_the_smallest(start: Front) -> None:
    found = sweep(start, CompileOptions(budget=Budget(CHOSEN)), seconds=1e9)
    budgets = [point.budget for point in found.points]
    assert found.complete and budgets == sorted(set(budgets)) and len(budgets) >= 8
    assert {found.least, found.without_slow, found.whole, CHOSEN} <= set(budgets)
    for point in found.points[:: examples(3, 1)]:
        made = plan(start, point.budget, AMPLE_SLOW)
        assert made is not None and (made.fast_bytes, made.slow_bytes) == (point.fast, point.slow)
        assert point.fast <= point.budget
        assert point.traffic == sum(stage.slow_read + stage.slow_written for stage in made.stages)
        assert (point.traffic == 0) == (point.slow == 0)
    assert found.points[-1].banded == 0 and found.points[-1].calls == sum(op.images for op in start.program.ops)
    assert found.points[0].budget == found.least < found.without_slow and found.points[0].slow > 0
    for smallest, slow in ((found.without_slow, 0), (found.least, AMPLE_SLOW)):
        below = plan(start, smallest - max(16, smallest // 50), slow)
        assert plan(start, smallest, slow) and (below is None or "in slow memory" in "".join(below.warnings))


def test_it_ends_when_time_runs_out(start: Front) -> None:
    ticks = itertools.count()
    options = CompileOptions(budget=Budget(CHOSEN))
    found = sweep(start, options, seconds=27, clock=lambda: float(next(ticks)))
    assert not found.complete and 2 <= len(found.points) < 8
    text = sweep_section(found, CHOSEN).parts[0].text  # type: ignore[union-attr]
    assert text.startswith(f"{found.without_slow:,} bytes are enough without slow memory. Smaller budgets were")
    made = plan(start, found.without_slow)
    assert made is not None
    own = sweep(start, options, made, seconds=0)
    assert own.without_slow == made.fast_bytes <= found.without_slow < own.whole, "the page's own plan counts"
    alone = Sweep(found.points[-1:], found.whole, found.whole, found.whole, 1, False)
    assert len(sweep_section(alone, None).parts) == 1, "no chart of one point"

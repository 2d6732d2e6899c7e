"""Node tests that pass give the same bytes when memory is scarce."""

from __future__ import annotations

import numpy as np
import pytest

from tests.harness.tiers import sampled
from tests.node_tests.cases import Case, direct_float_cases
from tests.node_tests.runner import ways, with_constants
from tigris_pio import Session
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import back, front
from tigris_pio.errors import BudgetError, TigrisError

#: Shares of the fast memory that a plan takes when it may; the rest is offered as slow memory.
SHARES = (0.6, 0.3)
#: Of so many parts that the node tests come in, the first are tried.
PARTS, TRIED = 64, 16


def _results(plan: object, arrays: dict[str, np.ndarray]) -> list[bytes]:
    session = Session(plan)  # type: ignore[arg-type]
    return [value.tobytes() for value in session.run({io.name: arrays[io.name] for io in session.inputs}).values()]


def _squeezed(case: Case) -> tuple[int, list[str]]:
    """Plans made with less memory, and what differs."""
    recording = case.recordings[0]
    arrays = dict(zip((value.name for value in case.model.graph.input), recording.inputs, strict=True))
    count, problems = 0, []
    bound = list(ways(case))[-1]
    try:
        start = front(with_constants(case.model, {name: arrays[name] for name in bound}), CompileOptions())
        ample = back(start, CompileOptions())
    except TigrisError:
        return 0, []
    expected = _results(ample, arrays)
    for share in SHARES:
        budget = Budget(max(64, int(ample.plan.fast_bytes * share)), 16 << 20)
        try:
            plan = back(start, CompileOptions(budget))
        except BudgetError:
            continue
        count += 1
        if _results(plan, arrays) != expected:
            problems.append(f"{case.name} at {share:g}")
    return count, problems


@pytest.mark.parametrize("part", sampled(range(TRIED), 1))
def test_budgets_do_not_change_results(part: int) -> None:
    results = [_squeezed(case) for case in direct_float_cases()[part::PARTS]]
    assert [problem for _, problems in results for problem in problems] == []
    assert sum(count for count, _ in results) > 0

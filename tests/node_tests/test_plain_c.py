"""Node tests as plain C: the bytes of the plan, with memory in plenty and when it is scarce."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compiler.codegen.c_model import Array, CModel, build
from tests.harness.tiers import examples
from tests.node_tests.cases import Case, direct_float_cases, quantised_cases
from tests.node_tests.runner import ways, with_constants
from tigris_pio import Session
from tigris_pio.compiler.ir.plan import Budget
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import Compiled, back, front
from tigris_pio.errors import BudgetError, TigrisError

#: Shares of the fast memory that a plan takes when it may, in turn.
SHARES = (1.0, 0.6, 0.3)


def plan_of(case: Case, share: float) -> tuple[Compiled, dict[str, Array]] | None:
    """The first way in which a case compiles, and its inputs."""
    recording = case.recordings[0]
    arrays = dict(zip((value.name for value in case.model.graph.input), recording.inputs, strict=True))
    for bound in ways(case):
        try:
            start = front(with_constants(case.model, {name: arrays[name] for name in bound}), CompileOptions())
            ample = back(start, CompileOptions())
        except TigrisError:
            continue
        try:
            size = max(64, int(ample.plan.fast_bytes * share))
            return (ample if share == 1.0 else back(start, CompileOptions(Budget(size, 16 << 20)))), arrays
        except BudgetError:
            return ample, arrays
    return None


def wrong(cases: tuple[Case, ...], folder: Path) -> Iterator[str]:
    """Those whose C gives other bytes, and at last how many were tried."""
    found = [(case.name, plan) for place, case in enumerate(cases) if (plan := plan_of(case, SHARES[place % 3]))]
    generated = [plan.codegen(None, f"n{place}", layout="split") for place, (_, (plan, _)) in enumerate(found)]
    library = build(generated, folder)
    for (name, (plan, arrays)), made in zip(found, generated, strict=True):
        with Session(plan) as session:
            stored = {io.name: io.to_stored(io.check_model_array(arrays[io.name])) for io in session.inputs}
            expected = session.run_raw(stored)
            got = CModel(library, plan, made, session).run(stored)
            if any(got[output].tobytes() != array.tobytes() for output, array in expected.items()):
                yield name
    yield str(len(found))


def check(cases: tuple[Case, ...], folder: Path, least: int) -> None:
    *different, count = wrong(cases, folder)
    assert different == []
    assert int(count) >= least


@pytest.mark.fuzzed
@pytest.mark.thorough
def test_float_ones(tmp_path: Path) -> None:
    check(direct_float_cases()[:: examples(6, 6, 1)], tmp_path, 120)


def test_quantised_ones(tmp_path: Path) -> None:
    check(quantised_cases()[:: examples(16, 2)], tmp_path, examples(1, 10))

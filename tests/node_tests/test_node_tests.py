"""ONNX's own node tests through compiler and runtime: `make test` two of each operator, `make test-all` all."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.harness.tiers import examples
from tests.node_tests.cases import direct_float_cases, quantised_cases, spread
from tests.node_tests.runner import Outcome, Verdict, judge

#: Tests that pass at least; raised whenever more do.
FLOORS = {"float32": examples(fast=230, everything=762), "quantised": examples(fast=9, everything=24)}
#: The reference places corners by the size before rounding; PyTorch, which exports this mode, and onnxruntime do not.
DECIDED = frozenset(f"test_resize_downsample_scales_{mode}_align_corners" for mode in ("cubic", "linear"))


@pytest.fixture(scope="module", params=FLOORS)
def verdicts(request: pytest.FixtureRequest) -> tuple[str, Sequence[Verdict]]:
    """The kind of tests and how each ended."""
    cases = direct_float_cases() if request.param == "float32" else quantised_cases()
    chosen = spread([case for case in cases if case.name not in DECIDED], most=examples(2, len(cases)))
    return request.param, [judge(case) for case in chosen]


def test_none_ends_badly(verdicts: tuple[str, Sequence[Verdict]]) -> None:
    bad = [verdict for verdict in verdicts[1] if verdict.outcome not in (Outcome.PASSED, Outcome.REFUSED)]
    assert [f"{verdict.name}: {verdict.outcome.name}: {verdict.reason}" for verdict in bad] == []


def test_as_many_pass_as_before(verdicts: tuple[str, Sequence[Verdict]]) -> None:
    kind, found = verdicts
    assert sum(verdict.outcome == Outcome.PASSED for verdict in found) >= FLOORS[kind]


def test_refusals_name_the_node(verdicts: tuple[str, Sequence[Verdict]]) -> None:
    refused = [verdict for verdict in verdicts[1] if verdict.outcome == Outcome.REFUSED]
    nameless = [verdict for verdict in refused
                if verdict.operator.split(".")[-1] not in verdict.reason and "(graph " not in verdict.reason]
    assert [f"{verdict.name}: {verdict.reason}" for verdict in nameless] == []

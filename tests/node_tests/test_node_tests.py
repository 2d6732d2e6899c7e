"""ONNX's own node tests, all of them, through compiler and runtime."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.harness import tiers
from tests.node_tests.cases import Case, direct_float_cases, quantised_cases
from tests.node_tests.runner import Outcome, Verdict, judge

#: `make test` runs the first test of each operator.
EVERY = tiers.chosen() != "fast"
#: Tests that pass; raised whenever more do.
FLOOR = 762 if EVERY else 100
QUANTISED_FLOOR = 24 if EVERY else 5
#: The reference places corners by the size before rounding; PyTorch, which exports this mode, and onnxruntime do not.
DECIDED = frozenset(f"test_resize_downsample_scales_{mode}_align_corners" for mode in ("cubic", "linear"))


def chosen(cases: Sequence[Case]) -> Sequence[Case]:
    """The cases of the tier."""
    return cases if EVERY else list({case.operator: case for case in reversed(cases)}.values())


@pytest.fixture(scope="module")
def verdicts() -> Sequence[Verdict]:
    return [judge(case) for case in chosen(direct_float_cases()) if case.name not in DECIDED]


@pytest.fixture(scope="module")
def quantised() -> Sequence[Verdict]:
    return [judge(case) for case in chosen(quantised_cases())]


@pytest.mark.parametrize("outcome", [Outcome.WRONG, Outcome.REFUSED_BY_RUNTIME, Outcome.TRACEBACK])
def test_no_quantised_one_ends_badly(quantised: Sequence[Verdict], outcome: Outcome) -> None:
    assert [f"{verdict.name}: {verdict.reason}" for verdict in quantised if verdict.outcome == outcome] == []


def test_as_many_quantised_ones_pass_as_before(quantised: Sequence[Verdict]) -> None:
    assert sum(verdict.outcome == Outcome.PASSED for verdict in quantised) >= QUANTISED_FLOOR


@pytest.mark.parametrize("outcome", [Outcome.WRONG, Outcome.REFUSED_BY_RUNTIME, Outcome.TRACEBACK])
def test_none_ends_badly(verdicts: Sequence[Verdict], outcome: Outcome) -> None:
    assert [f"{verdict.name}: {verdict.reason}" for verdict in verdicts if verdict.outcome == outcome] == []


def test_as_many_pass_as_before(verdicts: Sequence[Verdict]) -> None:
    assert sum(verdict.outcome == Outcome.PASSED for verdict in verdicts) >= FLOOR


def test_refusals_name_the_node(verdicts: Sequence[Verdict]) -> None:
    refused = [verdict for verdict in verdicts if verdict.outcome == Outcome.REFUSED]
    nameless = [verdict for verdict in refused
                if verdict.operator.split(".")[-1] not in verdict.reason and "(graph input)" not in verdict.reason]
    assert [f"{verdict.name}: {verdict.reason}" for verdict in nameless] == []

"""ONNX's own node tests through compiler and runtime: `make test` two of each operator, `make test-all` all."""

import pytest

from tests.harness.tiers import examples
from tests.node_tests.cases import direct_float_cases, quantised_cases, spread
from tests.node_tests.runner import Outcome, judge

#: Tests that pass at least; raised whenever more do.
FLOORS = {"float32": examples(fast=230, everything=762), "quantised": examples(fast=9, everything=24)}
#: The reference places corners by the size before rounding; PyTorch, which exports this mode, and onnxruntime do not.
DECIDED = frozenset(f"test_resize_downsample_scales_{mode}_align_corners" for mode in ("cubic", "linear"))


@pytest.mark.parametrize("kind", FLOORS)
def test_as_many_pass_as_before_and_refusals_name_the_node(kind: str) -> None:
    cases = direct_float_cases() if kind == "float32" else quantised_cases()
    found = [judge(case) for case in spread([case for case in cases if case.name not in DECIDED],
                                            most=examples(2, len(cases)))]
    wrong = [verdict for verdict in found if verdict.outcome not in (Outcome.PASSED, Outcome.REFUSED)
             or (verdict.outcome == Outcome.REFUSED and "(graph " not in verdict.reason
                 and verdict.operator.split(".")[-1] not in verdict.reason)]
    assert [f"{verdict.name}: {verdict.outcome.name}: {verdict.reason}" for verdict in wrong] == []
    assert sum(verdict.outcome == Outcome.PASSED for verdict in found) >= FLOORS[kind]

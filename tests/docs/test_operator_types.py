"""docs/operators.md says what the compiler does: each row's smallest models compile in the types that it names."""

import pytest

from tests.docs.operator_types import onnx_types, tflite_types, written
from tests.harness.tiers import sampled
from tools.operators_page import PAGE, render

ROWS = written()


def test_the_page_is_the_rendered_one() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(ROWS.onnx, ROWS.tflite), "make generated"


@pytest.mark.thorough
@pytest.mark.parametrize("operator", ROWS.onnx)
def test_operators_of_onnx_compute_in_the_types_that_are_listed(operator: str) -> None:
    assert onnx_types(operator) == ROWS.onnx[operator]


@pytest.mark.parametrize("operator", sampled([name for name, types in ROWS.tflite.items() if types], 16))
def test_operators_of_tflite_compute_in_the_types_that_are_listed(operator: str) -> None:
    assert tflite_types(operator) == ROWS.tflite[operator]

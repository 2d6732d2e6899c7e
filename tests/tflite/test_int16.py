"""Every operator of int16, and networks of int16 and int8: TensorFlow Lite Micro's bytes, at any budget."""

from __future__ import annotations

import pytest

from tests.tflite.cases import merged
from tests.tflite.cases_int16 import CASES
from tests.tflite.compare import check_exact
from tigris_pio.format.enums import DType


@pytest.mark.parametrize("name", CASES)
def test_exact(name: str) -> None:
    """All cases of an operator side by side in one file."""
    model, values = merged(list(CASES[name]()))
    compiled = check_exact(model, model, values)
    kinds = {op.kind for op in compiled.plan.program.ops if op.dtype == DType.FLOAT32}
    assert not kinds, kinds

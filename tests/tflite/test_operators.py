"""Every operator in int8: TensorFlow Lite Micro's bytes, at any budget."""

from __future__ import annotations

import pytest

from tests.tflite.cases import CASES, merged
from tests.tflite.compare import check_exact
from tigris_pio.format.enums import DType, OpKind

#: Operators that are not yet computed in integers throughout.
FLOAT = frozenset(("NOT_EQUAL", "ARG_MAX", "ARG_MIN", "L2_NORMALIZATION", "QUANTIZE", "others",
                   *(name for name in CASES if name.endswith(" of integers"))))


@pytest.mark.parametrize("name", CASES)
def test_exact(name: str) -> None:
    """All cases of an operator side by side in one file."""
    model, values = merged(list(CASES[name]()))
    compiled = check_exact(model, model, values)
    kinds = {op.kind for op in compiled.plan.program.ops if op.dtype == DType.FLOAT32 and op.kind != OpKind.CAST}
    assert name in FLOAT or not kinds, kinds

"""A network of int16 and int8: TensorFlow Lite Micro's bytes at any budget."""

from __future__ import annotations

import numpy as np

from tests.tflite.cases_int16 import mixed_network
from tests.tflite.compare import check_exact, random_input
from tests.tflite.tflm import Tflm
from tigris_pio import Session, compile_model
from tigris_pio.format.enums import DType, Strategy


def test_every_budget_gives_the_references_bytes() -> None:
    """With copied and compressed weights, and in rolling stages."""
    data = mixed_network()
    x = random_input((1, 24, 10, 4))
    compiled = check_exact(data, data, {"x": x})
    expected = Tflm(data).run([x])[0]
    types = {op.dtype for op in compiled.plan.program.ops}
    assert types == {DType.INT8, DType.INT16}
    assert len(np.unique(expected)) > 2
    for options in ({"copy_weights": True}, {"compress": "lz4"}, {"fast": "2K", "slow": "64K"}, {"fast": "3K"}):
        plan = compile_model(data, **options)  # type: ignore[arg-type]
        with Session(plan) as session:
            assert np.array_equal(session.run({"x": x})["y"], expected), options
        if options == {"fast": "3K"}:
            assert any(stage.strategy is Strategy.ROLLING for stage in plan.plan.stages)

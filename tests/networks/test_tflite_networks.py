"""The project's networks as TensorFlow Lite files: recorded bytes, and the memory of their ONNX twins."""

from __future__ import annotations

import numpy as np
import pytest

from tests.networks.folders import INT8, OWN, Network
from tigris_pio import Session, compile_model
from tigris_pio.errors import BudgetError

BUDGETS = ((None, 0), ("16K", "64K"), ("4K", "64K"))


@pytest.mark.parametrize("fast,slow", BUDGETS)
@pytest.mark.parametrize("name", INT8)
def test_every_recorded_output_comes_out_byte_for_byte(name: str, fast, slow):
    (data,) = Network(OWN, name).recorded()
    with Session(compile_model(OWN / f"{name}_int8.tflite", fast=fast, slow=slow)) as session:
        (source,), (result,) = session.inputs, session.outputs
        for stored, expected in zip(data["input_q"], data["output_tflm_q"], strict=True):
            outputs = session.run_raw({source.name: stored.reshape(source.stored_shape)})
            assert outputs[result.name].ravel().tolist() == expected.ravel().tolist()


def smallest(path) -> str:
    with pytest.raises(BudgetError) as refusal:
        compile_model(path, fast="64")
    return str(refusal.value).split("works is ")[1].split(" bytes")[0]


@pytest.mark.parametrize("name", INT8)
def test_memory_is_that_of_the_twin(name: str):
    model, twin = OWN / f"{name}_int8.tflite", OWN / f"{name}_int8.onnx"
    reports = [compile_model(path, fast="8K", slow="64K").report for path in (model, twin)]
    assert reports[0]["memory"] == reports[1]["memory"]
    assert reports[0]["traffic"] == reports[1]["traffic"]
    assert smallest(model) == smallest(twin)


@pytest.mark.parametrize("name", ("kws", "vww"))
def test_inputs_and_outputs_are_the_files_own(name: str):
    """Images as the file has them, [N, H, W, C], in integers."""
    (data,) = Network(OWN, name).recorded()
    path = OWN / f"{name}_int8.tflite"
    with Session(compile_model(path)) as session, Session(compile_model(path.read_bytes())) as from_bytes:
        (source,), (result,) = session.inputs, session.outputs
        assert (source.dtype, result.dtype) == ("int8", "int8")
        assert source.shape == {"kws": (1, 49, 10, 1), "vww": (1, 96, 96, 3)}[name]
        x = data["input_q"][0].reshape(source.stored_shape)
        y = session.run({source.name: x})[result.name]
        assert y.dtype == np.int8 and y.ravel().tolist() == data["output_tflm_q"][0].ravel().tolist()
        assert from_bytes.run({source.name: x})[result.name].tolist() == y.tolist()

"""Networks in `onnx`'s own backend test data: real graphs of 2015 to 2018, weights made by ConstantOfShape.

They compile, run on the host and give the outputs stored beside them.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import onnx
import onnx.backend.test
import pytest
from onnx import numpy_helper

from tests.harness.tiers import sampled
from tigris_pio import Session, compile_model

FOLDER = Path(onnx.backend.test.__file__).parent / "data" / "light"
#: All but VGG-19, half a gigabyte of weights in layers that AlexNet has, too.
NAMES = ["bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet", "squeezenet",
         "zfnet512"]
#: Seconds of processor time to compile; AlexNet and its like are bound by copying their weights.
LIMIT = {"resnet50": 10.0, "densenet121": 10.0, "inception_v2": 10.0}


def dummy(shape: tuple[int, ...]) -> np.ndarray:
    """The input that the stored outputs belong to: numbers from 0 up to 1."""
    count = int(np.prod(shape))
    return (np.arange(count).reshape(shape) / count).astype(np.float32)


@pytest.mark.parametrize("name", sampled(NAMES, ["squeezenet"]))
def test_stored_outputs(name: str) -> None:
    start = time.process_time()
    plan = compile_model(FOLDER / f"light_{name}.onnx")
    seconds = time.process_time() - start
    assert seconds < LIMIT.get(name, 60.0)
    session = Session(plan)
    results = session.run({io.name: dummy(io.shape) for io in session.inputs})
    (result,) = results.values()
    expected = numpy_helper.to_array(onnx.load_tensor(str(FOLDER / f"light_{name}_output_0.pb")))
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-5)

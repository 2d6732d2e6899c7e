"""Batches larger than one: every image like a run of its own, whole or spilled."""

import numpy as np
import onnx
import pytest

from tests.compiler.models import make, node, ort
from tigris_pio import Session, compile_model


def network(batch: int) -> onnx.ModelProto:
    rng = np.random.default_rng(0)
    weights = {name: rng.standard_normal(shape).astype(np.float32)
               for name, shape in (("w", (4, 2, 3, 3)), ("d", (4, 1, 3, 3)), ("g", (36, 5)))}
    nodes = [node("Conv", "x w", "a", pads=[1] * 4), node("Relu", "a", "b"),
             node("Conv", "b d", "c", group=4, strides=[2, 2], pads=[1] * 4), node("Flatten", "c", "f"),
             node("Gemm", "f g", "e"), node("Softmax", "e", "y", axis=0)]  # fmt: skip
    return make(nodes, {"x": (batch, 2, 6, 6)}, ["y"], weights)


@pytest.mark.parametrize(("fast", "slow", "batch"), [(None, 0, 2), ("2K", "64K", 3), ("600", "64K", 2)])
def test_a_batch_agrees_with_onnxruntime_at_any_budget(fast, slow, batch):
    model = network(batch)
    x = np.random.default_rng(1).standard_normal((batch, 2, 6, 6)).astype(np.float32)
    expected = ort(model, {"x": x})["y"]
    compiled = compile_model(model, fast=fast, slow=slow)
    with Session(compiled) as session:
        np.testing.assert_allclose(session.run({"x": x})["y"], expected, rtol=1e-5, atol=1e-6)
        # Every image is counted: the plan's peak but for the rounding of sizes to 16 bytes.
        assert 0 <= compiled.report["memory"]["fast_peak"] - session.memory.fast_peak < 16
        assert session.memory.slow_read == compiled.report["traffic"]["slow_read"]

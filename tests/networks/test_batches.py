"""Batches larger than one: every image like a run of its own, whole or spilled."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

from tigris_pio import Session, compile_model


def network(batch: int) -> onnx.ModelProto:
    rng = np.random.default_rng(0)
    weights = {
        "w": rng.standard_normal((4, 2, 3, 3)).astype(np.float32),
        "d": rng.standard_normal((4, 1, 3, 3)).astype(np.float32),
        "g": rng.standard_normal((36, 5)).astype(np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "d"], ["c"], group=4, strides=[2, 2], pads=[1, 1, 1, 1]),
        helper.make_node("Flatten", ["c"], ["f"]),
        helper.make_node("Gemm", ["f", "g"], ["e"]),
        helper.make_node("Softmax", ["e"], ["y"], axis=0),
    ]
    graph = helper.make_graph(
        nodes,
        "batches",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [batch, 2, 6, 6])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [batch, 5])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("batch", [2, 3])
@pytest.mark.parametrize("fast,slow", [(None, 0), ("2K", "64K"), ("600", "64K")])
def test_a_batch_agrees_with_onnxruntime_at_any_budget(fast, slow, batch):
    model = network(batch)
    x = np.random.default_rng(1).standard_normal((batch, 2, 6, 6)).astype(np.float32)
    expected = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0]
    compiled = compile_model(model, fast=fast, slow=slow)
    with Session(compiled) as session:
        np.testing.assert_allclose(session.run({"x": x})["y"], expected, rtol=1e-5, atol=1e-6)
        # Every image is counted: the plan's peak but for the rounding of sizes to 16 bytes.
        assert 0 <= compiled.report["memory"]["fast_peak"] - session.memory.fast_peak < 16
        assert session.memory.slow_read == compiled.report["traffic"]["slow_read"]

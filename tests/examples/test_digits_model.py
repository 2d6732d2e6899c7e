"""The model that examples/digits ships is what its README says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from sklearn.datasets import load_digits

MODEL = Path(__file__).resolve().parents[2] / "examples" / "digits" / "model"


@pytest.fixture(scope="module")
def model() -> onnx.ModelProto:
    return onnx.load(MODEL / "digits.onnx")


def test_accuracy_on_the_test_split() -> None:
    data = np.load(MODEL / "digits_test.npz")
    session = onnxruntime.InferenceSession(MODEL / "digits.onnx", providers=["CPUExecutionProvider"])
    scores = [session.run(["probability"], {"image": image[np.newaxis]})[0] for image in data["images"]]
    best = np.concatenate(scores).argmax(axis=1)
    assert len(best) == 450
    assert (best == data["labels"]).mean() >= 0.97


def test_test_digits_are_real_scans_with_their_labels() -> None:
    data, digits = np.load(MODEL / "digits_test.npz"), load_digits()
    keys = [image.astype(np.float32).tobytes() for image in digits.images]
    known = dict(zip(keys, digits.target, strict=True))
    assert [known[(image * 16).tobytes()] for image in data["images"]] == data["labels"].tolist()


def test_every_activation_is_quantised(model: onnx.ModelProto) -> None:
    made_by = {output: node.op_type for node in model.graph.node for output in node.output}
    for node in model.graph.node:
        if node.op_type in {"QuantizeLinear", "DequantizeLinear"}:
            continue
        assert {made_by.get(name) for name in node.input} == {"DequantizeLinear"}, node.name
        readers = {reader.op_type for reader in model.graph.node if node.output[0] in reader.input}
        assert readers == {"QuantizeLinear"}, node.name


def test_weights_are_symmetric_and_biases_int32(model: onnx.ModelProto) -> None:
    arrays = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    weights = [node for node in model.graph.node if node.op_type == "DequantizeLinear" and node.input[0] in arrays]
    assert len(weights) == 2 * 5
    for node in weights:
        values, scale, zero_point = (arrays[name] for name in node.input)
        assert values.dtype == (np.int32 if ".bias" in node.input[0] else np.int8)
        assert scale.shape == (values.shape[0],)
        assert not zero_point.any()

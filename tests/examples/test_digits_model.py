"""The model that examples/digits ships is what its README says."""

from __future__ import annotations

from pathlib import Path

import numpy as np

MODEL = Path(__file__).resolve().parents[2] / "examples" / "digits" / "model"


def test_accuracy_on_the_test_split() -> None:
    import onnxruntime

    data = np.load(MODEL / "digits_test.npz")
    session = onnxruntime.InferenceSession(MODEL / "digits.onnx", providers=["CPUExecutionProvider"])
    scores = [session.run(["probability"], {"image": image[np.newaxis]})[0] for image in data["images"]]
    best = np.concatenate(scores).argmax(axis=1)
    assert len(best) == 450
    assert (best == data["labels"]).mean() >= 0.97

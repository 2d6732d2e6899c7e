"""The model that examples/digits ships is what its README says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

MODEL = Path(__file__).resolve().parents[2] / "examples" / "digits" / "model"


def test_accuracy_on_the_test_split() -> None:
    import onnxruntime

    data = np.load(MODEL / "digits_test.npz")
    session = onnxruntime.InferenceSession(MODEL / "digits.onnx", providers=["CPUExecutionProvider"])
    scores = [session.run(["probability"], {"image": image[np.newaxis]})[0] for image in data["images"]]
    best = np.concatenate(scores).argmax(axis=1)
    assert len(best) == 450
    assert (best == data["labels"]).mean() >= 0.97


@pytest.mark.thorough
def test_test_digits_are_real_scans_with_their_labels() -> None:
    from sklearn.datasets import load_digits

    data, digits = np.load(MODEL / "digits_test.npz"), load_digits()
    keys = [image.astype(np.float32).tobytes() for image in digits.images]
    known = dict(zip(keys, digits.target, strict=True))
    assert [known[(image * 16).tobytes()] for image in data["images"]] == data["labels"].tolist()

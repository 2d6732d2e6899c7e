"""The model that examples/wake-word ships hears its word in a stream, and nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.compiler.models import ort
from tigris_pio import Compiled, Session, compile_model
from tigris_pio.format.enums import DType, OpKind

MODEL = Path(__file__).resolve().parents[2] / "examples" / "wake-word" / "model"
#: Above this probability the word was heard, at most so many steps of 30 ms from its end.
HEARD, NEAR = 0.8, 4


@pytest.fixture(scope="module")
def compiled() -> Compiled:
    return compile_model(MODEL / "wake.onnx", fast="8K", state={"next_past": "past"})


def test_every_word_is_heard_and_nothing_else(compiled: Compiled) -> None:
    data = np.load(MODEL / "wake_test.npz")
    words = 0
    with Session(compiled) as session:
        for features, ends in zip(data["features"].astype(np.float32), data["ends"], strict=True):
            session.reset()
            likely = np.array([session.run({"features": step[np.newaxis]})["probability"].item() for step in features])
            heard = np.flatnonzero(likely > HEARD)
            near = np.abs(heard[:, None] - ends[None, :]) <= NEAR
            assert near.any(axis=0).all(), "a word was missed"
            assert near.any(axis=1).all(), "something else was taken for the word"
            words += len(ends)
    assert words == 8


def test_it_runs_in_int8_and_its_past_is_a_ring(compiled: Compiled) -> None:
    program = compiled.plan.program
    assert {op.dtype for op in program.ops} == {DType.INT8} and not compiled.report["warnings"]
    assert [op.kind for op in program.ops if op.kind in (OpKind.SELECT, OpKind.COPY)] == []
    assert compiled.report["memory"]["states"] == 45 * 40
    assert compiled.report["memory"]["fast_peak"] < 4096


def test_onnxruntime_hears_the_same(compiled: Compiled) -> None:
    """A loop around the model without states: within two steps of 1/256."""
    model, past = onnx.load(MODEL / "wake.onnx"), np.zeros((1, 45, 40), np.float32)
    features = np.load(MODEL / "wake_test.npz")["features"][0].astype(np.float32)
    with Session(compiled) as session:
        for step in features[40:90]:
            results = ort(model, {"features": step[np.newaxis], "past": past})
            past = results["next_past"]
            found = session.run({"features": step[np.newaxis]})["probability"]
            assert np.abs(found - results["probability"]).max() <= 2 / 256
            assert np.array_equal(session.state()["past"], past)

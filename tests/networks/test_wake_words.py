"""Streaming wake words of the package pymicro-wakeword, where it is installed or WAKE_WORDS names a folder of theirs.

Each step's output is TensorFlow Lite Micro's byte, and so is every state at the end: nothing drifts. WAKE_WORD_SOUNDS
names a folder of recordings, NAME/*.wav for each NAME.tflite, such as `tests` of OHF-Voice/pymicro-wakeword on GitHub:
examples/wake-word's front end and what it does with the answers hear each word in its own.
"""

from __future__ import annotations

import importlib.util
import json
import os
import wave
from pathlib import Path

import numpy as np
import pytest

from tests.examples.wake_word import listen
from tigris_pio import Session, compile_model

STEPS = int(os.environ.get("WAKE_WORD_STEPS", "300"))


def folder() -> Path | None:
    """Where the .tflite files lie; the package itself is not imported."""
    if given := os.environ.get("WAKE_WORDS"):
        return Path(given)
    found = importlib.util.find_spec("pymicro_wakeword")
    return Path(found.origin).parent / "models" if found is not None and found.origin else None


MODELS = sorted(place.glob("*.tflite")) if (place := folder()) is not None else []


def formants(steps: int, rows: int, channels: int) -> np.ndarray:
    """Features like those of speech: peaks that move through a noisy spectrum."""
    rng = np.random.default_rng(0)
    t, f = np.arange(steps * rows)[:, None], np.arange(channels)[None, :]
    total = -128 + rng.normal(0, 10, (steps * rows, channels))
    for _ in range(max(4, steps // 13)):
        place, speed, width = rng.uniform(0, channels), rng.uniform(-0.3, 0.3), rng.uniform(2, 8)
        when, length = rng.uniform(0, steps * rows), rng.uniform(10, 60)
        peak = np.exp(-(((f - place - speed * (t - when)) / width) ** 2) - ((t - when) / length) ** 2)
        total += rng.uniform(100, 300) * peak
    return np.clip(total, -128, 127).astype(np.int8).reshape(steps, rows, channels)


@pytest.mark.skipif(not MODELS, reason="needs pymicro-wakeword, or its models by WAKE_WORDS")
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_wake_words_are_tensorflow_lite_micros(path: Path) -> None:
    from tflite_micro.python.tflite_micro import runtime

    reference = runtime.Interpreter.from_file(str(path), arena_size=1 << 20)
    ample = compile_model(path)
    spilling = compile_model(path, fast="2K", slow="16K")
    assert ample.report["memory"]["states"] > 0
    with Session(ample) as session, Session(spilling) as other:
        source, output = session.inputs[0], session.outputs[0]
        steps = formants(STEPS, *source.shape[1:])
        heard = set()
        for step in steps:
            reference.set_input(step[np.newaxis], 0)
            reference.invoke()
            expected = int(np.asarray(reference.get_output(0)).reshape(()))
            stored = {source.name: step.reshape(source.stored_shape)}
            assert int(output.to_model(session.run_raw(stored)[output.name]).reshape(())) == expected
            assert int(output.to_model(other.run_raw(stored)[output.name]).reshape(())) == expected
            heard.add(expected)
        assert len(heard) > 1, "the steps say nothing"
        assert all(np.array_equal(value, other.state()[name]) for name, value in session.state().items())


def recordings() -> dict[str, list[Path]]:
    """By the word that is said in them."""
    sounds = Path(os.environ.get("WAKE_WORD_SOUNDS", "/nowhere"))
    return {path.stem: sorted((sounds / path.stem).glob("*.wav")) for path in MODELS if (sounds / path.stem).is_dir()}


def spoken(path: Path) -> np.ndarray:
    """With a second of silence before and after."""
    with wave.open(str(path)) as file:
        assert (file.getframerate(), file.getsampwidth(), file.getnchannels()) == (16000, 2, 1)
        return np.pad(np.frombuffer(file.readframes(file.getnframes()), "<i2"), 16000)


@pytest.mark.skipif(not recordings(), reason="needs recordings by WAKE_WORD_SOUNDS, and the models")
@pytest.mark.parametrize("word", recordings())
def test_words_are_heard_in_recordings(word: str) -> None:
    """By the front end in C, the plan, and the mean of its answers; and in no recording of another word."""
    model = next(path for path in MODELS if path.stem == word)
    settings = json.loads(model.with_suffix(".json").read_text("utf-8"))["micro"]
    compiled = compile_model(model)
    for said, paths in recordings().items():
        for path in paths:
            lines = listen(spoken(path), compiled, settings["sliding_window_size"], settings["probability_cutoff"])
            assert any(line.endswith("heard") for line in lines) == (said == word), path

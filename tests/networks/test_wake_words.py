"""Streaming wake words of the package pymicro-wakeword, where it is installed or WAKE_WORDS names a folder of theirs.

WAKE_WORD_SOUNDS names a folder of recordings, NAME/*.wav for each NAME.tflite, such as `tests` of
OHF-Voice/pymicro-wakeword on GitHub: examples/wake-word's front end and what it does with the answers hear each word in
its own. With TIGRIS_TFLITE, test_given_tflite.py compares the networks with TensorFlow Lite Micro.
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
from tigris_pio import compile_model


def folder() -> Path | None:
    """Where the .tflite files lie; the package itself is not imported."""
    if given := os.environ.get("WAKE_WORDS"):
        return Path(given)
    found = importlib.util.find_spec("pymicro_wakeword")
    return Path(found.origin).parent / "models" if found is not None and found.origin else None


MODELS = sorted(place.glob("*.tflite")) if (place := folder()) is not None else []


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

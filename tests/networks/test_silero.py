"""Silero VAD, from the package silero-vad: branches, an LSTM and a state, over a minute of sound.

The package wants PyTorch when it is installed, so it is no requirement of the tests: TIGRIS_SILERO names its wheel
(`pip download --no-deps silero-vad`), its folder, or the installed package is found. Without one the tests are skipped.
"""

import functools
import importlib.util
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from tigris_pio import Session, compile_model

SECONDS = 60
STATE = {"stateN": "state"}
#: Name, sampling rate, samples a step and before it, inputs that are set, sizes.
MODELS: list[tuple[str, int, int, int, dict[str, Any], dict[str, int]]] = [
    ("silero_vad", 16000, 512, 64, {"sr": 16000}, {"input:1": 576, "state:1": 1}),
    ("silero_vad", 8000, 256, 32, {"sr": 8000}, {"input:1": 288, "state:1": 1}),
    ("silero_vad_16k_op15", 16000, 512, 64, {"sr": 16000}, {"sequence": 576}),
    ("silero_vad_op18_ifless", 16000, 512, 64, {"sr": 16000}, {"sequence": 576}),
    ("silero_vad_half", 16000, 512, 64, {}, {"sequence": 576}),
]


@functools.cache
def load(name: str) -> onnx.ModelProto:
    """A network of the package."""
    spec = importlib.util.find_spec("silero_vad")
    place = os.environ.get("TIGRIS_SILERO") or (spec and spec.origin and str(Path(spec.origin).parent))
    if not place:
        pytest.skip("no package silero-vad; TIGRIS_SILERO can name its wheel")
    if Path(place).is_dir():
        (path,) = Path(place).rglob(f"{name}.onnx")
        return onnx.load(path)
    with zipfile.ZipFile(place) as wheel:
        (member,) = [item for item in wheel.namelist() if item.endswith(f"/{name}.onnx")]
        return onnx.load_from_string(wheel.read(member))


def sound(rate: int) -> np.ndarray:
    """A second of something like a voice, a second of noise, and so on: harmonics of a gliding pitch, shaped by two
    formants, four syllables a second."""
    t = np.arange(rate) / rate
    phase = 2 * np.pi * np.cumsum(110 + 30 * np.sin(2 * np.pi * 1.3 * t)) / rate
    heights = [(k, np.exp(-(((k * 120 - 700) / 600) ** 2)) / k + 0.6 * np.exp(-(((k * 120 - 1200) / 300) ** 2)))
               for k in range(1, 30)]
    voice = sum(height * np.sin(k * phase) for k, height in heights) * (0.05 + 0.05 * np.sin(2 * np.pi * 4 * t))
    noise = np.random.default_rng(0).normal(0, 0.002, rate * SECONDS)
    return (noise + np.tile(np.concatenate([voice, np.zeros(rate)]), SECONDS // 2)).astype(np.float32)


@pytest.mark.parametrize(("name", "rate", "step", "before", "given", "dims"), MODELS,
                         ids=[f"{name}-{rate}" for name, rate, *_ in MODELS])
def test_a_minute_of_sound(name: str, rate: int, step: int, before: int, given: dict[str, Any],
                           dims: dict[str, int]) -> None:
    model = load(name)
    reference = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    plan = compile_model(model, fast="16K", set=given, dims=dims, state=STATE)
    samples = np.concatenate([np.zeros(before, np.float32), sound(rate)])
    state, heard, expected = np.zeros((2, 1, 128), np.float32), [], []
    with Session(plan) as session:
        assert [io.name for io in session.inputs] == ["input"] and [io.name for io in session.outputs] == ["output"]
        for start in range(0, len(samples) - step - before + 1, step):
            frame = samples[np.newaxis, start : start + before + step]
            feeds = {"input": frame, "state": state, **{key: np.array(value) for key, value in given.items()}}
            probability, state = reference.run(["output", "stateN"], feeds)
            expected.append(probability.item())
            heard.append(session.run({"input": frame})["output"].item())
    assert min(expected) < 0.1 and max(expected) > 0.9  # both were heard
    np.testing.assert_allclose(heard, expected, atol=2e-5)

"""Networks of microWakeWord, .tflite files of a folder that TIGRIS_WAKE_WORDS names: bytes and memory of their C."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from tests.compiler.codegen.c_model import CModel, build
from tests.examples.front_end import features
from tests.examples.wake_word import sounds
from tests.tflite.tflm import Tflm
from tigris_pio import Session, compile_model

FOLDER = os.environ.get("TIGRIS_WAKE_WORDS", "")
FILES = sorted(Path(FOLDER).rglob("*.tflite")) if FOLDER else []
#: Most bytes of the arena, by the manifest's version.
MOST = {1: 16_500, 2: 6_500}


@pytest.mark.thorough
@pytest.mark.skipif(not FILES, reason="TIGRIS_WAKE_WORDS names no folder of .tflite files")
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_network_gives_the_reference_s_bytes(path: Path, tmp_path: Path) -> None:
    """On four seconds of words and other sounds and on any rows, twice, with a new start between."""
    compiled = compile_model(path, fast="64K")
    generated = compiled.codegen(None, "word")
    assert generated.fast_bytes <= MOST[json.loads(path.with_suffix(".json").read_text("utf-8"))["version"]]
    _, heard = features(sounds().stream(4, 1000)[0])
    rows = np.concatenate([heard, np.random.default_rng(0).integers(-128, 128, (300, 40)).astype(np.int8)])
    with Session(compiled) as session:
        (source,), (output,) = session.inputs, session.outputs
        model = CModel(build([generated], tmp_path, "-O1"), compiled, generated, session)
        steps = rows[: len(rows) // source.shape[1] * source.shape[1]].reshape(-1, *source.stored_shape)
        for _ in range(2):
            reference = Tflm(path.read_bytes())
            expected = [int(reference.run([step])[0].item()) for step in steps]
            found = [int(model.run({source.name: step})[output.name].item()) - output.zero_point for step in steps]
            assert found == expected
            model.reset()

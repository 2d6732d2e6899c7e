"""Files of a folder that TIGRIS_TFLITE names against TensorFlow Lite Micro: int8 to the byte, float32 closely."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import numpy as np
import pytest

from tigris_pio import BudgetError, Session, UnsupportedError, compile_model
from tigris_pio.compiler.limits import Limits
from tigris_pio.verify.compare import random_inputs
from tigris_pio.verify.tflite import open_interpreter, read

FOLDER = os.environ.get("TIGRIS_TFLITE", "")
FILES = sorted(Path(FOLDER).rglob("*.tflite")) if FOLDER else []


@pytest.mark.skipif(not FILES, reason="TIGRIS_TFLITE names no folder of .tflite files")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_output_is_the_references(path: Path) -> None:
    """Eight samples, one after the other, at no limit and with less than half of that memory."""
    try:
        plans = [compile_model(path)]
    except UnsupportedError as refusal:
        pytest.skip(str(refusal).splitlines()[-1])
    with contextlib.suppress(BudgetError):
        plans.append(compile_model(path, fast=int(plans[0].report["memory"]["fast_peak"] * 0.4), slow="64M"))
    model = read(path, Limits())
    sessions = [Session(plan) for plan in plans]
    reference = open_interpreter(path.read_bytes(), model, [io.shape for io in sessions[0].inputs])
    for seed in range(8):
        sample = random_inputs(sessions[0], seed)
        reference.run([sample[io.name] for io in sessions[0].inputs])
        for session in sessions:
            outputs = session.run(sample)
            for io, number in zip(session.outputs, model.subgraphs[0].outputs, strict=True):
                wanted, got = reference.tensor(number), outputs[io.name]
                assert wanted is not None
                if wanted.dtype.kind == "f":
                    most = 1e-4 * max(float(np.abs(wanted).max()), 1e-3)
                    assert float(np.abs(got.reshape(-1) - wanted.reshape(-1)).max()) <= most
                else:
                    assert got.reshape(-1).tolist() == wanted.reshape(-1).tolist()
    for session in sessions:
        session.close()

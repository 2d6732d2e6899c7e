"""compare() names the first wrong layer and measures its error; it passes a right plan."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from tests.harness.tiers import sampled
from tigris_pio.compiler.options import CompileOptions
from tigris_pio.compiler.pipeline import Front, back, front
from tigris_pio.host import Session
from tigris_pio.verify.compare import Comparison, compare, random_inputs
from tigris_pio.verify.reference import open_reference

OPTIONS = CompileOptions()


def with_changed_weights(start: Front, name: str) -> Front:
    """The same program with the weights of operator `name` mirrored along their last axis."""
    ops = []
    for op in start.program.ops:
        blobs = dict(op.blobs)
        if op.name == name:
            blobs["weights"] = np.ascontiguousarray(blobs["weights"][..., ::-1])
        ops.append(dataclasses.replace(op, blobs=blobs))
    return dataclasses.replace(start, program=dataclasses.replace(start.program, ops=tuple(ops)))


def run(path: Path, broken: str | None = None) -> Comparison:
    start = front(path, OPTIONS)
    clean = back(start, OPTIONS)
    compiled = clean if broken is None else back(with_changed_weights(start, broken), OPTIONS)
    with Session(compiled) as session:
        samples = [random_inputs(session, seed) for seed in range(3)]
    return compare(compiled, compiled, open_reference(path, {}), samples)


MODELS = [("kws_int8", "conv2/Conv"), ("kws_fp32", "conv3/Conv"), ("resnet_int8", None), ("vww_fp32", None)]


@pytest.mark.parametrize("model,broken", sampled(MODELS, fast=("kws_int8", "kws_fp32")))
def test_every_layer_has_figures_and_the_first_wrong_one_is_named(models_dir, float_dir, model, broken):
    path = (float_dir if model.endswith("fp32") else models_dir) / f"{model}.onnx"
    comparison = run(path)
    assert comparison.passed and comparison.first_different is None
    assert all(layer.cosine > 0.9 for layer in comparison.layers)
    assert sum(layer.max_difference > 0 for layer in comparison.layers) >= len(comparison.layers) // 2
    if broken is not None:
        found = run(path, broken).first_different
        assert found is not None and found.name == broken and found.max_difference > 0


def test_bands_that_change_bytes_are_seen(models_dir):
    path = models_dir / "kws_int8.onnx"
    start = front(path, OPTIONS)
    compiled, other = back(start, OPTIONS), back(with_changed_weights(start, "fc0/Gemm"), OPTIONS)
    with Session(compiled) as session:
        samples = [random_inputs(session, seed) for seed in range(4)]
    assert not compare(compiled, other, open_reference(path, {}), samples).bands_identical

"""One verdict: a layer that departs fails the model, though the outputs hide it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner

from tests.compiler.models import Quantiser, make, node
from tigris_pio.cli.main import cli
from tigris_pio.verify import compare as verdict

RANDOM = np.random.default_rng(8)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two small convolutions and a coarse output."""
    q = Quantiser()
    for name, source, result in (("first", "x", "c"), ("second", "c", "e")):
        weight = q.constant(name, RANDOM.integers(-127, 128, (4, 4, 1, 1)).astype(np.int8), 0.01)
        q.add(node("Conv", f"{q.pair(source, 0.03, 4)} {weight}", result, name))
    q.add(node("Sigmoid", q.pair("e", 0.05, 0), "t"), node("Identity", q.pair("t", 1 / 256, -128), "y"))
    file = tmp_path_factory.mktemp("verdict") / "small.onnx"
    onnx.save(make(q.nodes, {"x": (1, 4, 6, 6)}, ["y"], q.weights), file)
    return file


def verify(path: Path, *more: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli, ["verify", str(path), "--samples", "2", *more])
    return done.exit_code, done.output


def test_a_model_without_departures_passes(path: Path) -> None:
    code, text = verify(path)
    assert code == 0 and "verify: passed" in text and "departs" not in text
    document = json.loads(verify(path, "--json")[1])
    assert document["passed"] and document["departures"] == [] and document["first_departure"] is None


def test_layers_that_depart_fail_and_are_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Roundings alone are taken for departures: the network's output is as good as before."""
    monkeypatch.setattr(verdict, "OWN_STEPS", 0.4)
    code, text = verify(path)
    assert code == 1 and "verify: failed" in text
    assert "departs: first (conv_2d), by 0.5" in text and "departs: second (conv_2d), by 0.5" in text
    code, text = verify(path, "--json")
    document = json.loads(text)
    assert code == 1 and document["passed"] is False and document["first_departure"] == "first"
    assert document["departures"][:2] == ["first", "second"]
    assert not any(output["departs"] for output in document["outputs"])

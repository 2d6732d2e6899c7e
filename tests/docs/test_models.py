"""The recipes of docs/models.md run as they stand there, with networks of this repository for the reader's."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import onnx
import pytest

from bench.float_twin import float_twin
from tests.docs.pages import ROOT
from tests.docs.run import run_page
from tests.harness.command import tigris
from tests.networks.folders import OWN
from tests.verify.test_tflite import streaming

TEXT = (ROOT / "docs" / "models.md").read_text("utf-8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    onnx.save(float_twin(OWN / "kws_int8.onnx"), tmp_path / "model.onnx")
    shutil.copy(OWN / "kws_int8.tflite", tmp_path / "model.tflite")
    streaming(tmp_path).rename(tmp_path / "stream.tflite")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def the_perceptron(words: list[str]) -> bool:
    """Quantising it loses next to nothing."""
    if "mlp.npz" not in words:
        return False
    found = json.loads(tigris(*words[1:], "--json").stdout)
    assert found["float_ops"] == [] and found["accuracy"]["float"] > 0.85
    assert found["accuracy"]["int8"] >= found["accuracy"]["float"] - 0.01
    return True


@pytest.mark.thorough
@pytest.mark.timeout(120)
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_every_block_runs_in_the_order_of_the_page(folder: Path) -> None:
    run_page("docs/models.md", command=the_perceptron)
    assert {"model_int8.onnx", "model.tgrs", "mlp.tgrs", "stream.tgrs"} <= {path.name for path in folder.iterdir()}


def test_the_options_it_names_exist() -> None:
    known = {option for command in ("quantize", "compile", "hil") for option in
             re.findall(r"--[a-z][a-z0-9-]*", tigris(command, "--help").stdout)}  # fmt: skip
    named = set(re.findall(r"`(--[a-z][a-z0-9-]*)", TEXT))
    assert len(named) > 8 and named <= known

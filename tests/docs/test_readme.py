"""What the README, docs/python.md and docs/models.md show works as it stands there."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest

from bench.float_twin import float_twin
from tests.docs.pages import ROOT
from tests.docs.run import run_page
from tests.harness.command import tigris
from tests.verify.test_tflite import streaming
from tigris_pio.platformio import options

README = ROOT / "README.md"


@pytest.fixture
def folder(tmp_path: Path, models_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the examples name; the current one."""
    for name in ("kws.onnx", "model.onnx"):
        shutil.copy(models_dir / "kws_int8.onnx", tmp_path / name)
    inputs = np.load(models_dir / "kws_vectors.npz")["input_f32"]
    np.save(tmp_path / "x.npy", inputs[0][np.newaxis])
    onnx.save(float_twin(models_dir / "kws_int8.onnx"), tmp_path / "float.onnx")
    np.savez(tmp_path / "samples.npz", input=inputs)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def elsewhere(words: list[str]) -> bool:
    """What needs a board, or PlatformIO: tests/docs/test_projects.py has it."""
    return words[:2] in (["tigris", "hil"], ["tigris", "new"])


def test_the_readme_runs(folder: Path) -> None:
    x = np.load("x.npy")
    names = run_page("README.md", {"x": x}, elsewhere)
    assert {"model.tgrs", "model.html", "y.npy", "model_int8.onnx"} <= {path.name for path in folder.iterdir()}
    assert names["y"]["output"].shape == (1, 12) and "fast_peak" in str(names["session"].memory)


def test_the_page_of_python_runs(folder: Path) -> None:
    streaming(folder).rename("stream.tflite")
    frame = np.full((1, 8), 20, np.int8)
    names = run_page("docs/python.md", {"x": np.load("x.npy"), "frame": frame}, elsewhere)
    assert names["scores"]["output"].shape == (1, 12) and len(names["layers"]) == 13
    assert np.array_equal(names["again"]["y"], names["first"]["y"])
    assert not np.array_equal(names["second"]["y"], names["first"]["y"])


def test_its_options_are_those_of_the_hook() -> None:
    documented = set(re.findall(r"`custom_tigris_(\w+)`", README.read_text("utf-8")))
    assert documented == set(options.NAMES)


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
def test_the_recipes_for_models_run(folder: Path, models_dir: Path) -> None:
    shutil.move("float.onnx", "model.onnx")
    shutil.copy(models_dir / "kws_int8.tflite", "model.tflite")
    streaming(folder).rename("stream.tflite")
    run_page("docs/models.md", command=the_perceptron)
    assert {"model_int8.onnx", "model.tgrs", "mlp.tgrs", "stream.tgrs"} <= {path.name for path in folder.iterdir()}

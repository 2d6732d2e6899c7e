"""The commands and the Python of docs/commands.md, docs/python.md and docs/models.md run as they stand there."""

import json
import re
import shutil
from pathlib import Path

import click
import numpy as np
import onnx
import pytest

from bench.float_twin import float_twin
from tests.docs.pages import ROOT
from tests.docs.run import run_page
from tests.harness.command import tigris
from tests.verify.test_tflite import streaming
from tigris_pio.cli.main import cli

COMMANDS = ROOT / "docs" / "commands.md"


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


def test_the_page_of_commands_runs(folder: Path) -> None:
    def without_sweep(words: list[str]) -> bool:
        """Trying other budgets for the report has tests of its own."""
        if "--report" in words:
            tigris(*words[1:], "--no-sweep")
        return "--report" in words or elsewhere(words)

    run_page("docs/commands.md", command=without_sweep)
    assert {"model.tgrs", "model.html", "y.npy", "model_int8.onnx"} <= {path.name for path in folder.iterdir()}


def test_the_page_of_python_runs(folder: Path) -> None:
    streaming(folder).rename("stream.tflite")
    frame = np.full((1, 8), 20, np.int8)
    names = run_page("docs/python.md", {"x": np.load("x.npy"), "frame": frame}, elsewhere)
    assert names["scores"]["output"].shape == (1, 12) and len(names["layers"]) == 13
    assert np.array_equal(names["again"]["y"], names["first"]["y"])
    assert not np.array_equal(names["second"]["y"], names["first"]["y"])


def test_every_command_stands_on_its_page_with_its_options() -> None:
    """The options of `tigris hil` stand in docs/harness.md."""
    page = COMMANDS.read_text("utf-8")
    shared = set(re.findall(r"--[a-z0-9-]+", "".join(re.findall(r"(?m)^\| (`.*?`) \|", page))))
    own = {name: set(re.findall(r"--[a-z0-9-]+", options))
           for name, options in re.findall(r"(?m)^\| `tigris (\w+)[^`]*` \|.*\|(.*)\|$", page)}  # fmt: skip
    assert set(own) == set(cli.modules)
    context = click.Context(cli)
    for name in sorted(set(own) - {"hil"}):
        command = cli.get_command(context, name)
        assert command is not None
        options = {text for option in command.params for text in (*option.opts, *option.secondary_opts)
                   if text.startswith("--") and text != "--help"}  # fmt: skip
        assert own[name] <= options <= own[name] | shared, name


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

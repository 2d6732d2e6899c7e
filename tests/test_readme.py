"""What the README shows works as it stands there."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.networks.folders import float_twin

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [line for line in README.splitlines() if re.match(r"tigris (?!hil|run \()\w+ +\S+\.", line)]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def run(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False)



def block(language: str, word: str) -> str:
    """The code block of `language` that holds `word`."""
    blocks = re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)
    return next(text for text in blocks if word in text)


@pytest.fixture
def folder(tmp_path: Path, models_dir: Path) -> Path:
    """A folder with the files that the README's examples name."""
    shutil.copy(models_dir / "kws_int8.onnx", tmp_path / "kws.onnx")
    shutil.copy(models_dir / "kws_int8.onnx", tmp_path / "model.onnx")
    inputs = np.load(models_dir / "kws_vectors.npz")["input_f32"]
    np.save(tmp_path / "x.npy", inputs[0][np.newaxis])
    onnx.save(float_twin(models_dir / "kws_int8.onnx"), tmp_path / "float.onnx")
    np.savez(tmp_path / "samples.npz", input=inputs)
    return tmp_path


def test_the_command_lines_run_in_their_order(folder):
    compile_first = sorted(COMMANDS, key=lambda line: "tigris compile" not in line)
    assert len(COMMANDS) >= 5
    for line in compile_first:
        done = run([sys.executable, "-m", "tigris_pio", *shlex.split(line)[1:]], folder)
        assert done.returncode == 0, line + "\n" + done.stderr
    assert {"model.tgrs", "model.html", "y.npy"} <= {path.name for path in folder.iterdir()}


def test_the_python_example_runs(folder):
    code = "import numpy as np\nx = np.load('x.npy')\n" + block("python", "compile_model")
    code += "\nassert y['output'].shape == (1, 12)"
    done = run([sys.executable, "-c", code], folder)
    assert done.returncode == 0, done.stderr
    assert "fast_peak" in done.stdout


def test_the_firmware_example_compiles(folder, tmp_path):
    from tigris_pio.cli.main import main

    header = folder / "tigris_model_kws.h"
    with pytest.raises(SystemExit) as end:
        main(["compile", str(folder / "kws.onnx"), "-m", "64K", "--name", "kws", "-o", str(folder / "kws.tgrs"),
              "--header", str(header)])  # fmt: skip
    assert not end.value.code
    (folder / "tigris_models.h").write_text(
        '#include <tigris_port.h>\n#include "tigris_model_kws.h"\n'
        "static const tigris_model TIGRIS_MODEL_KWS;\n"
    )
    source = folder / "main.c"
    source.write_text(block("c", "tigris_model_open"))
    command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{ROOT / 'runtime' / 'include'}"]
    done = subprocess.run([*command, f"-I{folder}", source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_file_it_names_exists():
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_options_are_those_of_the_hook():
    from tigris_pio.platformio import options

    documented = set(re.findall(r"`custom_tigris_(\w+)`", README))
    assert documented == set(options.NAMES)

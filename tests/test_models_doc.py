"""The recipes of docs/models.md run as they stand there, with networks of this repository for the reader's."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import onnx
import pytest

from tests.harness.command import tigris
from tests.networks.folders import OWN, float_twin
from tests.verify.test_tflite import streaming

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
BLOCKS = [(language, text, text.startswith("# not run"))
          for language, text in re.findall(r"```(\w+)\n(.*?)```", TEXT, re.DOTALL)]
#: What blocks that are not run may need.
ELSEWHERE = re.compile(r"\b(import torch|import tensorflow|tf2onnx)\b")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    onnx.save(float_twin(OWN / "kws_int8.onnx"), tmp_path / "model.onnx")
    shutil.copy(OWN / "kws_int8.tflite", tmp_path / "model.tflite")
    streaming(tmp_path).rename(tmp_path / "stream.tflite")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.timeout(120)
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_every_block_runs_in_the_order_of_the_page(folder: Path) -> None:
    for language, text, elsewhere in BLOCKS:
        if elsewhere:
            continue
        if language == "python":
            exec(compile(text, "docs/models.md", "exec"), {})
            continue
        assert language == "sh"
        for line in text.splitlines():
            words = shlex.split(line)
            if "mlp.npz" in words:
                found = json.loads(tigris(*words[1:], "--json").stdout)
                assert found["float_ops"] == [] and found["accuracy"]["float"] > 0.85
                assert found["accuracy"]["int8"] >= found["accuracy"]["float"] - 0.01
            elif words[0] == "tigris":
                tigris(*words[1:])
            else:
                assert words[:2] == ["pip", "install"]
    assert {"model_int8.onnx", "model.tgrs", "mlp.tgrs", "stream.tgrs"} <= {path.name for path in folder.iterdir()}


def test_only_blocks_of_other_packages_are_left_out() -> None:
    assert [text for _, text, elsewhere in BLOCKS if elsewhere != bool(ELSEWHERE.search(text))] == []
    for language, text, elsewhere in BLOCKS:
        if elsewhere and language == "python":
            compile(text, "docs/models.md", "exec")


def test_the_options_it_names_exist() -> None:
    known = {option for command in ("quantize", "compile", "hil") for option in
             re.findall(r"--[a-z][a-z0-9-]*", tigris(command, "--help").stdout)}  # fmt: skip
    named = set(re.findall(r"`(--[a-z][a-z0-9-]*)", TEXT))
    assert len(named) > 8 and named <= known

"""`--hop` from the command line: what is said, and a plan that is run step by step."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.harness.command import tigris
from tests.networks.folders import OWN
from tigris_pio import Session, compile_model

SWW = OWN / "sww_int8.onnx"


def test_analyze_shows_a_run_beside_one_on_a_whole_window(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = tigris("analyze", SWW, "-m", "16K", "--hop", "1", "--no-sweep", "--report", page)
    lines = " ".join(done.stdout.split())
    assert "hop 1 of 30 rows, axis 2 of the input: 46,040 MACs a run, " in lines
    assert "whole windows 826,368 MACs a run, " in lines
    text = page.read_text("utf-8")
    assert "1 of 30 rows" in text and "a whole window takes 826,368 multiply-accumulates" in text


@pytest.mark.parametrize("memory, fits", [("16K", True), ("4K", False)])
def test_json_says_it_whether_the_plan_fits_or_not(memory: str, fits: bool) -> None:
    done = tigris("analyze", SWW, "-m", memory, "--hop", "1", "--json", status=0 if fits else 1)
    document = json.loads(done.stdout)
    assert document["fits"] == fits
    assert document["hop"].items() >= {"rows": 1, "window": 30, "axis": 2, "macs": 46040, "whole_macs": 826368}.items()
    assert document["hop"]["fast"] == document["memory"]["fast_peak"]
    assert document["compute"]["macs"] == 46040


def test_a_plan_is_run_row_by_row(tmp_path: Path) -> None:
    """40 frames, one a step: from the 30th on each output is that of the last 30 frames, and so it is before, of zeros
    and those that came."""
    tigris("compile", SWW, "-m", "16K", "--hop", "1", "--name", "sww", "-o", tmp_path / "sww.tgrs", "--header",
           tmp_path / "sww.h")  # fmt: skip
    header = [line.split()[1:] for line in (tmp_path / "sww.h").read_text("utf-8").splitlines()]
    assert ["TIGRIS_MODEL_SWW_INPUT0_BYTES", "40u"] in header
    frames = np.random.default_rng(3).standard_normal((40, 40, 1, 1)).astype(np.float32)
    np.save(tmp_path / "x.npy", frames)
    tigris("run", tmp_path / "sww.tgrs", "--input", tmp_path / "x.npy", "--output", tmp_path / "y.npy")
    found = np.load(tmp_path / "y.npy")
    padded = np.concatenate([np.zeros((30, 40, 1, 1), np.float32), frames])
    with Session(compile_model(SWW)) as whole:
        for step in range(40):
            window = padded[step + 1 : step + 31].transpose(2, 1, 0, 3)
            (expected,) = whole.run({"input": window}).values()
            assert np.array_equal(found[step], expected), step

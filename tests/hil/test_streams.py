"""Streamed inputs and outputs on a board: their rows travel during the run, over a line with losses."""

from pathlib import Path

import numpy as np
import pytest
from onnx import save

from tests.compiler.models import make, node
from tests.harness.command import tigris
from tests.hil.conftest import QUICK, Serve
from tests.hil.test_line import damaging
from tigris_pio.hil.check import check, open_plan
from tigris_pio.hil.client import Board
from tigris_pio.hil.samples import random_samples

RNG = np.random.default_rng(3)


@pytest.fixture(scope="module")
def plan_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan in bands with two inputs and two outputs, one of each streamed."""
    weights = {"w": RNG.normal(size=(3, 2, 3, 3)).astype(np.float32)}
    nodes = [node("Conv", "x w", "t", pads=[1, 1, 1, 1]), node("Add", "t b", "y"), node("GlobalAveragePool", "y", "z")]
    folder = tmp_path_factory.mktemp("plans")
    save(make(nodes, {"x": (1, 2, 20, 9), "b": (1, 3, 1, 1)}, ["y", "z"], weights), folder / "net.onnx")
    tigris("compile", folder / "net.onnx", "-m", "1600", "--stream", "x", "--stream", "y", "-o", folder / "net.tgrs")
    plan = open_plan(folder / "net.tgrs")
    assert any(stage.band_count > 4 for stage in plan.file.stages)
    return folder / "net.tgrs"


def test_outputs_are_the_hosts_over_a_line_with_losses(serve: Serve, plan_path: Path) -> None:
    plan = open_plan(plan_path)
    samples = random_samples(plan.session.inputs, 3)
    for faults in ({}, {"to_board": damaging(1, 0.0007)}, {"to_host": damaging(2, 0.0006)}):
        with Board(serve(plan_path, **faults), timing=QUICK) as board:
            report = check(board, plan, samples.inputs)
            assert report.equal and len(report.samples) == 3
            assert not faults or board.repeats > 0
